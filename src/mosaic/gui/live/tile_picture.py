"""TilePicture: the picture of a tile, as the window paints it; only what changes costs time."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QImage, QPainter

from mosaic.fastlane.tiling import Picture
from mosaic.gui.live.model.patches import Patch, Patches, united
from mosaic.gui.widgets.pictures import fitted, to_image
from mosaic.gui.widgets.scaling import is_smoothed
from mosaic.replay.changes import CHANNELS, NOWHERE, Box, changed_box

_FORMAT = QImage.Format.Format_RGB32  # painted and scaled faster than any other
_MOST = 0.5  # of a picture; when more has changed it is quicker to make all of it anew


class TilePicture:
    def __init__(self, picture: Picture) -> None:
        """Raises ValueError where its bytes are too few."""
        self.picture = picture
        self.image = to_image(picture).convertToFormat(_FORMAT)
        self._size = (picture.width, picture.height)
        self._whole = Box(0, 0, *self._size)
        self._room, self._ratio = QRect(), 1.0
        self.place = QRectF()  # where it is shown
        self._scaled: QImage | None = None
        self._patches: Patches | None = None  # made when the first one is needed
        self._newest_change = NOWHERE
        self._newest_patch: Patch | None = None
        self._stale = self._whole  # what is not scaled yet

    def fit(self, room: QRect, ratio: float) -> None:
        """As large as there is room; `ratio`: pixels of the screen in one of the painter's."""
        if self._scaled is not None and (room, ratio) == (self._room, self._ratio):
            return
        self._room, self._ratio = QRect(room), ratio
        place = fitted(*self._size, QRectF(room))
        self._width, self._height = (
            max(1, round(side * ratio)) for side in (place.width(), place.height())
        )
        scale = self._width / self._whole.width
        self._is_smooth = is_smoothed(self._size, scale)
        left, top = (round(side * ratio) / ratio for side in (place.left(), place.top()))
        self.place = QRectF(left, top, self._width / ratio, self._height / ratio)
        self._scaled, self._patches, self._stale = None, None, self._whole
        self._newest_change, self._newest_patch = NOWHERE, None

    def show(self, picture: Picture) -> QRect:
        """Where it looks different now; of the size it had before. After `fit`.

        Raises ValueError where its bytes are too few.
        """
        image = to_image(picture)
        before, self.picture = self.picture, picture
        changed = _difference(before, picture)
        if changed == NOWHERE:
            return QRect()
        patch = self._patch(changed)
        if patch is None or self._stale == self._whole:
            self.image, self._stale = image.convertToFormat(_FORMAT), self._whole
            return self.place.toAlignedRect()
        with QPainter(self.image) as painter:
            painter.drawImage(QPoint(changed.left, changed.top), image, QRect(*changed))
        self._stale = united(self._stale, changed)
        left, top, width, height = (side / self._ratio for side in patch.target)
        return QRectF(left, top, width, height).translated(self.place.topLeft()).toAlignedRect()

    def paint(self, painter: QPainter) -> None:
        """After `fit`."""
        if self._scaled is None or self._stale != NOWHERE:
            self._scaled = self._scaled_anew()
        self._scaled.setDevicePixelRatio(self._ratio)
        painter.drawImage(self.place.topLeft(), self._scaled)

    def _scaled_anew(self) -> QImage:
        stale, self._stale = self._stale, NOWHERE
        patch = self._patch(stale) if self._scaled is not None else None
        if patch is None or self._scaled is None:
            return self._scaled_to(self.image, (self._width, self._height))
        found = self._scaled_to(self.image.copy(QRect(*patch.source)), patch.size)
        self._scaled.setDevicePixelRatio(1.0)
        with QPainter(self._scaled) as painter:
            painter.drawImage(QPoint(*patch.at), found, QRect(*patch.kept))
        return self._scaled

    def _scaled_to(self, image: QImage, size: tuple[int, int]) -> QImage:
        """By `QImage.scaled`, which loses no thin lines where a painter alone would."""
        mode = Qt.TransformationMode
        how = mode.SmoothTransformation if self._is_smooth else mode.FastTransformation
        return image.scaled(*size, Qt.AspectRatioMode.IgnoreAspectRatio, how)

    def _patch(self, changed: Box) -> Patch | None:
        """None: all of it is scaled, as always where pixels are only repeated. Which one falls on
        an edge depends on how far it is from the first; such pictures are small."""
        if not self._is_smooth:
            return None
        if changed != self._newest_change:
            if self._patches is None:
                self._patches = Patches(self._size, (self._width, self._height))
            patch = self._patches.patch(changed)
            most = _MOST * self._whole.width * self._whole.height
            is_part = patch.source.width * patch.source.height <= most
            self._newest_change, self._newest_patch = changed, patch if is_part else None
        return self._newest_patch


def _difference(before: Picture, after: Picture) -> Box:
    if before is after:
        return NOWHERE
    shape = (after.height, after.width, CHANNELS)
    count = after.height * after.width * CHANNELS
    return changed_box(
        *(np.frombuffer(each.pixels, np.uint8, count).reshape(shape) for each in (before, after))
    )
