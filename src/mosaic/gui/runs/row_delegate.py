"""RowDelegate: paints the table's cells. No widget per row, however many rows there are."""

from __future__ import annotations

import functools

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.groups import GroupRow
from mosaic.gui.runs.model.rows import RunRow
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.runs.thumbnails import THUMBNAIL, Thumbnails
from mosaic.gui.state.possible_actions import ACTION_LOOKS, MORE_ICON, RunAction, row_actions
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.theme import tokens
from mosaic.gui.theme.theme import Theme

ROW_HEIGHT = 28
INDENT = 20  # of the runs below their group
_ICON = 16
_SLOT = 28
_SWATCH = 10
_BAR_HEIGHT, _THIN_BAR_HEIGHT = 4, 2
_PERCENT_WIDTH = 44
_MOST_KEPT = 20_000
_CHIP_HEIGHT, _CHIP_PADDING, _CHIP_GAP = 18, 7, 4
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)


@functools.lru_cache(maxsize=256)
def _colour(name: str) -> QColor:
    """Read once: a table in motion asks thousands of times a second."""
    return QColor(name)


class RowDelegate(QStyledItemDelegate):
    def __init__(
        self,
        model: RunsTableModel,
        state: WorkbenchState,
        theme: Theme,
        thumbnails: Thumbnails,
        parent: QAbstractItemView,
    ) -> None:
        super().__init__(parent)
        self._model, self._state, self._theme = model, state, theme
        self._thumbnails = thumbnails
        self._table = parent
        self.hovered_row = -1
        self.hovered_slot = -1
        self._numbers = theme.mono_font(tokens.FONT - 1)
        self._words = QFont(parent.font())
        self._words.setPixelSize(tokens.FONT)
        self._headings = QFont(self._words)
        self._headings.setWeight(QFont.Weight.DemiBold)
        self._small = QFont(parent.font())
        self._small.setPixelSize(tokens.CAPTION)
        self._metrics = QFontMetrics(self._words)
        self._small_metrics = QFontMetrics(self._small)
        self._number_metrics = QFontMetrics(self._numbers)
        self._elided: dict[tuple[str, int], str] = {}
        self._pictures: dict[tuple[str, str], QPixmap] = {}
        theme.changed.connect(self._on_theme_changed)

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(0, ROW_HEIGHT)

    def content_widths(self) -> dict[int, int]:
        """How wide the longest texts are, with what stands around them."""
        longest, metrics = self._model.longest, self._metrics
        found: dict[int, int] = {
            column: metrics.horizontalAdvance(longest[column]) + 24
            for column in (Column.ENVIRONMENT, Column.NOTE)
            if longest.get(column)
        }
        # Room for the marks behind a name, and for its place below a group.
        name = metrics.horizontalAdvance(longest.get(Column.NAME, ""))
        found[Column.NAME] = name + 24 + 18 + (INDENT if self._model.is_grouped else 0)
        if tags := longest.get(Column.TAGS):
            chips = self._model.most_tags * (2 * _CHIP_PADDING + _CHIP_GAP)
            found[Column.TAGS] = self._small_metrics.horizontalAdvance(tags) + chips + 20
        if self._model.groups:
            found[Column.RETURN] = self._number_metrics.horizontalAdvance("487.2 ± 123.4") + 18
        for number in range(len(Column), self._model.choice.count):
            title = self._model.choice.title(number)
            found[number] = max(88, metrics.horizontalAdvance(title) + 34)
        return found

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        number, column = index.row(), index.column()
        record = self._model.record_at(number)
        group = self._model.group_at(number) if record is None else None
        if record is None and group is None:
            return
        place: QRect = option.rect
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        palette = self._theme.palette
        if is_selected:
            painter.fillRect(place, _colour(palette.selected))
        elif number == self.hovered_row:
            painter.fillRect(place, _colour(palette.hover))
        if record is not None:
            self._paint_run(painter, place, record, number, column, is_selected)
        elif group is not None:
            self._paint_group(painter, place, group, number, column)

    def _paint_run(
        self,
        painter: QPainter,
        place: QRect,
        record: RunRecord,
        number: int,
        column: int,
        is_selected: bool,
    ) -> None:
        row, inner = self._model.row(record), place.adjusted(8, 0, -8, 0)
        match column:
            case Column.COLOUR:
                self._paint_swatch(painter, place, self._state.colours.of(row.run_id), number)
            case Column.STATE:
                self._paint_state(painter, inner, row.word, row.word)
            case Column.PROGRESS:
                self._paint_progress(painter, inner, row, record.is_over)
            case Column.ACTIONS:
                actions = [ACTION_LOOKS[action].icon for action in self.actions_of(record)]
                self._paint_actions(painter, place, [*actions, MORE_ICON], number, is_selected)
            case Column.NAME:
                self._paint_name(painter, inner, row)
            case Column.TAGS:
                self._paint_tags(painter, inner, row.tags)
            case Column.PICTURE:
                self._paint_picture(painter, place, record)
            case Column.SPACE:
                pass
            case _ if column < len(Column):
                self._paint_text(painter, inner, row.text(column), column)
            case _:
                name = self._model.choice.setting(column) or ""
                text, is_chosen = self._model.settings.text(record, name)
                self._paint_text(painter, inner, text, column, is_quiet=not is_chosen)

    def _paint_group(
        self, painter: QPainter, place: QRect, group: GroupRow, number: int, column: int
    ) -> None:
        inner = place.adjusted(8, 0, -8, 0)
        match column:
            case Column.COLOUR:
                colours = [self._state.colours.of(run) for run in group.run_ids]
                shown = {colour for colour in colours if colour is not None}
                one = shown.pop() if len(shown) == 1 else None
                self._paint_swatch(painter, place, one, number)
            case Column.STATE:
                self._paint_state(painter, inner, group.state, group.word)
            case Column.PROGRESS:
                is_over = group.remaining == "–"
                self._paint_bar(painter, inner, group.fraction, group.progress, is_over)
            case Column.ACTIONS:
                self._paint_actions(painter, place, [MORE_ICON], number, False)
            case Column.NAME:
                self._paint_heading(painter, inner, group)
            case Column.TAGS:
                self._paint_tags(painter, inner, group.tags)
            case Column.PICTURE | Column.SPACE:
                pass
            case _:
                text = self._model.text(number, column) or ""
                self._paint_text(painter, inner, text, column)

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        record = self._model.record_at(index.row())
        if record is None or index.column() != Column.ACTIONS:
            return super().helpEvent(event, view, option, index)
        slot = self.slot_at(view.visualRect(index), event.pos())
        action = self.action_at(record, slot)
        title = ACTION_LOOKS[action].title if action else "More" if slot == 0 else ""
        QToolTip.showText(event.globalPos(), title, view)
        return True

    def actions_of(self, record: RunRecord) -> tuple[RunAction, ...]:
        worker = self._state.worker(record.worker)
        return row_actions(record, worker.capabilities if worker else None)

    def slot_at(self, place: QRect, point: QPoint) -> int:
        """Which picture of the last column is there, counted from the right; -1: none."""
        if not place.contains(point):
            return -1
        slot = (place.right() - 4 - point.x()) // _SLOT
        return slot if 0 <= slot <= 2 else -1

    def action_at(self, record: RunRecord, slot: int) -> RunAction | None:
        """None for the last slot, which opens the menu, and for one that is empty."""
        actions = self.actions_of(record)
        place = len(actions) - slot
        return actions[place] if slot >= 1 and 0 <= place < len(actions) else None

    def is_on_arrow(self, place: QRect, point: QPoint) -> bool:
        """Of a group, which folds and unfolds it."""
        return place.contains(point) and point.x() < place.x() + 8 + INDENT

    def _paint_swatch(
        self, painter: QPainter, place: QRect, colour: str | None, number: int
    ) -> None:
        current = self._table.currentIndex().row()
        if number == current and self._table.hasFocus():
            accent = _colour(self._theme.palette.accent)
            painter.fillRect(place.x(), place.y(), 2, place.height(), accent)
        if colour is not None:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(_colour(colour))
            swatch = QRectF(0, 0, _SWATCH, _SWATCH)
            swatch.moveCenter(QRectF(place).center())
            painter.drawRoundedRect(swatch, 2, 2)
            painter.restore()

    def _paint_state(self, painter: QPainter, place: QRect, state: str, words: str) -> None:
        colour = self._theme.state_colour(state)
        picture = self._picture(tokens.state_look(state).icon, colour)
        top = place.y() + (place.height() - _ICON) // 2
        painter.drawPixmap(QRect(place.x(), top, _ICON, _ICON), picture)
        painter.setFont(self._words)
        painter.setPen(_colour(colour))
        beside = place.adjusted(_ICON + 6, 0, 8, 0)
        painter.drawText(beside, _LEFT, self._fitted(words, beside.width()))

    def _paint_name(self, painter: QPainter, place: QRect, row: RunRow) -> None:
        for mark in reversed(row.marks):
            picture = self._picture(mark, self._theme.palette.muted)
            top = place.y() + (place.height() - 12) // 2
            painter.drawPixmap(QRect(place.right() - 12, top, 12, 12), picture)
            place = place.adjusted(0, 0, -18, 0)
        if self._model.is_member(row.run_id):
            place = place.adjusted(INDENT, 0, 0, 0)
        painter.setFont(self._words)
        painter.setPen(_colour(self._theme.palette.text))
        painter.drawText(place, _LEFT, self._fitted(row.name, place.width()))

    def _paint_heading(self, painter: QPainter, place: QRect, group: GroupRow) -> None:
        palette = self._theme.palette
        is_folded = self._model.is_folded(group.name)
        arrow = self._picture("chevron-right" if is_folded else "chevron-down", palette.muted)
        top = place.y() + (place.height() - _ICON) // 2
        painter.drawPixmap(QRect(place.x() - 2, top, _ICON, _ICON), arrow)
        place = place.adjusted(INDENT, 0, 0, 0)
        number = f"  {len(group.run_ids)}"
        room = place.width() - self._metrics.horizontalAdvance(number) - 4
        painter.setFont(self._headings)
        painter.setPen(_colour(palette.text))
        # In bold it is a little wider than it was measured.
        name = self._fitted(group.name, int(room * 0.92))
        painter.drawText(place, _LEFT, name)
        width = QFontMetrics(self._headings).horizontalAdvance(name)
        painter.setFont(self._words)
        painter.setPen(_colour(palette.muted))
        painter.drawText(place.adjusted(width, 0, 0, 0), _LEFT, number)

    def _paint_tags(self, painter: QPainter, place: QRect, tags: tuple[str, ...]) -> None:
        palette = self._theme.palette
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._small)
        left, top = place.x(), place.y() + (place.height() - _CHIP_HEIGHT) // 2
        for number, tag in enumerate(tags):
            rest = len(tags) - number
            reserve = 28 if rest > 1 else 0
            room = place.right() - left - 2 * _CHIP_PADDING - reserve
            text = tag
            if self._small_metrics.horizontalAdvance(tag) > room:
                if number:
                    text = f"+{rest}"
                else:
                    text = self._small_metrics.elidedText(
                        tag, Qt.TextElideMode.ElideRight, max(room, 8)
                    )
            width = self._small_metrics.horizontalAdvance(text) + 2 * _CHIP_PADDING
            chip = QRectF(left + 0.5, top + 0.5, width - 1, _CHIP_HEIGHT - 1)
            painter.setPen(_colour(palette.line))
            painter.setBrush(_colour(palette.raised))
            painter.drawRoundedRect(chip, _CHIP_HEIGHT / 2, _CHIP_HEIGHT / 2)
            painter.setPen(_colour(palette.text))
            painter.drawText(chip, _CENTRE, text)
            left += width + _CHIP_GAP
            if text != tag:
                break
        painter.restore()

    def _paint_picture(self, painter: QPainter, place: QRect, record: RunRecord) -> None:
        picture = self._thumbnails.picture(record)
        if picture is None:
            return
        size = picture.size().scaled(THUMBNAIL, Qt.AspectRatioMode.KeepAspectRatio)
        spot = QRect(QPoint(0, 0), size)
        spot.moveCenter(place.center())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(spot, picture)
        painter.restore()

    def _paint_text(
        self, painter: QPainter, place: QRect, text: str, column: int, is_quiet: bool = False
    ) -> None:
        palette = self._theme.palette
        is_number = self._model.is_number(column)
        is_muted = (
            is_quiet
            or len(text) <= 1
            or column in (Column.STARTED, Column.ENVIRONMENT, Column.NOTE)
        )
        painter.setFont(self._numbers if is_number else self._words)
        painter.setPen(_colour(palette.muted if is_muted else palette.text))
        if is_number:
            painter.drawText(place, _RIGHT, text)
        else:
            painter.drawText(place, _LEFT, self._fitted(text, place.width()))

    def _paint_progress(self, painter: QPainter, place: QRect, row: RunRow, is_over: bool) -> None:
        if row.installed is not None:
            self._paint_install(painter, place, row.installed)
        elif row.note or row.fraction is None:
            painter.setFont(self._words)
            painter.setPen(_colour(self._theme.palette.muted))
            text = row.note or row.progress
            painter.drawText(place, _LEFT, self._fitted(text, place.width()))
        else:
            self._paint_bar(painter, place, row.fraction, row.progress, is_over)

    def _paint_install(self, painter: QPainter, place: QRect, fraction: float) -> None:
        """How much is there of what it needs: no progress of the run itself, so it says so."""
        palette = self._theme.palette
        line = place.adjusted(0, 0, 0, -6)
        painter.setPen(_colour(palette.muted))
        painter.setFont(self._words)
        words = line.adjusted(0, 0, -_PERCENT_WIDTH, 0)
        painter.drawText(words, _LEFT, self._fitted("installing", words.width()))
        painter.setFont(self._numbers)
        painter.drawText(line, _RIGHT, f"{round(fraction * 100)} %")
        bar = QRect(place.x(), place.bottom() - 5, place.width(), _THIN_BAR_HEIGHT)
        painter.fillRect(bar, _colour(palette.line))
        bar.setWidth(round(bar.width() * fraction))
        painter.fillRect(bar, _colour(palette.accent))

    def _paint_bar(
        self, painter: QPainter, place: QRect, fraction: float | None, text: str, is_over: bool
    ) -> None:
        if fraction is None:
            return
        palette = self._theme.palette
        width = place.width() - _PERCENT_WIDTH
        top = place.center().y() - _BAR_HEIGHT // 2 + 1
        painter.fillRect(place.x(), top, width, _BAR_HEIGHT, _colour(palette.line))
        colour = palette.muted if is_over else palette.accent
        painter.fillRect(place.x(), top, round(width * fraction), _BAR_HEIGHT, _colour(colour))
        painter.setFont(self._numbers)
        painter.setPen(_colour(palette.muted if is_over else palette.text))
        painter.drawText(place, _RIGHT, text)

    def _paint_actions(
        self, painter: QPainter, place: QRect, names: list[str], number: int, is_selected: bool
    ) -> None:
        palette = self._theme.palette
        is_near = number == self.hovered_row
        for slot, name in enumerate(reversed(names)):
            left = place.right() - 4 - (slot + 1) * _SLOT + (_SLOT - _ICON) // 2
            top = place.y() + (place.height() - _ICON) // 2
            spot = QRect(left, top, _ICON, _ICON)
            is_hit = is_near and slot == self.hovered_slot
            if is_hit:
                painter.fillRect(spot.adjusted(-4, -4, 4, 4), _colour(palette.line))
            colour = palette.text if is_near or is_selected else palette.muted
            painter.drawPixmap(spot, self._picture(name, palette.accent if is_hit else colour))

    def _picture(self, name: str, colour: str) -> QPixmap:
        found = self._pictures.get((name, colour))
        if found is None:
            ratio = self._table.devicePixelRatioF()
            found = self._theme.icon(name, colour).pixmap(QSize(_ICON, _ICON), ratio)
            self._pictures[name, colour] = found
        return found

    def _fitted(self, text: str, width: int) -> str:
        found = self._elided.get((text, width))
        if found is None:
            if len(self._elided) > _MOST_KEPT:
                self._elided.clear()
            found = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
            self._elided[text, width] = found
        return found

    def _on_theme_changed(self) -> None:
        self._pictures.clear()
