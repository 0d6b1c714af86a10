"""Whether an episode is for training or for evaluation: the names of those who begin it tell.

Nothing in an environment says so. But the functions that are running when it is reset have names,
and so has an environment that a script keeps for this and never trains on.
"""

from __future__ import annotations

import functools
import re
import sys
from types import FrameType
from typing import Any

TRAINING, EVALUATION = "training", "evaluation"
# By its name alone: also what evolution strategies do to learn is called so. It is evaluation in a
# script that trains in another way too.
PERHAPS = "perhaps evaluation"

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

FRAMES = range(60)  # of the stack, from the reset outwards
_NEAREST_FRAMES = 12  # whose variables are looked at
_MOST_NAMES = 10_000
_OUR_PACKAGE = __name__.partition(".")[0]


def purpose_of(function: str, module: str) -> str | None:
    """What a running function says about the episodes that begin in it; None for nothing."""
    purpose = _meaning(function)
    package = module.partition(".")[0]
    if package == _OUR_PACKAGE:
        return None  # we run there as well, and only ask
    return EVALUATION if purpose is PERHAPS and package in _LIBRARIES else purpose


@functools.lru_cache(maxsize=_MOST_NAMES)
def _meaning(name: str) -> str | None:
    """Of a function's name alone."""
    words = set(name.lower().strip("_").split("_"))
    is_evaluating = bool(words & _EVALUATING) or ("test" in words and words <= {"test", *_TESTED})
    is_training = bool(words & _TRAINING)
    if is_evaluating == is_training:
        return None
    return TRAINING if is_training else PERHAPS


def is_name_for_evaluation(variable: str) -> bool:
    """`eval_env` and the like."""
    return _ENVIRONMENT.fullmatch(variable.lower()) is not None


class Purposes:
    """Of the episodes of this process. Asked when one begins, in the thread that begins it."""

    def __init__(self) -> None:
        self.has_trained = False
        # Names of functions that say nothing in any module: nearly all of them.
        self.silent: set[str] = set()

    def is_evaluation(self, is_kept_for_it: bool = False, callers: int = 1) -> bool:
        """The innermost function that says anything decides. Takes a tenth of a microsecond for
        each one that is looked at; as many `callers` as are our own need not be: from Python 3.11
        on a frame is made for each one that is."""
        silent = self.silent
        try:
            frame: FrameType | None = sys._getframe(callers)
        except ValueError:
            frame = None  # nobody but us: it is called by a thread
        purpose: str | None = None
        for _ in FRAMES:
            if frame is None:
                break
            if frame.f_code.co_name not in silent:
                purpose = self._examined(frame)
                if purpose is not None:
                    break
            frame = frame.f_back
        if purpose == EVALUATION:
            return True
        if purpose == PERHAPS or is_kept_for_it:
            return self.has_trained
        self.has_trained = True
        return False

    def _examined(self, frame: FrameType) -> str | None:
        name = frame.f_code.co_name
        if _meaning(name) is None:
            if len(self.silent) >= _MOST_NAMES:  # a script that makes functions without end
                self.silent.clear()
            self.silent.add(name)
            return None
        return purpose_of(name, str(frame.f_globals.get("__name__", "")))


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
