"""The newest batch of an evaluation, from the file its run keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from mosaic.foreign_files import read_regular
from mosaic.foreign_json import parse_json

FILE_NAME = "eval_summary.json"
_MOST_BYTES = 8 * 2**20


class EvaluationBatch(NamedTuple):
    number: int
    episodes: int
    mean: float
    lowest: float
    highest: float


class EvaluationFile:
    """Reads again only what has changed. Used by one thread at a time."""

    def __init__(self, run_directory: Path) -> None:
        self._path = run_directory / FILE_NAME
        self._seen: tuple[int, int] | None = None
        self._batch: EvaluationBatch | None = None

    def newest_batch(self) -> EvaluationBatch | None:
        """None while there is none; what cannot be read leaves what was known."""
        try:
            about = self._path.stat()
        except OSError:
            return self._batch
        mark = about.st_mtime_ns, about.st_size
        if mark != self._seen and about.st_size <= _MOST_BYTES:
            self._seen = mark
            self._batch = _read(self._path) or self._batch
        return self._batch


def _read(path: Path) -> EvaluationBatch | None:
    try:
        return newest_of(parse_json(read_regular(path, _MOST_BYTES)))
    except (OSError, ValueError):
        return None


def newest_of(content: Any) -> EvaluationBatch | None:
    """None for whatever is not the content of such a file."""
    try:
        batch = content["history"][-1]
        return EvaluationBatch(
            int(batch["batch_index"]),
            int(batch["episodes"]),
            float(batch["avg_return"]),
            float(batch["min_return"]),
            float(batch["max_return"]),
        )
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return None
