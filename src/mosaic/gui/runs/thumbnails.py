"""Thumbnails: the last picture that a run left behind, small, and never waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPixmap

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.files import atomic_write
from mosaic.foreign.files import read_regular
from mosaic.gui.live.clips import SNAPSHOTS_FOLDER
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.videos.model import VideoReader
from mosaic.gui.widgets.pictures import to_image
from mosaic.paths import Home

THUMBNAIL = QSize(60, 40)  # in the table
_KEPT = QSize(180, 120)  # on disk and in memory, for screens with small pixels
_NAME = "thumbnail.png"
_LARGEST = 16_000_000
_LOOK_MS = 2000
_SAVE_EVERY = 5  # looks
_MOST_PIECES = 1000  # of a folder
_MOST_KEPT = 2000


class Thumbnails(QObject):
    """Of runs whose files are here. Reads one at a time, the last asked for first."""

    changed = Signal(str)  # run id

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._pictures: dict[str, QPixmap | None] = {}
        self._wanted: list[str] = []
        self._is_reading = False
        self._unsaved: dict[str, QImage] = {}
        self._looks = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        self._save()

    def picture(self, record: RunRecord) -> QPixmap | None:
        """None while nothing is known, and for a run that left nothing."""
        run_id = record.run_id
        if run_id not in self._pictures:
            if len(self._pictures) > _MOST_KEPT:
                self._pictures.clear()
            self._pictures[run_id] = None
            self._wanted.append(run_id)
            self._read_next()
        return self._pictures[run_id]

    def forget(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            self._pictures.pop(run_id, None)
            self._unsaved.pop(run_id, None)

    def _look(self) -> None:
        """What is watched now is what the run will have left behind."""
        live = self._workbench.state.live
        picture = next((tile.picture for tile in live.frames.tiles if tile.picture), None)
        if live.run_id and picture is not None:
            image = _small(to_image(picture))
            self._pictures[live.run_id] = QPixmap.fromImage(image)
            self._unsaved[live.run_id] = image
            self.changed.emit(live.run_id)
        self._looks += 1
        if self._looks % _SAVE_EVERY == 0:
            self._save()

    def _save(self) -> None:
        unsaved, self._unsaved = self._unsaved, {}
        for run_id, image in unsaved.items():
            work = partial(_write, self._workbench.home, run_id, image)
            self._workbench.bridge.work(work, failed=_ignore)

    def _read_next(self) -> None:
        if self._is_reading or not self._wanted:
            return
        self._is_reading = True
        run_id = self._wanted.pop()
        self._workbench.bridge.work(
            partial(_read, self._workbench.home, run_id),
            partial(self._on_read, run_id),
            self._on_failed,
        )

    def _on_read(self, run_id: str, image: QImage | None) -> None:
        if image is not None and self._pictures.get(run_id) is None:
            self._pictures[run_id] = QPixmap.fromImage(image)
            self.changed.emit(run_id)
        self._on_failed()

    def _on_failed(self, _: MosaicError | None = None) -> None:
        self._is_reading = False
        self._read_next()


def _ignore(_: MosaicError) -> None:
    """A picture that cannot be kept is no loss."""


def _read(home: Home, run_id: str) -> QImage | None:
    """In a thread. Whatever cannot be read is as if it were not there."""
    directory = home.run(run_id).directory
    for path in (directory / _NAME, *_newest(directory / SNAPSHOTS_FOLDER, ".png")):
        with contextlib.suppress(OSError, ValueError):
            image = QImage.fromData(read_regular(path, _LARGEST))
            if not image.isNull():
                return _small(image)
    for path in _newest(directory / "videos", ".mp4"):
        with contextlib.suppress(MosaicError, OSError, ValueError):
            return _last_frame(path)
    return None


def _newest(folder: Path, ending: str) -> list[Path]:
    """At most one, of a folder that anybody may have filled."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for number, path in enumerate(folder.iterdir()):
            if number == _MOST_PIECES:
                break
            if path.suffix == ending and path.is_file() and not path.is_symlink():
                found.append((path.stat().st_mtime, path))
    return [max(found)[1]] if found else []


def _last_frame(path: Path) -> QImage | None:
    reader = VideoReader(path)
    try:
        frames = reader.read_from(max(0.0, reader.duration_s - 0.1), 1)
        return _small(to_image(frames[-1].picture)) if frames else None
    finally:
        reader.close()


def _small(image: QImage) -> QImage:
    """A copy: pictures of the live view share their bytes with it."""
    if image.width() <= _KEPT.width() and image.height() <= _KEPT.height():
        return image.copy()
    return image.scaled(
        _KEPT,
        Qt.AspectRatioMode.KeepAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )


def _write(home: Home, run_id: str, image: QImage) -> None:
    directory = home.run(run_id).directory
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if directory.is_dir() and image.save(buffer, "PNG"):  # type: ignore[call-overload]
        with contextlib.suppress(OSError):
            atomic_write(directory / _NAME, bytes(buffer.data().data()))
