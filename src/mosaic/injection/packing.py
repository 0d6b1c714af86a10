"""Episodes from a tape as they are stored: facts as JSON, actions and rewards as bytes."""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.process_recording import Packed, pcg64_state, rows_of
from mosaic.injection.random_state import packed_state
from mosaic.injection.series import Finished
from mosaic.injection.tape import UNEVEN, Recorded

_JSON = {True: "true", False: "false"}
Numbered = tuple[int, Recorded]


def packed_series(episodes: Finished, environment: int) -> Packed:
    """`environment` is its place in the table of the block.

    Raises TypeError, ValueError or OverflowError where one of them cannot be stored.
    """
    was, dtype, data = _numbers(episodes.actions)
    series = json.dumps(
        {"numbers": rows_of(episodes.numbers), "lengths": episodes.lengths, "ends": episodes.ends}
    )
    facts = f'{{"environment":{environment},"series":{series},{_form_text(was, dtype)}}}'
    return Packed(
        facts, (b"".join(map(packed_state, episodes.starts)), data, _rewards(episodes.rewards))
    )


def _rewards(rewards: list[Any]) -> bytes:
    """One of them, where all are equal: as in many environments, and told apart in no time."""
    first = rewards[0]
    # A zero may have another sign than the others.
    if type(first) is float and first == rewards[-1] != 0 and rewards.count(first) == len(rewards):
        return _bytes("d", rewards[:1])
    return _bytes("d", rewards)


def packed(recorded: Recorded, number: int, environment: int) -> Packed:
    """One episode; arguments and errors are those of `packed_series`."""
    _, start, form, actions, rewards, terminated, truncated = recorded
    if form is None:
        was, dtype, data = _numbers(actions)
        count = len(actions)
        shown = _form_text(was, dtype)
    elif "json" in form:
        data, count = b"", len(actions)
        shown = f'"actions":{json.dumps(plain(actions))}'
    else:
        data = bytes(actions)
        size = int(form["dtype"][2:]) * math.prod(form["shape"])
        count = len(data) // size if size and len(data) % size == 0 else -1
        shown = f'"dtype":"{form["dtype"]}","shape":{form["shape"]}'
    if count != len(rewards):
        raise ValueError(UNEVEN)
    beginning = start
    if isinstance(start, bytes):
        beginning = {"random_state": pcg64_state(packed_state(start))}
    start_text = json.dumps(plain(beginning))
    facts = (
        f'{{"number":{number},"environment":{environment},"start":{start_text},'
        f'"terminated":{_JSON[bool(terminated)]},"truncated":{_JSON[bool(truncated)]},{shown}}}'
    )
    return Packed(facts, (data, _bytes("d", rewards)))


def plain(value: Any) -> Any:
    """What JSON can say, of dictionaries, lists, arrays and numbers. Raises TypeError."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} is not JSON")


def _form_text(was: str, dtype: str) -> str:
    return f'"was":"{was}","dtype":"{dtype}","shape":[]'


def _numbers(actions: list[Any]) -> tuple[str, str, bytes]:
    """What they were for the script, the type in which they are kept, and their bytes."""
    first = actions[0]
    dtype = getattr(first, "dtype", None)
    was: str = type(first).__name__ if dtype is None else dtype.str
    if isinstance(first, float) or "f" in was[:2]:
        return was, "<f8", _bytes("d", actions)
    try:
        return was, "|u1", bytes(actions)
    except ValueError:  # beyond a byte
        return was, "<i8", _bytes("q", actions)


def _bytes(code: str, numbers: list[Any]) -> bytes:
    values = array(code, numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
