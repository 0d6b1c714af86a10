"""TileCanvas: the environments of a run side by side, or one of them as large as there is room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from mosaic.fastlane.tiling import Picture, grid
from mosaic.gui.live.model.layout import arranged, neighbour
from mosaic.gui.live.tile_picture import TilePicture
from mosaic.gui.state.live_watch import Tile
from mosaic.gui.theme import tokens

_SMALLEST = QSize(160, 120)
_GAP = tokens.GRID
_CHIP = QColor(0, 0, 0, 140)
_CHIP_TEXT = QColor("#f2f4f8")
_VEIL = QColor(40, 44, 52, 170)
_BEHIND = QColor("#000000")
_SNAPSHOT_GAP = QColor(96, 96, 96)  # as of `mosaic.fastlane.tiling`
_FRAME_ALPHA = 48  # of lines between and around tiles: white ones lie on white in a light theme
_STRIP = 14  # above each tile, for its number: the picture's own score stays in sight
_LEAST_NUMBERED = 3 * _STRIP  # lower ones need all of the room
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class TileCanvas(QWidget):
    tile_clicked = Signal(int)  # slot; by mouse or Enter
    enlarged_changed = Signal(object)  # slot, or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tiles: dict[int, Tile] = {}  # by slot, in the order shown
        self._pictures: dict[int, TilePicture] = {}
        self._boxes: dict[int, QRect] = {}
        self._columns, self._has_numbers = 1, False
        self._enlarged: int | None = None
        self._focused = 0  # place of a tile, not its slot
        self._veil = ""
        self.painted_pictures = 0  # new pictures that reached the screen; for measurements
        self._unpainted: set[int] = set()
        self.setMinimumSize(_SMALLEST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # All of it is painted here: nothing that lies behind is painted before each picture.
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Live frames")

    # What is shown

    def show_tiles(self, tiles: Sequence[Tile]) -> None:
        """Draws those again that are not what they were."""
        before, size = self._tiles, self._picture_size()
        self._tiles = {tile.slot: tile for tile in tiles}
        changed = [
            slot
            for slot, tile in self._tiles.items()
            if slot not in before or before[slot].picture is not tile.picture
        ]
        looks: dict[int, QRect] = {}  # where they are different now
        for slot in changed:
            looks[slot] = self._show(slot, self._tiles[slot].picture)
        if list(before) != list(self._tiles) or size != self._picture_size():
            for slot in set(self._pictures) - set(self._tiles):
                del self._pictures[slot]
            self._unpainted &= set(self._tiles)
            if self._enlarged is not None and self._enlarged not in self._tiles:
                self._set_enlarged(None)
            self._arrange()
            return
        for place in looks.values():
            self.update(place)

    def _show(self, slot: int, picture: Picture | None) -> QRect:
        """Where it has to be painted again."""
        room, shown = self._boxes.get(slot, QRect()), self._pictures.get(slot)
        if picture is None:
            self._pictures.pop(slot, None)
            return room
        if shown is None or _size(shown.picture) != _size(picture) or not room.isValid():
            self._pictures[slot] = TilePicture(picture)
            self._unpainted.add(slot)
            return room
        shown.fit(room, self.devicePixelRatioF())
        place = shown.show(picture)
        if place.isValid():
            self._unpainted.add(slot)
        elif slot not in self._unpainted:
            self.painted_pictures += 1  # it is there already
        return place

    def enlarge(self, slot: int | None) -> None:
        """None: all of them again. A slot that is not shown changes nothing."""
        if slot is not None and (slot not in self._tiles or len(self._tiles) < 2):
            return
        if slot != self._enlarged:
            if slot is not None:
                self._focused = list(self._tiles).index(slot)
            self._set_enlarged(slot)
            self._arrange()

    @property
    def enlarged(self) -> int | None:
        return self._enlarged

    @property
    def focused_slot(self) -> int | None:
        """Which tile the keys act on."""
        slots = list(self._tiles)
        return slots[self._focused] if self._focused < len(slots) else None

    def show_veil(self, text: str) -> None:
        """Grey over everything, with what is wrong; an empty text removes it."""
        if text != self._veil:
            self._veil = text
            self.setAccessibleDescription(text)
            self.update()

    @property
    def veil(self) -> str:
        return self._veil

    def snapshot(self) -> QImage:
        """What is shown, every pixel of it; a null image when there is nothing."""
        shown = [slot for slot in self._shown_slots() if slot in self._pictures]
        if not shown:
            return QImage()
        if len(self._shown_slots()) == 1:
            return self._pictures[shown[0]].image.copy()
        width, height = self._picture_size()
        rows, columns = grid(len(self._tiles))
        image = QImage(
            columns * (width + _GAP) - _GAP,
            rows * (height + _GAP) - _GAP,
            QImage.Format.Format_RGB32,
        )
        image.fill(_SNAPSHOT_GAP)
        with QPainter(image) as painter:
            for place, slot in enumerate(self._tiles):
                left, top = place % columns * (width + _GAP), place // columns * (height + _GAP)
                cell = QRect(left, top, width, height)
                painter.fillRect(cell, _BEHIND)
                if slot in self._pictures:
                    found = self._pictures[slot].image
                    at = QPointF(
                        left + (width - found.width()) // 2, top + (height - found.height()) // 2
                    )
                    painter.drawImage(at, found)
        return image

    def box(self, slot: int) -> QRect:
        """Where a tile is; empty while it is not shown."""
        return self._boxes.get(slot, QRect())

    # Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            frame = QColor(self.palette().color(QPalette.ColorRole.Text))
            frame.setAlpha(_FRAME_ALPHA)
            if not any(box.contains(event.rect()) for box in self._boxes.values()):
                painter.fillRect(event.rect(), self.palette().color(QPalette.ColorRole.Window))
            for slot, box in self._boxes.items():
                if self._has_numbers:
                    self._paint_number(painter, slot, box)
                around = box.adjusted(-1, -1, 1, 1)
                part = event.region().intersected(around).boundingRect()
                if part.isEmpty():
                    continue
                if not box.contains(part):
                    # The line alone: what is blended below a whole picture costs more than that.
                    painter.setPen(frame)
                    painter.drawRect(around.adjusted(0, 0, -1, -1))
                self._paint_tile(painter, slot, box, part)
                if slot in self._unpainted:
                    self._unpainted.discard(slot)
                    self.painted_pictures += 1
            if self._veil and self._boxes:
                self._paint_veil(painter)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            for place, slot in enumerate(self._tiles):
                if self.box(slot).contains(event.position().toPoint()):
                    self._focused = place
                    self._choose(slot)
                    return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        slot = self.focused_slot
        if event.key() in _ARROWS and slot is not None:
            self._move_focus(*_ARROWS[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and slot is not None:
            self._choose(slot)
        elif event.key() == Qt.Key.Key_Escape and self._enlarged is not None:
            self.enlarge(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    # Inside

    def _choose(self, slot: int) -> None:
        self.enlarge(slot if self._enlarged is None else None)
        self.tile_clicked.emit(slot)
        self.update()

    def _move_focus(self, across: int, down: int) -> None:
        self._focused = neighbour(self._focused, len(self._tiles), self._columns, across, down)
        if self._enlarged is not None:
            self.enlarge(self.focused_slot)
        self.update()

    def _set_enlarged(self, slot: int | None) -> None:
        self._enlarged = slot
        self.enlarged_changed.emit(slot)

    def _shown_slots(self) -> list[int]:
        return list(self._tiles) if self._enlarged is None else [self._enlarged]

    def _picture_size(self) -> tuple[int, int]:
        images = [each.image for each in self._pictures.values()]
        width = max((image.width() for image in images), default=4)
        return width, max((image.height() for image in images), default=3)

    def _arrange(self) -> None:
        slots = self._shown_slots()
        self._focused = min(self._focused, max(0, len(self._tiles) - 1))
        room = (self.width() - 2, self.height() - 2)  # a line fits around
        size = self._picture_size()
        self._has_numbers = len(slots) > 1
        tiles = arranged(len(slots), size, room, _GAP, _STRIP if self._has_numbers else 0)
        if self._has_numbers and tiles.boxes[0].height < _LEAST_NUMBERED:
            self._has_numbers = False
            tiles = arranged(len(slots), size, room, _GAP)
        if self._enlarged is None:
            self._columns = tiles.columns
        self._boxes = {
            slot: QRect(*box).translated(1, 1) for slot, box in zip(slots, tiles.boxes, strict=True)
        }
        self.update()

    def _paint_tile(self, painter: QPainter, slot: int, box: QRect, part: QRect) -> None:
        """`part`: all that has to be painted lies in it."""
        picture = self._pictures.get(slot)
        if picture is not None:
            picture.fit(box, self.devicePixelRatioF())
        if picture is None or not picture.place.contains(QRectF(part)):
            painter.fillRect(box, _BEHIND)
        if picture is not None:
            picture.paint(painter)
        is_marked = self.hasFocus() and self._enlarged is None and slot == self.focused_slot
        if is_marked and not box.adjusted(2, 2, -2, -2).contains(part):
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Highlight), 2))
            painter.drawRect(QRectF(box).adjusted(1, 1, -1, -1))

    def _paint_number(self, painter: QPainter, slot: int, box: QRect) -> None:
        font = QFont(self.font())
        font.setPixelSize(tokens.CAPTION)
        painter.setFont(font)
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        strip = QRect(box.left(), box.top() - _STRIP - 1, box.width(), _STRIP)
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(strip, flags, str(slot))

    def _paint_veil(self, painter: QPainter) -> None:
        whole = QRect()
        for box in self._boxes.values():
            whole = whole.united(box)
        painter.fillRect(whole, _VEIL)
        font = QFont(self.font())
        font.setPixelSize(tokens.SECTION)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
        room = whole.adjusted(tokens.MARGIN, tokens.GAP, -tokens.MARGIN, -tokens.GAP)
        text = painter.boundingRect(room, flags, self._veil)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_CHIP)
        chip = text.adjusted(-tokens.PADDING, -tokens.GRID, tokens.PADDING, tokens.GRID)
        painter.drawRoundedRect(chip, tokens.RADIUS, tokens.RADIUS)
        painter.setPen(_CHIP_TEXT)
        painter.drawText(room, flags, self._veil)


def _size(picture: Picture) -> tuple[int, int]:
    return picture.width, picture.height
