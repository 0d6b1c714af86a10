"""A value as a config gives it, turned into the type of the parameter it is for.

Configs come from forms, files and scripts of many kinds, so what can mean only one thing is taken:
1e6 and "5" for a whole number, "3e-4" for a number, the JSON text of an object.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

_EXACT_BELOW = 2**53  # a float of this size or more may stand for one of several whole numbers
_NONE = "None"  # what CleanRL's flags call nothing


def typed(value: Any, hint: Any) -> Any:
    """The value as an instance of `hint`, a type that fields of configs can have.

    Raises ValueError for what it cannot mean. Bounds are none of its business.
    """
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return _one_of(value, parts)
    if hint is bool or isinstance(value, bool):
        return _expect(value, hint is bool and isinstance(value, bool))
    if kind is Literal:
        return _expect(value, any(value == choice for choice in parts))
    if hint is dict or kind in (dict, Mapping):
        return _object(value)
    if hint is str:
        return text_of(_expect(value, isinstance(value, str | int | float | Mapping)))
    if hint is int:
        whole = _whole(value)
        return int(_expect(whole, isinstance(whole, int | str)))
    if hint is float:
        return _number(_expect(_whole(value), isinstance(value, int | float | str)))
    return value


def text_of(value: Any) -> str:
    """How a value is written in one word."""
    return json.dumps(value) if isinstance(value, Mapping) else str(_whole(value))


def _one_of(value: Any, hints: tuple[Any, ...]) -> Any:
    if types.NoneType in hints and value in (None, _NONE):
        return None
    for hint in hints:
        if hint is not types.NoneType:
            try:
                return typed(value, hint)
            except ValueError:
                continue
    raise ValueError


def _object(value: Any) -> Any:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except RecursionError:
        raise ValueError from None
    return _expect(found, isinstance(found, Mapping))


def _number(value: int | float | str) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number larger than any float
        raise ValueError from None


def _whole(value: Any) -> Any:
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_BELOW
    return int(value) if is_whole else value


def _expect(value: Any, is_right: bool) -> Any:
    if not is_right:
        raise ValueError
    return value
