"""Reads the scalars of TensorBoard event files, and later only what was added since."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from mosaic.analytics.growing_records import (
    MAX_RECORD_BYTES,
    ByteBudget,
    GrowingRecords,
    RecordBatch,
)
from mosaic.analytics.media import Media, MediaView
from mosaic.analytics.tensorboard.scalars import EventScalars, RunScalars
from mosaic.contracts.tensorboard_records import masked_crc
from mosaic.errors import StoreError

_HEAD = Struct("<QI")
_CRC = Struct("<I")
_HEAD_BYTES = _HEAD.size
_FRAME_BYTES = _HEAD_BYTES + _CRC.size
# The same few lengths come again and again; their checked heads are looked up, not computed.
_MAX_KNOWN_HEADS = 4096


class TFRecordFile(GrowingRecords):
    """Stops at a damaged record: where the one behind it starts is anybody's guess."""

    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        position = 0
        end = len(data)
        unpack_crc = _CRC.unpack_from
        append = batch.records.append
        while end - position >= _HEAD_BYTES:
            length = self._length(data[position : position + _HEAD_BYTES])
            if length is None:
                self._report(batch, self.offset + position, "the length of a record is damaged")
                return position
            stop = position + _FRAME_BYTES + length
            if stop > end:
                return self._pass_over_or_wait(position, stop, available, batch)
            record = data[position + _HEAD_BYTES : stop - 4]
            if masked_crc(record) != unpack_crc(data, stop - 4)[0]:
                self._report(batch, self.offset + position, "a damaged record")
                return position
            append(record)
            position = stop
        return position

    def _pass_over_or_wait(
        self, position: int, stop: int, available: int, batch: RecordBatch
    ) -> int:
        if stop - position <= self.max_record_bytes:
            self._wanted = max(self._chunk_bytes, stop - position)
            return position
        self._report(batch, self.offset + position, "a record longer than allowed, passed over,")
        return stop if stop <= available else position

    def _length(self, head: bytes) -> int | None:
        known = _KNOWN_HEADS.get(head)
        if known is None:
            length, crc = _HEAD.unpack(head)
            if masked_crc(head[:8]) != crc:
                return None
            known = int(length)
            if len(_KNOWN_HEADS) < _MAX_KNOWN_HEADS:
                _KNOWN_HEADS[head] = known
        return known


_KNOWN_HEADS: dict[bytes, int] = {}


# TensorBoard knows its files by this part of their name.
EVENT_FILE_MARK = "tfevents"


class ScalarReader:
    """The event files of a folder and the folders below it; each folder is a run.

    A run is named by its path from the folder read, "." being that folder itself. Files of a run
    are read in the order of their names. Nothing is raised for a file that is missing, damaged or
    unreadable: it is one of the run's `problems`, and what came before it counts.
    """

    def __init__(
        self,
        folder_or_file: Path | str,
        *,
        max_record_bytes: int = MAX_RECORD_BYTES,
        wants_media: bool = False,
    ) -> None:
        self.path = Path(folder_or_file)
        self._wants_media = wants_media
        self.has_more = False
        self._max_record_bytes = max_record_bytes
        self._runs: dict[str, _Run] = {}

    def read_new(self, max_bytes: int | None = None) -> dict[str, RunScalars]:
        """What was added since the last call, by run; runs with nothing new are left out.

        With `max_bytes`, about that much is read at most and `has_more` says whether to ask again.
        """
        for name, path in _event_files(self.path):
            run = self._runs.setdefault(name, _Run(self._wants_media))
            if path not in run.files:
                run.files[path] = TFRecordFile(path, max_record_bytes=self._max_record_bytes)
        self.has_more = False
        news = {}
        budget = ByteBudget(max_bytes)
        for name in sorted(self._runs):
            scalars = self._runs[name].read_new(budget)
            if scalars != RunScalars():
                news[name] = scalars
        self.has_more = budget.is_used_up
        return news

    def media(self) -> MediaView:
        """Histograms and pictures of all runs, if they were wanted."""
        found = MediaView()
        for name, run in self._runs.items():
            if run.media is not None:
                found |= run.media.view("" if name == "." else f"{name}/")
        return found


class _Run:
    def __init__(self, wants_media: bool = False) -> None:
        self.files: dict[Path, TFRecordFile] = {}
        self.media = Media() if wants_media else None
        self._events = EventScalars(self.media)
        self._unreadable: set[Path] = set()

    def read_new(self, budget: ByteBudget) -> RunScalars:
        scalars = RunScalars()
        if not self._read_files(scalars, budget):
            self._restart()
            scalars = RunScalars(is_restarted=True)
            # A file that changes again while it is read has to wait for the next call.
            self._read_files(scalars, budget)
        return scalars

    def _read_files(self, scalars: RunScalars, budget: ByteBudget) -> bool:
        """Whether the files are still the ones that were read before."""
        for path in sorted(self.files):
            for batch in self._batches(path, scalars, budget):
                if batch.is_restarted:
                    return False
                scalars.problems.extend(batch.problems)
                decode = self._events.decode
                for record in batch.records:
                    decode(record, scalars)
        return True

    def _batches(
        self, path: Path, scalars: RunScalars, budget: ByteBudget
    ) -> Iterator[RecordBatch]:
        file = self.files[path]
        has_more = True
        while has_more and budget.has_room():
            start = file.offset
            try:
                batch = file.next_batch()
            except StoreError as error:
                if path not in self._unreadable:
                    scalars.problems.append(error)
                self._unreadable.add(path)
                return
            self._unreadable.discard(path)
            budget.use(file.offset - start)
            has_more = batch.has_more
            yield batch

    def _restart(self) -> None:
        self.media = None if self.media is None else Media()
        self._events = EventScalars(self.media)
        for file in self.files.values():
            file.restart()


def _event_files(path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield ".", path
        return
    for file in event_files(path):
        yield file.parent.relative_to(path).as_posix(), file


def event_files(folder: Path) -> Iterator[Path]:
    """In this folder and those below it; a link to a folder is not followed."""
    for place, _, names in os.walk(folder):
        for name in names:
            if EVENT_FILE_MARK in name:
                yield Path(place, name)
