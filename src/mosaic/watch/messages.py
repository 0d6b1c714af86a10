"""What a script's hooks say over the bridge: one JSON object a line, believed only as far as valid.

Anything may write there: every field is checked, and a line that is no message is None.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from mosaic.contracts.events import number_from_json

MAX_LINE_BYTES = 65_536
MAX_NAME = 256
MAX_TEXT = 2_000
MAX_PATH = 4_096
MAX_COUNT = 2**53  # what a float, and so JSON, can count exactly


class Metric(NamedTuple):
    name: str
    value: float
    step: int | None = None


class Episode(NamedTuple):
    total_reward: float
    length: int = 0
    env: int = 0
    is_truncated: bool = False
    is_evaluation: bool = False
    # Where it was recorded: a process of the script, and its number there. Process 0: nowhere.
    process: int = 0
    number: int = 0


class Episodes(NamedTuple):
    """Several in one message, where they end too fast to tell each."""

    how_many: int
    mean_return: float
    mean_length: float
    last_return: float
    process: int = 0
    number: int = 0  # of the first


class Progress(NamedTuple):
    """Environment steps so far of one process."""

    steps: int
    pid: int = 0


class Note(NamedTuple):
    text: str


class Folder(NamedTuple):
    kind: str  # "tensorboard" or "wandb"
    path: str


class Environment(NamedTuple):
    """Of which the script uses one or more."""

    env_id: str


class Vectors(NamedTuple):
    """Vectors of environments that a script for Gymnasium before 1.0 would misread."""

    gymnasium: str  # the version
    # The functions that made them look for `final_info`, which these vectors do not have.
    is_looked_for: bool = False


Message = Metric | Episode | Episodes | Progress | Note | Folder | Environment | Vectors


def parse_message(line: bytes) -> Message | None:
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        data = json.loads(line)
        make = _KINDS[data["kind"]]
        return make(data)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _metric(data: dict[str, Any]) -> Metric:
    step = data.get("step")
    return Metric(
        _text(data["name"], MAX_NAME),
        _number(data["value"]),
        None if step is None else _count(step),
    )


def _episode(data: dict[str, Any]) -> Episode:
    return Episode(
        _number(data["return"]),
        _count(data.get("length", 0)),
        _count(data.get("env", 0)),
        bool(data.get("truncated", False)),
        bool(data.get("evaluation", False)),
        *_recorded(data),
    )


def _episodes(data: dict[str, Any]) -> Episodes:
    mean = _number(data["mean_return"])
    count = _count(data["count"])
    if count == 0:
        raise ValueError("no episodes")
    return Episodes(
        count,
        mean,
        _number(data.get("mean_length", 0)),
        _number(data.get("last_return", mean)),
        *_recorded(data),
    )


def _recorded(data: dict[str, Any]) -> tuple[int, int]:
    return _count(data.get("process", 0)), _count(data.get("number", 0))


def _progress(data: dict[str, Any]) -> Progress:
    return Progress(_count(data["steps"]), _count(data.get("pid", 0)))


def _note(data: dict[str, Any]) -> Note:
    return Note(_text(data["text"], MAX_LINE_BYTES)[:MAX_TEXT])


def _folder(data: dict[str, Any]) -> Folder:
    return Folder(data["kind"], _text(data["path"], MAX_PATH))


def _environment(data: dict[str, Any]) -> Environment:
    return Environment(_text(data["env_id"], MAX_NAME))


def _vectors(data: dict[str, Any]) -> Vectors:
    return Vectors(_text(data["gymnasium"], MAX_NAME), bool(data.get("is_looked_for", False)))


_KINDS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "metric": _metric,
    "episode": _episode,
    "episodes": _episodes,
    "progress": _progress,
    "note": _note,
    "tensorboard": _folder,
    "wandb": _folder,
    "environment": _environment,
    "vectors": _vectors,
}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("not a number")
    return number_from_json(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a count")
    count = int(value)
    if not 0 <= count <= MAX_COUNT:
        raise ValueError("out of range")
    return count


def plain_name(text: str) -> str | None:
    """The name of a metric; None when it can be none."""
    try:
        return _text(text, MAX_NAME)
    except ValueError:
        return None


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    text = value.strip()
    if not text or len(text) > longest or "\0" in text:
        raise ValueError("empty, too long, or with a NUL")
    return text
