"""The last word of a program that leaves without `atexit`."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from typing import Any

_WAYS_OUT = ("_exit", "execv", "execve")  # the other kinds of exec end in these two


def before_leaving(call: Callable[[], None]) -> None:
    for name in _WAYS_OUT:
        setattr(os, name, _after(call, getattr(os, name)))


def _after(call: Callable[[], None], leave: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(leave)
    def leaving(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):
            call()
        return leave(*args, **kwargs)

    return leaving
