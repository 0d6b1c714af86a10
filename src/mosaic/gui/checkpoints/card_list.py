"""CardList: cards below each other, by environment and algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QScrollArea, QVBoxLayout, QWidget

from mosaic.gui.checkpoints.card_view import CardView
from mosaic.gui.state.checkpoint_cards import Card, grouped
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role


class CardList(QScrollArea):
    asked = Signal(str, object)  # what a card was asked for, and the card
    seen = Signal(object)  # a CardView has come into sight
    more_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.views: list[CardView] = []
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.more = QPushButton("More")
        self.more.setObjectName("more-checkpoints")
        self.more.clicked.connect(self.more_asked)
        self._page = with_role(QWidget(), "plain")
        self._layout = QVBoxLayout(self._page)
        self._layout.setContentsMargins(0, 0, 6, 0)
        self._layout.setSpacing(8)
        self.setWidget(self._page)

    def show_cards(
        self, cards: Sequence[Card], has_more: bool, made: Callable[[CardView], None]
    ) -> None:
        """`made` gets each new card before it is seen."""
        self.more.setParent(None)
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None and widget is not self.more:
                widget.hide()
                widget.deleteLater()
        self.views = []
        for name, members in grouped(cards):
            self._layout.addWidget(label(name, "caption"))
            for card in members:
                view = CardView(self._theme, card)
                view.asked.connect(self.asked)
                # Not while it is painted: what is found out changes it.
                view.seen.connect(self.seen, Qt.ConnectionType.QueuedConnection)
                self.views.append(view)
                made(view)
                self._layout.addWidget(view)
        if has_more:
            self._layout.addWidget(self.more)
            self.more.show()
        self._layout.addStretch(1)

    def view(self, key: str) -> CardView | None:
        return next((item for item in self.views if item.card.key == key), None)
