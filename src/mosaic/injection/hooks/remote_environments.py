"""Environments in processes of their own hear whether they are evaluated.

What tells it, the functions that are running, is where they are reset from and not where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mosaic.injection.hooks.mirroring import also
from mosaic.injection.session import Session
from mosaic.injection.watches import innermost

_HEAR = "_mosaic_hear_purpose"
_TOLD = "_mosaic_told_purpose"


def tell_purpose(vector: type, call_all: Callable[..., Any], session: Session) -> None:
    """With each reset of all, where it is not as before.

    `call_all` calls a method of each environment: of the vector, the method's name, its argument.
    """

    def resetting(envs: Any, *args: Any, **kwargs: Any) -> None:
        is_evaluation = session.watches.purposes.is_evaluation()
        if is_evaluation != vars(envs).get(_TOLD, False):
            call_all(envs, _HEAR, is_evaluation)
            setattr(envs, _TOLD, is_evaluation)

    also(vector, "reset", resetting, session.complaints, is_before=True)


def hear_purpose(environment: type, session: Session) -> None:
    def hear(self: Any, is_evaluation: bool) -> None:
        session.watches.of(innermost(self)).told_purpose = is_evaluation

    setattr(environment, _HEAR, hear)
