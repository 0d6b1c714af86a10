"""The items in W&B's records: a key, possibly nested, and a value that is mostly JSON text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mosaic.analytics import protobuf_wire as wire
from mosaic.foreign_json import DEEPEST, parse_shallow_json

ITEM_KEY, ITEM_NESTED_KEY, ITEM_JSON = 1, 2, 16
# Newer writers may put the value of a history item into a field of its type.
ITEM_BOOLEAN, ITEM_INTEGER, ITEM_NUMBER = 4, 5, 6


def history_item(message: bytes) -> tuple[list[str], float | None]:
    """The path of a logged value, and the value when it is a number."""
    path: list[str] = []
    number: float | None = None
    for at, _, value in wire.fields(message):
        if at in (ITEM_KEY, ITEM_NESTED_KEY):
            path.append(wire.as_text(value))
        elif at == ITEM_JSON:
            number = _number(wire.as_bytes(value))
        elif at == ITEM_INTEGER:
            number = float(wire.zigzag(wire.as_int(value) & (1 << 64) - 1))
        elif at == ITEM_NUMBER:
            number = wire.as_double(value)
        elif at == ITEM_BOOLEAN:
            number = float(wire.as_int(value) != 0)
    return path, number


def _number(text: bytes) -> float | None:
    """JSON's numbers, the not-so-finite ones that W&B writes bare, and truth values."""
    if text in (b"true", b"false"):
        return float(text == b"true")
    try:
        return float(text)
    except ValueError:
        return None


def update(target: dict[str, Any], message: bytes, skipped: Counter[str]) -> None:
    """Carry the updates and removals of a config or summary record out."""
    for number, _, value in wire.fields(message):
        if number not in (1, 2):
            continue
        path: list[str] = []
        text = b"null"
        for at, _, part in wire.fields(wire.as_bytes(value)):
            if at in (ITEM_KEY, ITEM_NESTED_KEY):
                path.append(wire.as_text(part))
            elif at == ITEM_JSON:
                text = wire.as_bytes(part)
        # W&B keeps its own notes there.
        if not path or path[0] == "_wandb":
            continue
        try:
            value = parse_shallow_json(text)
            if len(path) > DEEPEST:
                raise ValueError("too many keys in a row")
            _place(target, path, value, is_removed=number == 2)
        except ValueError:
            skipped["malformed"] += 1


def _place(target: dict[str, Any], path: list[str], value: Any, *, is_removed: bool) -> None:
    for key in path[:-1]:
        inner = target.get(key)
        if not isinstance(inner, dict):
            inner = target[key] = {}
        target = inner
    if is_removed:
        target.pop(path[-1], None)
    else:
        target[path[-1]] = value
