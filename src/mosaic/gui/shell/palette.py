"""CommandPalette: everything by its name. Type a few letters, choose, done."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QListView, QVBoxLayout, QWidget

from mosaic.gui.shell.overlay import Overlay
from mosaic.gui.shell.palette_list import PaletteDelegate, PaletteModel
from mosaic.gui.state.palette_entries import entries
from mosaic.gui.state.palette_search import Kind, PaletteItem, search
from mosaic.gui.state.targets import FormTarget, Mode, Operation, Page
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.workbench import Workbench

_WIDTH, _TOP, _ROWS = 640, 64, 10
_STEPS = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: _ROWS,
    Qt.Key.Key_PageUp: -_ROWS,
}


class CommandPalette(Overlay):
    def __init__(self, workbench: Workbench, window: QWidget) -> None:
        super().__init__(window)
        self._workbench = workbench
        self._items: list[PaletteItem] = []
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search commands, runs, environments, algorithms")
        self.field.setAccessibleName("Search")
        self.field.setClearButtonEnabled(False)
        self.field.textEdited.connect(self._on_edited)
        self.field.installEventFilter(self)
        self.model = PaletteModel(self)
        self.list = with_role(QListView(), "popup")
        self.list.setModel(self.model)
        self.list.setItemDelegate(PaletteDelegate(workbench.theme, self))
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName("What was found")
        self.list.clicked.connect(lambda index: self._choose(index.row()))
        self._nothing = label("Nothing is called like that", "muted")
        self._nothing.setContentsMargins(12, 8, 12, 8)
        self._hint = label("↑ ↓ to move · Enter to choose · Esc to close", "caption")
        self._hint.setContentsMargins(8, 4, 8, 0)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(4)
        for widget in (self.field, self.list, self._nothing, self._hint):
            layout.addWidget(widget)

    def open(self) -> None:
        if self.isVisible():
            return
        self._items = entries(self._workbench.state, self._commands())
        self.field.clear()
        self._show("")
        super().open()

    def first_focus(self) -> QWidget:
        return self.field

    def place_card(self) -> None:
        width = min(_WIDTH, self.width() - 32)
        row_height = self.list.sizeHintForRow(0) if self.model.rowCount() else 0
        rows = min(_ROWS, self.model.rowCount())
        self.list.setFixedHeight(rows * row_height)
        self.list.setVisible(bool(rows))
        self._nothing.setVisible(not rows)
        self.card.setFixedWidth(width)
        self.card.adjustSize()
        top = min(_TOP, max(8, (self.height() - self.card.height()) // 2))
        self.card.move((self.width() - width) // 2, top)

    @property
    def shown(self) -> list[PaletteItem]:
        return self.model.items

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_key = watched is self.field and event.type() == QEvent.Type.KeyPress
        if is_key and isinstance(event, QKeyEvent) and self._on_key(event):
            return True
        return super().eventFilter(watched, event)

    def _commands(self) -> list[PaletteItem]:
        commands = self._workbench.commands
        found = []
        for action in commands:
            if action.isEnabled() and action is not commands["help.palette"]:
                menu = commands.menu_of(action.objectName())
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                title = action.text().replace("&", "")
                found.append(PaletteItem(Kind.COMMAND, action.objectName(), title, menu, keys))
        return found

    def _on_edited(self, text: str) -> None:
        self._show(text)

    def _show(self, query: str) -> None:
        self.model.show_items(search(query, self._items))
        if self.model.rowCount():
            self.list.setCurrentIndex(self.model.index(0))
            self.list.scrollToTop()
        self.place_card()

    def _on_key(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if key in _STEPS:
            self._move(_STEPS[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.list.currentIndex().row())
        elif key == Qt.Key.Key_Escape or (
            key == Qt.Key.Key_K and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self.dismiss()
        else:
            return False
        return True

    def _move(self, step: int) -> None:
        count = self.model.rowCount()
        if count:
            now = self.list.currentIndex().row()
            is_one = abs(step) == 1
            row = (now + step) % count if is_one else max(0, min(count - 1, now + step))
            self.list.setCurrentIndex(self.model.index(row))

    def _choose(self, row: int) -> None:
        if not 0 <= row < self.model.rowCount():
            return
        item = self.model.items[row]
        self.dismiss()
        # After this key has been dealt with: the command may open a card of its own.
        QTimer.singleShot(0, self, lambda: self._perform(item))

    def _perform(self, item: PaletteItem) -> None:
        state = self._workbench.state
        match item.kind:
            case Kind.COMMAND:
                self._workbench.commands.trigger(item.key)
            case Kind.RUN:
                state.select([item.key])
                state.show_page(Page.LIVE)
            case Kind.ENVIRONMENT:
                state.choose_environment(item.key)
            case Kind.ALGORITHM:
                state.set_mode(Mode.AGENT)
                state.ask_form(FormTarget(Operation.TRAIN, values={"algo": item.key}))
