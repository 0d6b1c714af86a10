"""BundleOfferCard: what the run of the form lacks, its size, and a button that installs it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.launch.model.bundle_offer import BundleOffer
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, set_property, with_role

_ICON = QSize(18, 18)


class BundleOfferCard(QWidget):
    agreed = Signal(object)  # the most that is fetched; an int of Qt's is too small for it
    details_asked = Signal(str)  # the name of a bundle

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("bundle-offer")
        self._theme = theme
        self.offer: BundleOffer | None = None
        self._picture = QLabel()
        self.text, self.advice = label(), label("", "muted")
        for words in (self.text, self.advice):
            words.setWordWrap(True)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = with_role(QPushButton(), "primary")
        self.button.setObjectName("bundle-offer-install")
        self.button.clicked.connect(self._on_agreed)
        self.details = with_role(QPushButton("Details"), "flat")
        self.details.setObjectName("bundle-offer-details")
        self.details.setToolTip("Show it on the page of bundles")
        self.details.clicked.connect(self._on_details)
        told = QHBoxLayout()
        told.setSpacing(8)
        told.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        told.addWidget(self.text, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(4)
        buttons.addWidget(self.button)
        buttons.addWidget(self.details)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(6)
        layout.addLayout(told)
        layout.addWidget(self.advice)
        layout.addLayout(buttons)
        # Shown with it, between it and the line of the footer.
        self.gap = QWidget()
        self.gap.setFixedHeight(0)
        self.gap.hide()
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def show_offer(self, offer: BundleOffer | None, is_busy: bool) -> None:
        """None: the run has all that it needs."""
        self.button.setEnabled(not is_busy)
        if offer == self.offer:
            return
        self.offer = offer
        if offer is not None:
            self.text.setText(offer.text)
            self.advice.setText(offer.advice)
            self.advice.setVisible(bool(offer.advice))
            self.button.setText(offer.button)
            self.button.setVisible(bool(offer.button))
            # The run that it is installed for starts by itself: nobody has to press anything.
            set_property(self.button, "role", "" if offer.is_under_way else "primary")
            tip = "It starts as soon as all it needs is there" if offer.is_under_way else ""
            self.button.setToolTip(tip)
        for part in (self, self.gap):
            part.setVisible(offer is not None)

    def take_keyboard(self) -> None:
        (self.button if self.button.isVisible() else self.details).setFocus()

    def _on_agreed(self) -> None:
        if self.offer is not None:
            self.agreed.emit(self.offer.most_bytes)

    def _on_details(self) -> None:
        if self.offer is not None:
            self.details_asked.emit(self.offer.name)

    def _draw(self) -> None:
        icon = self._theme.icon("package-variant-closed", self._theme.palette.accent)
        self._picture.setPixmap(icon.pixmap(_ICON))
