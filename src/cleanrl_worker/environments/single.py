"""Makes one environment with its family's pre-processing, ready for any algorithm."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cleanrl_worker.environments.families import (
    ATARI,
    BABYAI,
    DM_CONTROL,
    MINIGRID,
    Family,
    family_of,
    version_of,
)
from cleanrl_worker.environments.family_imports import import_package
from cleanrl_worker.environments.registered import find_spec, newest_version
from mosaic.errors import ConfigError, DependencyError

if TYPE_CHECKING:
    import gymnasium

NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})
# Pictures smaller than this are grids of symbols, which would not survive resizing.
_SMALLEST_PICTURE = 36
_FIXED_ATARI_ARGUMENTS = ("obs_type", "continuous", "sound_obs")


def make_single(
    env_id: str,
    *,
    env_kwargs: Mapping[str, Any] = NO_ARGUMENTS,
    render_mode: str | None = None,
    frame_stack: int = 4,
    training: bool = True,
) -> gymnasium.Env[Any, Any]:
    """The environment as a network sees it: float32 vectors or uint8 images.

    `env_kwargs` go to the environment; `max_episode_steps` and, for Atari, `frameskip` among them
    are obeyed here. `training=False` keeps Atari's games whole and its rewards unclipped.
    The result is one wrapper with `max_episode_steps`, `reports_episodes`, `snapshot_state()` and
    `restore_state()` around the raw environment.
    """
    family = family_of(env_id)
    arguments = dict(env_kwargs)
    if render_mode is not None:
        arguments["render_mode"] = render_mode
    if family.name == ATARI:
        return _make_atari(env_id, arguments, frame_stack, training)
    spec = find_spec(env_id)
    limit = _step_limit(arguments, spec.max_episode_steps)
    if family.name == DM_CONTROL:
        _fix_random_model(env_id, arguments)
    env = _make_raw(env_id, spec, arguments)
    try:
        return _prepare(_with_plain_actions(env), family, limit, frame_stack)
    except BaseException:
        env.close()
        raise


def _make_raw(env_id: str, spec: Any, arguments: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    import gymnasium

    bare_spec = copy.copy(spec)
    bare_spec.order_enforce = False
    try:
        return gymnasium.make(
            bare_spec, max_episode_steps=-1, disable_env_checker=True, **arguments
        )
    except gymnasium.error.DependencyNotInstalled as error:
        raise DependencyError(
            f"{env_id} needs a package that is not installed: {error}",
            hint=family_of(env_id).install_command,
        ) from error
    except ImportError as error:
        newest = newest_version(env_id, gymnasium.registry)
        raise DependencyError(
            f"{env_id} cannot be made with the packages that are installed: {error}",
            hint=f"pip install {error.name}" if error.name else f"use {newest}",
        ) from error
    except (gymnasium.error.Error, TypeError, ValueError, KeyError, AssertionError) as error:
        raise ConfigError(
            f"'env_kwargs': {env_id} cannot be made with {dict(arguments)}: {error}",
            hint="these are the keyword arguments of the environment",
            field="env_kwargs",
        ) from error


def _step_limit(arguments: dict[str, Any], registered: int | None) -> int | None:
    """Takes `max_episode_steps` out of the arguments; -1 means no limit, as in gymnasium."""
    limit = arguments.pop("max_episode_steps", registered)
    if limit is None or limit == -1:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ConfigError(
            f"'env_kwargs.max_episode_steps': {limit!r} is not a number of steps",
            hint="a positive integer, or -1 for no limit",
            field="env_kwargs.max_episode_steps",
        )
    return limit


def _prepare(
    env: gymnasium.Env[Any, Any], family: Family, limit: int | None, frame_stack: int
) -> gymnasium.Env[Any, Any]:
    # numpy and gymnasium may only be imported once the family's import said what is missing.
    from operator import itemgetter

    from cleanrl_worker.wrappers.observations import Conversion, conversion_for, is_image
    from cleanrl_worker.wrappers.prepared import PreparedEnv

    space: Any = env.observation_space
    if family.name in (MINIGRID, BABYAI):
        getter: Callable[[Any], Any] = itemgetter("image")
        return PreparedEnv(env, Conversion(space["image"], getter), limit)
    if is_image(space) and space.shape[2] == 3 and min(space.shape[:2]) >= _SMALLEST_PICTURE:
        import_package("cv2", "pip install opencv-python-headless", "shrinking pictures")
        from cleanrl_worker.wrappers.frame_stack import PixelEnv

        return PixelEnv(env, frame_stack, limit)
    return PreparedEnv(env, conversion_for(space), limit)


def _with_plain_actions(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Discrete actions count from 0 and continuous ones are float32, whatever the raw ones are."""
    import numpy as np
    from gymnasium import spaces, wrappers

    space = env.action_space
    if isinstance(space, spaces.Discrete) and space.start != 0:
        first = int(space.start)
        plain = spaces.Discrete(int(space.n))
        return wrappers.TransformAction(env, lambda action: action + first, plain)
    if isinstance(space, spaces.Box) and space.dtype == np.float64:
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
        env.action_space = spaces.Box(low, high, dtype=np.float32)
    return env


def _fix_random_model(env_id: str, arguments: dict[str, Any]) -> None:
    """An LQR task draws its springs when it is made: without a seed no two processes agree."""
    if "dm_control/lqr-" in env_id:
        arguments["task_kwargs"] = {"random": 0, **arguments.get("task_kwargs", {})}


def _make_atari(
    env_id: str, arguments: dict[str, Any], frame_stack: int, training: bool
) -> gymnasium.Env[Any, Any]:
    spec = find_spec(env_id)
    from cleanrl_worker.wrappers.atari import FRAME_SKIP, AtariGame

    for name in _FIXED_ATARI_ARGUMENTS:
        if name in arguments:
            raise ConfigError(
                f"'env_kwargs.{name}': the pre-processing of Atari games does not allow it",
                hint=f"leave {name} out",
                field=f"env_kwargs.{name}",
            )
    frame_skip = arguments.pop("frameskip", FRAME_SKIP)
    if isinstance(frame_skip, bool) or not isinstance(frame_skip, int) or frame_skip < 1:
        raise ConfigError(
            f"'env_kwargs.frameskip': {frame_skip!r} is not a number of frames",
            hint="a positive integer; CleanRL's results use 4",
            field="env_kwargs.frameskip",
        )
    limit = _step_limit(arguments, None)
    if limit is not None:
        arguments["max_num_frames_per_episode"] = limit * frame_skip
    if version_of(env_id) == 5:
        # As in NoFrameskip-v4: sticky actions only for those who ask for them.
        arguments.setdefault("repeat_action_probability", 0.0)
    env = _make_raw(env_id, spec, {**arguments, "frameskip": 1})
    return AtariGame(env, frame_stack=frame_stack, frame_skip=frame_skip, training=training)
