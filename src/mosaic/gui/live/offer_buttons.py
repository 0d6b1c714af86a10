"""OfferButtons: what a person may want next, the most likely thing first."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from mosaic.gui.state.live_situation import OFFER_TEXTS, Offer
from mosaic.gui.widgets.roles import with_role


class OfferButtons(QWidget):
    chosen = Signal(str)  # the value of an Offer

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Offer, ...] = ()
        self._buttons: dict[Offer, QPushButton] = {}
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(8, 8, 8, 8)
        self._layout.setSpacing(8)
        self._layout.addStretch(1)
        self._layout.addStretch(1)
        self.hide()

    def show_offers(self, offers: tuple[Offer, ...]) -> None:
        if offers != self._shown:
            self._shown = offers
            for button in self._buttons.values():
                self._layout.removeWidget(button)
                button.hide()
                button.deleteLater()
            self._buttons = {offer: self._button(offer, offer is offers[0]) for offer in offers}
            for place, button in enumerate(self._buttons.values(), 1):
                self._layout.insertWidget(place, button)
        self.setVisible(bool(offers))

    def button(self, offer: Offer) -> QPushButton:
        return self._buttons[offer]

    @property
    def offers(self) -> tuple[Offer, ...]:
        return self._shown

    def _button(self, offer: Offer, is_first: bool) -> QPushButton:
        button = QPushButton(OFFER_TEXTS[offer])
        if is_first:
            with_role(button, "primary")
        button.setObjectName(f"offer-{offer.value}")
        button.clicked.connect(partial(self.chosen.emit, offer.value))
        return button
