"""Gymnasium 1.x as scripts for earlier versions expect it: resets within the step, `final_info`.

Since 1.0 a vector of environments resets a finished one in the step after, and scripts that log
`infos["final_info"]` log nothing, without any error. Only what such a script leaves open changes:
one that names an autoreset mode gets it, with the information that belongs to it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from mosaic.injection.session import HookSession

# What 1.0 renamed.
_RENAMED = {"FrameStack": "FrameStackObservation", "GrayScaleObservation": "GrayscaleObservation"}
_GONE = ("observation_space", "action_space")  # arguments of the vectors


def restore_old_behaviour(gymnasium: ModuleType, session: HookSession) -> None:
    vector: Any = sys.modules["gymnasium.vector"]
    wrappers: Any = sys.modules["gymnasium.wrappers"]
    if int(gymnasium.__version__.split(".")[0]) < 1:
        return  # it is what the script was written for
    modes = getattr(vector, "AutoresetMode", None)
    if modes is None:
        session.note("the script was written for Gymnasium < 1.0, and 1.0 cannot reset as it does")
        return
    vector.VectorEnv._add_info = _adding(vector.VectorEnv._add_info)
    for kind in (vector.SyncVectorEnv, vector.AsyncVectorEnv):
        kind.__init__ = _resetting_in_the_step(kind.__init__, modes.SAME_STEP)
    transform = wrappers.TransformObservation
    transform.__init__ = _with_optional_space(transform.__init__)
    for old, new in _RENAMED.items():
        if not hasattr(wrappers, old) and hasattr(wrappers, new):
            setattr(wrappers, old, getattr(wrappers, new))


def _resetting_in_the_step(original: Callable[..., None], mode: Any) -> Callable[..., None]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, env_fns: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        for name in _GONE:
            kwargs.pop(name, None)
        given = signature.bind_partial(self, env_fns, *args, **kwargs).arguments
        if "autoreset_mode" not in given:
            kwargs["autoreset_mode"] = mode
            self._mosaic_old_infos = True
        original(self, env_fns, *args, **kwargs)

    return __init__


def _with_optional_space(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(  # noqa: N807
        self: Any, env: Any, f: Any = None, observation_space: Any = None, **kwargs: Any
    ) -> None:
        original(self, env, kwargs.get("func", f), observation_space)

    return __init__


def _adding(original: Callable[..., Any]) -> Callable[..., Any]:
    """Puts the last information of an episode where it was: whole, in an array of dictionaries."""

    @functools.wraps(original)
    def _add_info(self: Any, vector_infos: Any, env_info: Any, env_num: int) -> Any:
        if "final_info" in env_info and getattr(self, "_mosaic_old_infos", False):
            rest = dict(env_info)
            last, observation = rest.pop("final_info"), rest.pop("final_obs", None)
            _place(vector_infos, "final_info", as_before(last), env_num, self.num_envs)
            # Under both names: wrappers of this version look for the new one.
            for name in ("final_observation", "final_obs"):
                _place(vector_infos, name, observation, env_num, self.num_envs)
            env_info = rest
        return original(self, vector_infos, env_info, env_num)

    return _add_info


def _place(infos: Any, name: str, value: Any, index: int, count: int) -> None:
    numpy: Any = sys.modules["numpy"]
    if name not in infos:
        infos[name] = numpy.full(count, None, dtype=object)
        infos[f"_{name}"] = numpy.zeros(count, dtype=bool)
    infos[name][index] = value
    infos[f"_{name}"][index] = True


def as_before(info: dict[str, Any]) -> dict[str, Any]:
    """An episode's return and length were arrays of one element: scripts use them whole or [0]."""
    episode = info.get("episode")
    if not isinstance(episode, dict):
        return info
    changed = {name: _KINDS[name](value) for name, value in episode.items() if name in _KINDS}
    return {**info, "episode": {**episode, **changed}}


class RealOfOne(float):
    """A number that also does as an array of one, which newer numpy does not take for a number."""

    def __getitem__(self, index: int) -> float:
        return (float(self),)[index]

    def __len__(self) -> int:
        return 1

    def item(self) -> float:
        return float(self)


class IntegerOfOne(int):
    def __getitem__(self, index: int) -> int:
        return (int(self),)[index]

    def __len__(self) -> int:
        return 1

    def item(self) -> int:
        return int(self)


_KINDS: dict[str, type] = {"r": RealOfOne, "l": IntegerOfOne, "t": RealOfOne}
