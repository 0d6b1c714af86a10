"""PictureView: one picture, as large as there is room, with its proportions kept."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget

from mosaic.fastlane.tiling import Picture
from mosaic.gui.widgets.scaling import is_smoothed

_SMALLEST = QSize(160, 80)
_FRAME_ALPHA = 40


class PictureView(QWidget):
    """One picture, as large as there is room, with its proportions kept."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image: QImage | None = None
        self._scaled: QImage | None = None  # for as long as image and size stay the same
        self.setMinimumSize(_SMALLEST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def image(self) -> QImage | None:
        return self._image

    def show_image(self, image: QImage | None) -> None:
        self._image, self._scaled = image, None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image is None:
            return
        with QPainter(self) as painter:
            place = fitted(self._image.width(), self._image.height(), QRectF(self.rect()))
            self._scaled = draw_scaled(
                painter, place, self._image, self.devicePixelRatioF(), self._scaled
            )
            # A white picture on a white panel still has an edge.
            frame = QColor(self.palette().color(QPalette.ColorRole.Text))
            frame.setAlpha(_FRAME_ALPHA)
            ring = self.palette().color(QPalette.ColorRole.Highlight)
            painter.setPen(ring if self.hasFocus() else frame)
            painter.drawRect(place.toAlignedRect().adjusted(0, 0, -1, -1))


def draw_scaled(
    painter: QPainter, place: QRectF, image: QImage, ratio: float, before: QImage | None = None
) -> QImage:
    """Returns what was drawn; `before`: what was returned for the same image, to be used again.
    `ratio`: pixels of the screen in one of the painter's.

    By `QImage.scaled`, which loses no thin lines where a painter alone would.
    """
    width, height = (max(1, round(side * ratio)) for side in (place.width(), place.height()))
    if before is None or (before.width(), before.height()) != (width, height):
        is_smooth = is_smoothed((image.width(), image.height()), width / image.width())
        mode = Qt.TransformationMode
        # Much faster in this format than in the one of environments.
        before = image.convertToFormat(QImage.Format.Format_RGB32).scaled(
            width,
            height,
            Qt.AspectRatioMode.IgnoreAspectRatio,
            mode.SmoothTransformation if is_smooth else mode.FastTransformation,
        )
    before.setDevicePixelRatio(ratio)
    at = QPointF(round(place.left() * ratio) / ratio, round(place.top() * ratio) / ratio)
    painter.drawImage(at, before)
    return before


def fitted(width: int, height: int, room: QRectF) -> QRectF:
    """The largest rectangle of these proportions in the middle of the room."""
    if width <= 0 or height <= 0:
        return QRectF()
    scale = min(room.width() / width, room.height() / height)
    found = QRectF(0, 0, width * scale, height * scale)
    found.moveCenter(room.center())
    return found


def to_image(picture: Picture) -> QImage:
    """Shares the picture's bytes, which the image keeps alive; safe in any thread.

    Raises ValueError where there are too few of them: Qt would read what lies behind.
    """
    if len(picture.pixels) < picture.width * picture.height * 3:
        raise ValueError(f"a picture of {picture.width}x{picture.height} has too few bytes")
    image = QImage(
        picture.pixels,
        picture.width,
        picture.height,
        picture.width * 3,
        QImage.Format.Format_RGB888,
    )
    image._bytes = picture.pixels  # type: ignore[attr-defined]
    return image
