"""Makes one environment: finds its registration, and adds the pre-processing of its family."""

from __future__ import annotations

import copy
import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cleanrl_worker.environments.catalogue import environments
from cleanrl_worker.environments.families import (
    ATARI,
    BABYAI,
    DM_CONTROL,
    MINIGRID,
    Family,
    base_name,
    family_of,
    version_of,
    without_module,
)
from cleanrl_worker.environments.family_imports import import_family, import_package
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

    from cleanrl_worker.wrappers.prepared import Conversion, PreparedEnv, conversion_for, is_image

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


def find_spec(env_id: str) -> Any:
    """The EnvSpec of `env_id`; a `module:` before the id is imported first, to register it.

    Looked up in the registry itself: gymnasium's own finder warns of ids that are old but good.
    """
    gymnasium = import_family(family_of(env_id), env_id)
    module = env_id.rpartition(":")[0]
    if module:
        _import_module(module, env_id)
    registry = gymnasium.registry
    name = without_module(env_id)
    spec = registry.get(name)
    if spec is None:
        raise _unknown(env_id, registry)
    if getattr(spec.entry_point, "__name__", "") == "_raise_mujoco_py_error":
        raise _replaced(env_id, registry)
    return spec


def _import_module(module: str, env_id: str) -> None:
    try:
        importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"'env_id': {env_id!r}: the module {module!r} cannot be imported: {error}",
            hint="a name before the colon is a Python module that registers the environment",
            field="env_id",
        ) from error


def _unknown(env_id: str, registered: Iterable[str]) -> ConfigError:
    names = list(registered)
    if any(base_name(name) == base_name(env_id) != env_id for name in names):
        return _replaced(env_id, names)
    known = dict.fromkeys([*names, *(info.id for info in environments())])
    nearest = nearest_names(without_module(env_id), known)
    hint = f"did you mean {' or '.join(nearest)}?" if nearest else "see `mosaic envs`"
    return ConfigError(
        f"'env_id': {env_id[:80]!r} is not a known environment", hint=hint, field="env_id"
    )


def newest_version(env_id: str, registered: Iterable[str]) -> str:
    """The id with the same name and the highest version; there must be one."""
    name = base_name(env_id)
    return max((item for item in registered if base_name(item) == name), key=_version)


def _replaced(env_id: str, registered: Iterable[str]) -> ConfigError:
    """For an id whose name exists in other versions only."""
    newest = newest_version(env_id, registered)
    change = (
        "was replaced by" if _version(newest) > _version(env_id) else "does not exist; there is"
    )
    return ConfigError(
        f"'env_id': {env_id!r} {change} {newest!r}", hint=f"use {newest}", field="env_id"
    )


def nearest_names(wanted: str, known: Iterable[str]) -> list[str]:
    """At most three known ids that are spelt alike or that `wanted` names without a version."""
    names = list(known)
    same = [name for name in names if _bare(name) == wanted.lower().rpartition("/")[2]]
    if same:
        return sorted(same, key=_version)[-1:]
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), by_lower_case, n=3, cutoff=0.6)
    return [by_lower_case[name] for name in close]


def _bare(env_id: str) -> str:
    return base_name(env_id).rpartition("/")[2].lower()


def _version(env_id: str) -> int:
    version = version_of(env_id)
    return -1 if version is None else version
