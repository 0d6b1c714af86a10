"""Calling something of ours beside a method of a library, which notices nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mosaic.injection.complaints import Complaints
from mosaic.injection.session import HookSession
from mosaic.injection.watches import innermost

MAX_STEP = 2**53  # what JSON can count exactly


def also(
    owner: Any,
    name: str,
    extra: Callable[..., None],
    complaints: Complaints,
    *,
    is_before: bool = False,
) -> None:
    """`extra` gets the same arguments, after the call unless told otherwise."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        if is_before:
            attempt(args, kwargs)
        result = original(*args, **kwargs)
        if not is_before:
            attempt(args, kwargs)
        return result

    def attempt(args: Any, kwargs: Any) -> None:
        try:
            extra(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # the library's method has done its work
            complaints.say(f"mirroring {name}", error)

    setattr(owner, name, method)


def number(value: Any) -> float | None:
    """The value of a scalar of any library; None for what is not one."""
    if isinstance(value, (bool, str, bytes)):
        return float(value) if isinstance(value, bool) else None
    item = getattr(value, "item", None)  # arrays and tensors of one element
    try:
        return float(item() if callable(item) else value)
    except (TypeError, ValueError, RuntimeError):
        return None


def whole(step: Any) -> int | None:
    """None where it counts nothing: the run knows how far it is."""
    value = None if step is None else number(step)
    return None if value is None or not 0 <= value <= MAX_STEP else int(value)


# -- Environments in processes of their own hear whether they are evaluated
#
# What tells it, the functions that are running, is where they are reset from and not where they
# are.

_HEAR = "_mosaic_hear_purpose"
_TOLD = "_mosaic_told_purpose"


def tell_purpose(vector: type, call_all: Callable[..., Any], session: HookSession) -> None:
    """With each reset of all, where it is not as before.

    `call_all` calls a method of each environment: of the vector, the method's name, its argument.
    """

    def resetting(envs: Any, *args: Any, **kwargs: Any) -> None:
        is_evaluation = session.watches.purposes.is_evaluation()
        if is_evaluation != vars(envs).get(_TOLD, False):
            call_all(envs, _HEAR, is_evaluation)
            setattr(envs, _TOLD, is_evaluation)

    also(vector, "reset", resetting, session.complaints, is_before=True)


def hear_purpose(environment: type, session: HookSession) -> None:
    def hear(self: Any, is_evaluation: bool) -> None:
        session.watches.of(innermost(self)).told_purpose = is_evaluation

    setattr(environment, _HEAR, hear)
