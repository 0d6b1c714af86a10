"""Episodes from a tape as they are stored: facts as JSON, actions and rewards as bytes."""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.process_recording import PackedEpisode
from mosaic.injection.tape import Recorded

_JSON = {True: "true", False: "false"}


def packed(recorded: Recorded, number: int, environment: int) -> PackedEpisode:
    """`environment` is its place in the table of the block.

    Raises TypeError, ValueError or OverflowError for what cannot be stored.
    """
    _, start, form, actions, rewards, terminated, truncated = recorded
    if form is None:
        was, dtype, data = _numbers(actions)
        count = len(actions)
        shown = f'"was":"{was}","dtype":"{dtype}","shape":[]'
    elif "json" in form:
        data, count = b"", len(actions)
        shown = f'"actions":{json.dumps(plain(actions))}'
    else:
        data = bytes(actions)
        size = int(form["dtype"][2:]) * math.prod(form["shape"])
        count = len(data) // size if size and len(data) % size == 0 else -1
        shown = f'"dtype":"{form["dtype"]}","shape":{form["shape"]}'
    if count != len(rewards):
        raise ValueError("its actions are of several kinds, or a step raised an error")
    # By hand, as thousands may come in a second: `json` takes five times as long.
    facts = (
        f'{{"number":{number},"environment":{environment},"start":{_start_text(start)},'
        f'"terminated":{_JSON[bool(terminated)]},"truncated":{_JSON[bool(truncated)]},{shown}}}'
    )
    return PackedEpisode(facts, data, _bytes("d", rewards))


def _start_text(start: dict[str, Any]) -> str:
    state = start.get("random_state")
    if len(start) != 1 or state is None or state["bit_generator"] != "PCG64":
        return json.dumps(plain(start))
    numbers = state["state"]
    return (
        '{"random_state":{"bit_generator":"PCG64",'
        f'"state":{{"state":{numbers["state"]},"inc":{numbers["inc"]}}},'
        f'"has_uint32":{state["has_uint32"]},"uinteger":{state["uinteger"]}}}}}'
    )


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
