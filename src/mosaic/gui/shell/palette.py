"""CommandPalette: everything by its name. Type a few letters, choose, done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.services.workbench import Workbench
from mosaic.gui.shell.model.palette_search import PaletteItem, PaletteKind, palette_items, search
from mosaic.gui.shell.overlays import Overlay
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import FormTarget, Mode, Operation, Page
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import GAP, RADIUS
from mosaic.gui.widgets.roles import label, with_role

_HEIGHT, _ICON = 32, 16
_ICONS = {
    PaletteKind.COMMAND: "chevron-right",
    PaletteKind.RUN: "chart-line",
    PaletteKind.ENVIRONMENT: "earth",
    PaletteKind.ALGORITHM: "function-variant",
}
_AnyIndex = QModelIndex | QPersistentModelIndex


class PaletteModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.items: list[PaletteItem] = []

    def show_items(self, items: Sequence[PaletteItem]) -> None:
        self.beginResetModel()
        self.items = list(items)
        self.endResetModel()

    def rowCount(self, parent: _AnyIndex = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self.items)

    def data(self, index: _AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.items[index.row()].title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            item = self.items[index.row()]
            told = f"{item.kind.value}: {item.title} {item.detail}"
            return f"{told}, not possible now: {item.problem}" if item.problem else told
        return None


class PaletteDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _AnyIndex) -> QSize:
        return QSize(200, _HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _AnyIndex) -> None:
        model = index.model()
        assert isinstance(model, PaletteModel)
        item, palette = model.items[index.row()], self._theme.palette
        room: QRect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.selected))
            painter.drawRoundedRect(room, RADIUS, RADIUS)
        room = room.adjusted(GAP, 0, -GAP, 0)
        picture = QRect(room.left(), room.top() + (room.height() - _ICON) // 2 + 1, _ICON, _ICON)
        self._theme.icon(_ICONS[item.kind], palette.muted).paint(painter, picture)
        room.setLeft(picture.right() + GAP)
        metrics = painter.fontMetrics()
        room.setRight(room.right() - self._draw_hint(painter, item, room, metrics))
        painter.setPen(QColor(palette.muted if item.problem else palette.text))
        title = metrics.elidedText(item.title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, title)
        room.setLeft(room.left() + metrics.horizontalAdvance(title) + GAP)
        painter.setPen(QColor(palette.muted))
        told = item.problem or item.detail
        detail = metrics.elidedText(told, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, detail)
        painter.restore()

    def _draw_hint(
        self, painter: QPainter, item: PaletteItem, room: QRect, metrics: QFontMetrics
    ) -> int:
        """At the right; returns how much room it took."""
        if not item.hint:
            return 0
        painter.setPen(QColor(self._theme.palette.muted))
        alignment = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(room, alignment, item.hint)
        return metrics.horizontalAdvance(item.hint) + GAP


_WIDTH, _TOP, _ROWS = 640, 64, 10
_STEPS = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: _ROWS,
    Qt.Key.Key_PageUp: -_ROWS,
}


class CommandPalette(Overlay):
    """Everything by its name. Type a few letters, choose, done."""

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
        self._items = palette_items(self._workbench.state, self._commands())
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
            if action is not commands["help.palette"]:
                id = action.objectName()
                found.append(
                    PaletteItem(
                        PaletteKind.COMMAND,
                        id,
                        action.text().replace("&", ""),
                        commands.menu_of(id),
                        action.shortcut().toString(QKeySequence.SequenceFormat.NativeText),
                        problem=commands.problem_of(id),
                    )
                )
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
        if item.kind is PaletteKind.COMMAND and self._workbench.commands.problem_of(item.key):
            state.say(Notice(item.refusal))
            return
        match item.kind:
            case PaletteKind.COMMAND:
                self._workbench.commands.trigger(item.key)
            case PaletteKind.RUN:
                state.select([item.key])
                state.show_page(Page.LIVE)
            case PaletteKind.ENVIRONMENT:
                state.ask_environment(item.key)
            case PaletteKind.ALGORITHM:
                state.set_mode(Mode.AGENT)
                state.ask_form(FormTarget(Operation.TRAIN, values={"algo": item.key}))
