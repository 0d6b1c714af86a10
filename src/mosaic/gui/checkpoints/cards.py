"""CardView: one checkpoint, and what can be done with it. CardList: many of them, in groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.checkpoints.model.cards import (
    Card,
    CardActions,
    FileFacts,
    HashStatus,
    facts_text,
    grouped,
)
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.indicators import Sparkline
from mosaic.gui.widgets.roles import eliding_label, label, set_property, with_role

_ICON = QSize(14, 14)
_SPARK_WIDTH = 80
_LOOKS = {
    HashStatus.VERIFIED: ("check-decagram", "good"),
    HashStatus.DAMAGED: ("alert-octagon", "bad"),
    HashStatus.MISSING: ("file-remove-outline", "bad"),
}
_PLAIN = ("shield-outline", "muted")


class CardView(QWidget):
    seen = Signal(object)  # the card has come into sight, for the first time
    asked = Signal(str, object)  # "evaluate", "deploy", "resume", "switch", "check", …; the card

    def __init__(self, theme: Theme, card: Card, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "card")
        self.setObjectName("checkpoint-card")
        self._theme = theme
        self.card = card
        self.facts: FileFacts | None = None
        self.status = HashStatus.UNCHECKED
        self._was_seen = False
        self.title = eliding_label(card.title, "strong")
        self.title.setToolTip(str(card.path))
        self.value = label(card.return_text, "number")
        self.step = label("" if card.title == card.step_text else card.step_text, "muted")
        self.spark = Sparkline(theme.palette.accent)
        self.spark.setAccessibleName("Return of the run")
        self.spark.setFixedWidth(_SPARK_WIDTH)
        self.about = label("", "caption")
        self._status_icon, self.status_text = QLabel(), label("", "caption")
        self.evaluate = self._button("Evaluate", "evaluate")
        self.deploy = self._button("Deploy", "deploy")
        self.resume = self._button("Resume", "resume")
        self.reason = label("", "caption")
        self.reason.setWordWrap(True)
        self.switch = with_role(QPushButton("Switch environment"), "link")
        self.switch.clicked.connect(partial(self._ask, "switch"))
        self.more = with_role(QToolButton(), "flat")
        self.more.setAccessibleName("More about this checkpoint")
        self.more.setToolTip("More")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        self.warm_start = menu.addAction("Warm start…", partial(self._ask, "warm start"))
        self.warm_start.setToolTip("A new training that begins with these networks")
        for text, name in (
            ("Check the hash", "check"),
            ("Copy path", "copy"),
            ("Open folder", "folder"),
        ):
            menu.addAction(text, partial(self._ask, name))
        self.more.setMenu(menu)
        set_property(self, "selected", "true" if card.is_leading else "false")
        self._lay_out()
        theme.changed.connect(self._draw)
        self._draw()

    def show_facts(self, facts: FileFacts) -> None:
        self.facts = facts
        self.about.setText(facts_text(self.card, facts, time.time()))
        self.show_status(facts.status)

    def show_status(self, status: HashStatus) -> None:
        self.status = status
        self.status_text.setText(status.value)
        self._draw()

    def show_actions(self, actions: CardActions) -> None:
        for button, reason in (
            (self.evaluate, actions.evaluate),
            (self.deploy, actions.deploy),
            (self.resume, actions.resume),
        ):
            button.setEnabled(not reason)
            button.setToolTip(f"Not possible: {reason}" if reason else "")
        self.resume.setVisible(actions.has_resume)
        self.warm_start.setVisible(actions.has_warm_start)
        reason = actions.evaluate or actions.deploy
        self.reason.setText(reason[:1].upper() + reason[1:])
        self.reason.setVisible(bool(reason))
        self.switch.setVisible(bool(actions.switch_to))

    def show_curve(self, values: Sequence[float]) -> None:
        self.spark.show_values(values, self._theme.palette.accent)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_seen:
            self._was_seen = True
            self.seen.emit(self)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.title, 1)
        head.addWidget(self.more)
        numbers = QHBoxLayout()
        numbers.setSpacing(8)
        numbers.addWidget(self.value)
        numbers.addWidget(self.step)
        numbers.addStretch(1)
        numbers.addWidget(self.spark)
        state = QHBoxLayout()
        state.setSpacing(4)
        state.addWidget(self.about)
        if self.card.badges:
            badge = label(" · ".join(self.card.badges), f"badge-{self.card.badges[0]}")
            state.addSpacing(2)
            state.addWidget(badge, 0, Qt.AlignmentFlag.AlignVCenter)
        state.addStretch(1)
        state.addWidget(self._status_icon)
        state.addWidget(self.status_text)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        for button in (self.evaluate, self.deploy, self.resume):
            buttons.addWidget(button)
        buttons.addStretch(1)
        why = QHBoxLayout()
        why.setSpacing(4)
        why.addWidget(self.reason, 1)
        why.addWidget(self.switch)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 10)
        layout.setSpacing(6)
        for row in (head, numbers, state, buttons, why):
            layout.addLayout(row)

    def _button(self, text: str, name: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(f"checkpoint-{name}")
        button.clicked.connect(partial(self._ask, name))
        return button

    def _ask(self, name: str, _: bool = False) -> None:
        self.asked.emit(name, self.card)

    def _draw(self) -> None:
        icon, colour = _LOOKS.get(self.status, _PLAIN)
        shade = str(getattr(self._theme.palette, colour))
        self._status_icon.setPixmap(self._theme.icon(icon, shade).pixmap(_ICON))
        self.status_text.setStyleSheet(f"color: {shade};")
        self.more.setIcon(self._theme.icon("dots-horizontal"))


class CardList(QScrollArea):
    """Cards below each other, by environment and algorithm."""

    asked = Signal(str, object)  # what a card was asked for, and the card
    seen = Signal(object)  # a CardView has come into sight
    more_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.views: list[CardView] = []
        self.setAccessibleName("Checkpoints")
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
