"""Pictures of runs as images of Qt."""

from __future__ import annotations

from PySide6.QtGui import QImage

from mosaic.fastlane.tiling import Picture


def to_image(picture: Picture) -> QImage:
    """Shares the picture's bytes, which the image keeps alive; safe in any thread."""
    image = QImage(
        picture.pixels,
        picture.width,
        picture.height,
        picture.width * 3,
        QImage.Format.Format_RGB888,
    )
    image._bytes = picture.pixels  # type: ignore[attr-defined]
    return image
