"""Cards above the dimmed window: a question of consent, all shortcuts, what this is."""

from __future__ import annotations

import platform

import PySide6
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import (
    QColor,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QVBoxLayout,
    QWidget,
)

from mosaic import __version__
from mosaic.gui.play.model import keys as play_keys
from mosaic.gui.replay import keys as replay_keys
from mosaic.gui.services.workbench import MENUS, Commands
from mosaic.gui.shell.model.shortcut_rows import ShortcutRow, columns, shortcut_rows
from mosaic.gui.state.notices import EXPLANATION, NO, YES, ConsentQuestion
from mosaic.gui.theme.tokens import VEIL_ALPHA
from mosaic.gui.widgets.roles import label, with_role
from mosaic.paths import Home


class Overlay(QWidget):
    """Nothing waits for it: whatever runs in the window continues below."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._focus_before: QWidget | None = None
        self.card = with_role(QWidget(self), "overlay")
        self.hide()

    def place_card(self) -> None:
        """Subclasses say where the card is; called whenever the window has another size."""
        raise NotImplementedError

    def first_focus(self) -> QWidget:
        """Where the keyboard goes when it opens."""
        return self

    def open(self) -> None:
        if self.isVisible():
            return
        self._focus_before = QApplication.focusWidget()
        self._cover()
        self.show()
        self.raise_()
        self.first_focus().setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        if not self.isVisible():
            return
        before, self._focus_before = self._focus_before, None
        self.hide()
        if before is not None and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._window.installEventFilter(self)

    def hideEvent(self, event: QHideEvent) -> None:
        """Each event of the window, one for every picture of a run, would pass by here."""
        super().hideEvent(event)
        self._window.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._cover()
        return False

    def event(self, event: QEvent) -> bool:
        # The keys of the window below have to wait, all but the one that ends the program.
        is_shortcut = event.type() == QEvent.Type.ShortcutOverride
        if is_shortcut and isinstance(event, QKeyEvent):
            event.setAccepted(not event.matches(QKeySequence.StandardKey.Quit))
            return event.isAccepted()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.card.geometry().contains(event.position().toPoint()):
            self.dismiss()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """The keyboard stays on the card."""
        inside = [
            widget
            for widget in self.card.findChildren(QWidget)
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
        ]
        if inside:
            now = QApplication.focusWidget()
            place = inside.index(now) if now in inside else -1
            following = inside[(place + (1 if forward else -1)) % len(inside)]
            following.setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(0, 0, 0, VEIL_ALPHA))

    def _cover(self) -> None:
        self.setGeometry(self._window.rect())
        self.place_card()


_CONSENT_WIDTH, _MARGIN = 640, 32
_MOST_LINES = 14


class ConsentOverlay(Overlay):
    """Whatever closes it without a yes is a no. One question at a time; others wait."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("consent")
        self._questions: list[ConsentQuestion] = []
        self.title = label("", "title")
        self.title.setWordWrap(True)
        explanation = label(EXPLANATION, "muted")
        explanation.setWordWrap(True)
        self.lines = with_role(QPlainTextEdit(), "code")
        self.lines.setReadOnly(True)
        self.lines.setAccessibleName("What would run")
        self.yes = QPushButton(YES)
        self.yes.clicked.connect(self._on_yes)
        self.no = with_role(QPushButton(NO), "primary")
        self.no.clicked.connect(self.dismiss)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.yes)
        buttons.addWidget(self.no)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(self.title)
        layout.addWidget(explanation)
        layout.addWidget(self.lines)
        layout.addLayout(buttons)

    @property
    def question(self) -> ConsentQuestion | None:
        return self._questions[0] if self._questions else None

    def ask(self, question: ConsentQuestion) -> None:
        self._questions.append(question)
        if len(self._questions) == 1:
            self._show_question(question)

    def first_focus(self) -> QWidget:
        return self.no  # Return means no, too

    def place_card(self) -> None:
        self.card.setFixedWidth(min(_CONSENT_WIDTH, self.width() - _MARGIN))
        question = self.question
        height = self.lines.fontMetrics().lineSpacing()
        rows = min(_MOST_LINES, 2 * len(question.consent.lines) + 1 if question else 1)
        self.lines.setFixedHeight(max(3, rows) * height + 16)
        self.card.adjustSize()
        left, top = self.width() - self.card.width(), self.height() - self.card.height()
        self.card.move(QPoint(left // 2, max(0, top // 3)))

    def dismiss(self) -> None:
        super().dismiss()
        self._answer(is_yes=False)

    def _on_yes(self) -> None:
        super().dismiss()
        self._answer(is_yes=True)

    def _answer(self, *, is_yes: bool) -> None:
        if not self._questions:
            return
        question = self._questions.pop(0)
        if self._questions:
            self._show_question(self._questions[0])
        (question.granted if is_yes else question.refused)()

    def _show_question(self, question: ConsentQuestion) -> None:
        self.title.setText(question.title)
        self.lines.setPlainText(question.text)
        self.open()
        self.no.setFocus(Qt.FocusReason.OtherFocusReason)


_COLUMN_WIDTH, _EDGE = 380, 32
_SCROLL_KEYS = {
    Qt.Key.Key_Down: QScrollBar.SliderAction.SliderSingleStepAdd,
    Qt.Key.Key_Up: QScrollBar.SliderAction.SliderSingleStepSub,
    Qt.Key.Key_PageDown: QScrollBar.SliderAction.SliderPageStepAdd,
    Qt.Key.Key_PageUp: QScrollBar.SliderAction.SliderPageStepSub,
}
_ELSEWHERE = "Everywhere"
# Keys that a page of the centre has for itself, while it is shown.
_PAGE_KEYS = {"Replay": replay_keys.KEY_ROWS, "Play": play_keys.key_rows()}


class ShortcutsOverlay(Overlay):
    """All keys on one card, by menu, in two columns, or in three where there is room."""

    def __init__(self, commands: Commands, window: QWidget) -> None:
        super().__init__(window)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._commands = commands
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(label("Keyboard shortcuts", "title"))
        layout.addWidget(self._scroll)
        layout.addWidget(label("Esc or a click beside this card closes it", "caption"))

    def open(self) -> None:
        self._fill()  # commands may have come since
        super().open()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = _SCROLL_KEYS.get(Qt.Key(event.key()))
        if action is not None:
            self._scroll.verticalScrollBar().triggerAction(action)
        else:
            super().keyPressEvent(event)

    @property
    def _columns(self) -> int:
        return 3 if self._window.width() >= 3 * _COLUMN_WIDTH + 2 * _EDGE else 2

    def place_card(self) -> None:
        content = self._scroll.widget()
        width = min(self._columns * _COLUMN_WIDTH, self.width() - 2 * _EDGE)
        self.card.setFixedWidth(width)
        wanted = content.sizeHint().height() + 4 if content is not None else 0
        self._scroll.setFixedHeight(min(wanted, self.height() - 2 * _EDGE - 120))
        self.card.adjustSize()
        left, top = self.width() - self.card.width(), self.height() - self.card.height()
        self.card.move(QPoint(left // 2, max(8, top // 2)))

    def _fill(self) -> None:
        keys = [
            (
                self._commands.menu_of(action.objectName()),
                action.text().replace("&", ""),
                action.shortcut().toString(QKeySequence.SequenceFormat.NativeText),
            )
            for action in self._commands
        ]
        keys += [(page, text, sign) for page, rows in _PAGE_KEYS.items() for text, sign in rows]
        groups = shortcut_rows(keys, _ELSEWHERE)
        order = [name for name in (*MENUS, _ELSEWHERE, *_PAGE_KEYS) if name in groups]
        content = with_role(QWidget(), "plain")
        across = QHBoxLayout(content)
        across.setContentsMargins(0, 0, 8, 0)
        across.setSpacing(32)
        for names in columns({name: len(groups[name]) for name in order}, self._columns):
            column = QVBoxLayout()
            column.setSpacing(16)
            for name in names:
                column.addWidget(_group(name, groups[name]))
            column.addStretch(1)
            across.addLayout(column, 1)
        self._scroll.setWidget(content)


def _group(name: str, rows: list[ShortcutRow]) -> QWidget:
    box = with_role(QWidget(), "plain")
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(0, 1)
    grid.addWidget(label(name, "section"), 0, 0, 1, 2)
    for number, row in enumerate(rows, 1):
        grid.addWidget(label(row.title), number, 0)
        grid.addWidget(label(row.keys, "key"), number, 1, Qt.AlignmentFlag.AlignRight)
    return box


_ABOUT_WIDTH = 480


class AboutOverlay(Overlay):
    """Which MOSAIC this is, and where it keeps what it has."""

    def __init__(self, home: Home, window: QWidget) -> None:
        super().__init__(window)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        facts = (
            ("Version", __version__),
            ("Python", platform.python_version()),
            ("Qt", PySide6.__version__),
            ("Home", str(home.root)),
            ("Log", str(home.workbench_log)),
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(facts):
            grid.addWidget(label(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
            text = label(value)
            text.setWordWrap(True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(text, row, 1)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(label("MOSAIC", "title"))
        layout.addWidget(label("A reinforcement-learning workbench whose runs are never lost."))
        layout.addLayout(grid)
        layout.addWidget(label("Esc or a click beside this card closes it", "caption"))

    def place_card(self) -> None:
        self.card.setFixedWidth(min(_ABOUT_WIDTH, self.width() - 32))
        self.card.adjustSize()
        left, top = self.width() - self.card.width(), self.height() - self.card.height()
        self.card.move(QPoint(left // 2, top // 3))
