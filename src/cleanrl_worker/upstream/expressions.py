"""What can be known of expressions in a script's source without executing them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.upstream.parameters import UNKNOWN

_NUMBERS = {"int": int, "float": float}


def constant(node: ast.expr | None) -> Any:
    """The value of a literal, also within `int(...)` and `float(...)`; else UNKNOWN."""
    match node:
        case None:
            return UNKNOWN
        case ast.Call(func=ast.Name(id=("int" | "float") as kind), args=[argument], keywords=[]):
            value = constant(argument)
            if isinstance(value, int | float | str):
                try:
                    return _NUMBERS[kind](value)
                except (ValueError, OverflowError):
                    return UNKNOWN
            return UNKNOWN
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN
    return value if _is_plain(value) else UNKNOWN


def keywords_of(call: ast.Call) -> Mapping[str, ast.expr]:
    return {item.arg: item.value for item in call.keywords if item.arg is not None}


def called_name(call: ast.Call) -> str:
    """`cli` of `tyro.cli(Args)`."""
    return last_name(call.func)


def last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
