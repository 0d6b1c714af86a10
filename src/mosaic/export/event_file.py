"""EventFile: scalars in a file that TensorBoard reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from mosaic.contracts.tensorboard_records import Sample, ScalarRecords, file_start

# TensorBoard takes every file with "tfevents" in its name.
NAME = "events.out.tfevents.{seconds:010d}.{run_id}"


class EventFile:
    """One new file in a folder; what is added is packed and written at once."""

    def __init__(self, folder: Path, run_id: str, started_at: float) -> None:
        self.path = folder / NAME.format(seconds=max(0, int(started_at)), run_id=run_id)
        self._file: BinaryIO = self.path.open("xb")
        self._file.write(file_start())
        self._records = ScalarRecords()

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        # What is still buffered may not fit either; the first error says it already.
        with contextlib.suppress(*([OSError] if failure else [])):
            self._file.close()

    def add(self, samples: Iterable[Sample]) -> None:
        self._file.write(self._records.pack(samples))
