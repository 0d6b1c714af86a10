"""`eval_summary.json`: what a worker writes about the batches of an evaluation, and how it is read.

The file is `{"latest": batch, "history": [batch, …]}`; a batch may hold more than is read here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from mosaic.foreign.files import parse_json, read_regular

FILE_NAME = "eval_summary.json"
MAX_BYTES = 8 * 2**20


class EvaluationBatch(NamedTuple):
    number: int
    episodes: int
    mean: float
    lowest: float
    highest: float
    deviation: float = 0.0
    seconds: float = 0.0


def read_batches(path: Path) -> list[EvaluationBatch]:
    """From the first to the newest. Raises OSError or ValueError for what is no such file."""
    content = parse_json(read_regular(path, MAX_BYTES))
    try:
        return [batch_of(item) for item in content["history"]]
    except (KeyError, TypeError) as error:
        raise ValueError("it has no list 'history'") from error


def batch_of(item: Any) -> EvaluationBatch:
    try:
        return EvaluationBatch(
            int(item["batch_index"]),
            int(item["episodes"]),
            float(item["avg_return"]),
            float(item["min_return"]),
            float(item["max_return"]),
            float(item.get("std_return", 0.0)),
            float(item.get("duration_sec", 0.0)),
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"a batch cannot be read: {error}") from error
