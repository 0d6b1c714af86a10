"""Snapshots: pictures of a run that somebody wanted to keep, in the run's folder."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage

from mosaic.errors import RunStateError
from mosaic.files import atomic_write

FOLDER = "snapshots"


def save_snapshot(image: QImage, run_directory: Path, steps: int) -> Path:
    """Blocks while it writes; raises RunStateError."""
    folder = run_directory / FOLDER
    moment = time.strftime("%Y%m%d-%H%M%S")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{moment}-step-{steps}.png"
        number = 2
        while path.exists():
            path = folder / f"{moment}-step-{steps}-{number}.png"
            number += 1
        atomic_write(path, _png(image), 0o644)
    except OSError as error:
        raise RunStateError(
            f"The snapshot cannot be saved: {error.strerror or error}", hint=f"see {folder}"
        ) from error
    return path


def _png(image: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
