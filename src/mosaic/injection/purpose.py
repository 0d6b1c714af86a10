"""Whether an episode is for training or for evaluation: the names of those who begin it tell.

Nothing in an environment says so. But the functions that are running when it is reset have names,
and so has an environment that a script keeps for this and never trains on.
"""

from __future__ import annotations

import re
import sys
from types import CodeType, FrameType
from typing import Any

TRAINING, EVALUATION = "training", "evaluation"
# By its name alone: also what evolution strategies do to learn is called so. It is evaluation in a
# script that trains in another way too.
PERHAPS = "perhaps evaluation"
_UNKNOWN = "not looked at yet"

_EVALUATING = {"eval", "evals", "evaluate", "evaluation", "evaluations", "evaluator"}
_TRAINING = {"train", "training", "learn", "fit"}
_TESTED = {"policy", "agent", "actor", "model", "env", "episode", "episodes", "step", "run", "loop"}
# In these packages the words mean what they say.
_LIBRARIES = (
    "stable_baselines3",
    "sb3_contrib",
    "rl_zoo3",
    "tianshou",
    "cleanrl_utils",
    "d3rlpy",
    "skrl",
    "ray",
)
_ENVIRONMENT = re.compile(
    r"_*(eval|evaluation|test|val|valid|validation)_(\w+_)?v?(env|envs|environment|environments)"
)

_FRAMES = range(60)  # of the stack, from the reset outwards
_NEAREST_FRAMES = 12  # whose variables are looked at
_MOST_CODES = 10_000


def purpose_of(function: str, module: str) -> str | None:
    """What a running function says about the episodes that begin in it; None for nothing."""
    package = module.partition(".")[0]
    if package == __name__.partition(".")[0]:
        return None  # we run there as well, and only ask
    words = set(function.lower().strip("_").split("_"))
    is_evaluating = bool(words & _EVALUATING) or ("test" in words and words <= {"test", *_TESTED})
    is_training = bool(words & _TRAINING)
    if is_evaluating == is_training:
        return None
    if is_training:
        return TRAINING
    return EVALUATION if package in _LIBRARIES else PERHAPS


def is_name_for_evaluation(variable: str) -> bool:
    """`eval_env` and the like."""
    return _ENVIRONMENT.fullmatch(variable.lower()) is not None


class Purposes:
    """Of the episodes of this process. Asked when one begins, in the thread that begins it."""

    def __init__(self) -> None:
        self._has_trained = False
        self._known: dict[int, str | None] = {}  # by the id of a function's code
        self._codes: list[CodeType] = []  # which is its own as long as it is kept

    def is_evaluation(self, *, is_kept_for_it: bool = False, callers: int = 1) -> bool:
        """The innermost function that says anything decides. Takes about a microsecond, and less
        where as many `callers` as are our own need not be looked at: from Python 3.11 on a frame
        is made for each one that is."""
        known = self._known.get
        purpose: str | None = None
        try:
            frame: FrameType | None = sys._getframe(callers)
        except ValueError:
            frame = None  # nobody but us: it is called by a thread
        for _ in _FRAMES:
            if frame is None:
                break
            purpose = known(id(frame.f_code), _UNKNOWN)
            if purpose is not None:
                if purpose is _UNKNOWN:
                    purpose = self._examined(frame)
                if purpose is not None:
                    break
            frame = frame.f_back
        if purpose == EVALUATION:
            return True
        if purpose == PERHAPS or is_kept_for_it:
            return self._has_trained
        self._has_trained = True
        return False

    def _examined(self, frame: FrameType) -> str | None:
        if len(self._known) >= _MOST_CODES:  # a script that makes functions without end
            self._known.clear()
            self._codes.clear()
        code = frame.f_code
        purpose = purpose_of(code.co_name, str(frame.f_globals.get("__name__", "")))
        self._codes.append(code)
        self._known[id(code)] = purpose
        return purpose


def is_kept_for_evaluation(core: Any) -> bool:
    """Whether whoever resets this environment has it under a name that says so."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_NEAREST_FRAMES):
        if frame is None:
            return False
        code = frame.f_code
        mentioned = (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
        names = [name for name in mentioned if is_name_for_evaluation(name)]
        if names:
            variables = {**frame.f_globals, **frame.f_locals}
            owner = getattr(variables.get("self"), "__dict__", {})
            if any(_holds(scope.get(name), core) for scope in (variables, owner) for name in names):
                return True
        frame = frame.f_back
    return False


def _holds(value: Any, core: Any) -> bool:
    """An environment in its wrappers, or a collection of such."""
    envs = getattr(value, "envs", None)
    among = (value, *envs) if isinstance(envs, (list, tuple)) else (value,)
    return any(each is core or getattr(each, "unwrapped", None) is core for each in among)
