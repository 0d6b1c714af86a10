"""Finds the W&B logs of a run and reads them, finished or still growing, without a network.

A log is in LevelDB's log format: blocks of 32 KiB that hold fragments of records.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from mosaic.analytics.growing_records import (
    MAX_RECORD_BYTES,
    ByteBudget,
    GrowingRecords,
    RecordBatch,
)
from mosaic.analytics.media import MediaView
from mosaic.analytics.series import Series
from mosaic.analytics.wandb.records import WandbDecoder, WandbRun
from mosaic.contracts.manifest import AnalyticsManifest, artifact_path
from mosaic.errors import StoreError

FILE_HEADER = b":W&B\xe1\xbe\x00"
BLOCK_BYTES = 32_768
_FRAGMENT = Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class LevelDbLog(GrowingRecords):
    """A damaged block is passed over: the next one starts with a fragment again."""

    _fragments: list[bytes] | None = None
    _fragments_bytes = 0
    # Up to here the file is passed over.
    _skip_to = 0

    def restart(self) -> None:
        super().restart()
        self._fragments = None
        self._skip_to = 0

    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        position = 0
        if self.offset == 0:
            if len(data) < len(FILE_HEADER):
                return 0
            if not data.startswith(FILE_HEADER):
                self._report(batch, 0, "not the header of a W&B log")
                return 0
            position = len(FILE_HEADER)
        while position < len(data):
            place = self.offset + position
            if place < self._skip_to:
                position += min(self._skip_to - place, len(data) - position)
                continue
            block_end = place + BLOCK_BYTES - place % BLOCK_BYTES
            if block_end - place < _FRAGMENT.size:
                self._skip_to = block_end
                continue
            if len(data) - position < _FRAGMENT.size:
                break
            crc, length, kind = _FRAGMENT.unpack_from(data, position)
            stop = position + _FRAGMENT.size + length
            if self.offset + stop > block_end or not _FULL <= kind <= _LAST:
                self._pass_over_block(batch, place, block_end)
                continue
            if stop > len(data):
                break
            # The checksum covers the kind, which lies just before the data.
            if zlib.crc32(data[position + 6 : stop]) != crc:
                self._pass_over_block(batch, place, block_end)
                continue
            self._join(kind, data[position + _FRAGMENT.size : stop], place, batch)
            position = stop
        return position

    def _pass_over_block(self, batch: RecordBatch, place: int, block_end: int) -> None:
        self._report(batch, place, "a damaged block, passed over,")
        self._skip_to = block_end
        self._fragments = None

    def _join(self, kind: int, data: bytes, place: int, batch: RecordBatch) -> None:
        if kind in (_FULL, _FIRST):
            if self._fragments is not None:
                self._report(batch, place, "the record before has no end,")
            self._fragments = [data]
            self._fragments_bytes = len(data)
        elif self._fragments is None:
            return  # The rest of a record whose start was passed over.
        else:
            self._fragments.append(data)
            self._fragments_bytes += len(data)
        if self._fragments_bytes > self.max_record_bytes:
            self._report(batch, place, "a record longer than allowed, passed over,")
            self._fragments = None
        elif kind in (_FULL, _LAST):
            batch.records.append(b"".join(self._fragments))
            self._fragments = None


_LOGS = "run-*.wandb"
_RUN_FOLDERS = ("offline-run-*", "run-*")


@dataclass
class WandbUpdate:
    """What is new in one log."""

    series: dict[str, Series] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[StoreError] = field(default_factory=list)
    # The log was replaced or cut: what was handed out before is void.
    is_restarted: bool = False


class WandbReader:
    """One run: its `.wandb` file, or the folder that holds it.

    `run` is what is known about the run so far; `read_new` hands out its history. A log that
    cannot be read raises a StoreError that names it; a damaged part of it is one of `problems`.
    """

    def __init__(
        self, log_or_folder: Path | str, *, max_record_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        self.path = _log_in(Path(log_or_folder))
        self.has_more = False
        self._log = LevelDbLog(self.path, max_record_bytes=max_record_bytes)
        self._decoder = WandbDecoder(self._files)

    @property
    def _files(self) -> Path:
        return self.path.parent / "files"

    def media(self) -> MediaView:
        return self._decoder.media.view()

    @property
    def run(self) -> WandbRun:
        return self._decoder.run

    def read_new(self, max_bytes: int | None = None) -> WandbUpdate:
        """What was added since the last call; nothing when there is no such file (any more).

        With `max_bytes`, about that much is read at most and `has_more` says whether to ask again.
        """
        news = WandbUpdate()
        budget = ByteBudget(max_bytes)
        has_more = True
        while has_more and budget.has_room():
            start = self._log.offset
            batch = self._log.next_batch()
            budget.use(self._log.offset - start)
            has_more = batch.has_more
            if batch.is_restarted:
                # A log that changes again while it is read has to wait for the next call.
                has_more = not news.is_restarted
                news = WandbUpdate(is_restarted=True)
                self._decoder = WandbDecoder(self._files)
            news.problems.extend(batch.problems)
            for record in batch.records:
                self._decoder.apply(record, news.series, news.skipped)
        self.has_more = budget.is_used_up
        return news


def find_logs(folder: Path | str) -> list[Path]:
    """The logs of the runs in a `wandb` folder, or in the folder around it, oldest first."""
    root = Path(folder)
    inner = root / "wandb"
    if inner.is_dir():
        root = inner
    logs = {log for pattern in _RUN_FOLDERS for log in root.glob(f"{pattern}/{_LOGS}")}
    # The folder's name holds the date: run-<date>_<time>-<id>.
    return sorted(logs, key=lambda log: (log.parent.name.removeprefix("offline-"), log.name))


def latest_log(folder: Path | str) -> Path | None:
    """The log that the link `latest-run` leads to, else that of the youngest run."""
    root = Path(folder)
    for link in (root / "latest-run", root / "wandb" / "latest-run"):
        if link.is_dir():
            return next(iter(sorted(link.resolve().glob(_LOGS))), None)
    return next(reversed(find_logs(root)), None)


def _log_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    logs = sorted(path.glob(_LOGS))
    if len(logs) != 1:
        raise StoreError(
            f"{path} holds {len(logs)} W&B logs ({_LOGS}), not one",
            hint="name the log itself",
            path=str(path),
        )
    return logs[0]


OFFLINE_PREFIX = "offline-run-"


def wandb_logs(directory: Path, manifest: AnalyticsManifest, *, may_leave: bool) -> list[Path]:
    """Oldest first. A run that was retried or resumed has several.

    Raises CorruptStoreError where the run names a place outside of its folder and may not.
    """
    listed = manifest.metadata.get("wandb_folders")
    named = [str(path) for path in listed] if isinstance(listed, list) else []
    fields = {path: "metadata.wandb_folders" for path in named}
    fields[manifest.wandb.relative_path] = "wandb.relative_path"
    places = fields if manifest.wandb.enabled else {}
    logs: set[Path] = set()
    for place, setting in {**places, ".": "wandb"}.items():
        folder = artifact_path(directory, place, setting, may_leave=may_leave)
        found = {*find_logs(folder), *folder.glob("run-*.wandb")}  # or of one run itself
        # A log may be a link, too.
        logs |= {artifact_path(directory, str(log), setting, may_leave=may_leave) for log in found}
    return sorted(logs, key=lambda log: (log.parent.name.removeprefix("offline-"), log.name))


def is_offline(log: Path) -> bool:
    return log.parent.name.startswith(OFFLINE_PREFIX)
