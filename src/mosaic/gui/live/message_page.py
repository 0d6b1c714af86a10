"""MessagePage: why there are no pictures; OfferButtons: what a person may want instead."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.live.model.situation import OFFER_TEXTS, Offer, Situation
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role


class OfferButtons(QWidget):
    """What a person may want next, the most likely thing first."""

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


_ICON = QSize(40, 40)
_WIDTH = 360


class MessagePage(QWidget):
    """Why there are no pictures, and what a person may want instead."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._icon = theme, "grid"
        self._picture = QLabel()
        self.title, self.text = label("", "section"), label("", "muted")
        self.text.setFixedWidth(_WIDTH)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(1)
        for widget in (self._picture, self.title, self.text):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        self.text.setWordWrap(True)
        self.offers = OfferButtons()
        layout.addWidget(self.offers)
        layout.addStretch(1)
        theme.changed.connect(self._draw)
        self._draw()

    def show_situation(self, situation: Situation) -> None:
        self.title.setText(situation.title)
        self.text.setText(situation.text)
        self.text.setVisible(bool(situation.text))
        # A centred label is given one line's height, however many it needs.
        self.text.setMinimumHeight(max(0, self.text.heightForWidth(_WIDTH)))
        self.offers.show_offers(situation.offers)
        if situation.icon != self._icon:
            self._icon = situation.icon
            self._draw()

    def _draw(self) -> None:
        icon = self._theme.icon(self._icon, self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))
