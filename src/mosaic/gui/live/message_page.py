"""MessagePage: why there are no pictures, and what a person may want instead."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from mosaic.gui.live.offer_buttons import OfferButtons
from mosaic.gui.state.live_situation import Situation
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label

_ICON = QSize(40, 40)
_WIDTH = 360


class MessagePage(QWidget):
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
