"""Makes the environment a config names, or says what is wrong with the name."""

from __future__ import annotations

import difflib
import importlib
import os
from typing import TYPE_CHECKING, Any

from baseline_worker.config import BaselineConfig
from mosaic.worker import ConfigError, DependencyError

if TYPE_CHECKING:
    import gymnasium


def import_gymnasium() -> Any:
    # pygame opens a window on import of some environments unless it is told not to.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    try:
        import gymnasium
    except ImportError as error:
        raise DependencyError(
            f"gymnasium cannot be imported: {error}", hint='pip install "mosaic-rl[baseline]"'
        ) from error
    return gymnasium


def check_environment(env_id: str) -> None:
    """Refuses an unknown environment, naming those with a similar id."""
    gymnasium = import_gymnasium()
    module, _, name = env_id.rpartition(":")
    try:
        if module:
            importlib.import_module(module)  # registers its environments, as gymnasium.make does
        gymnasium.spec(name)
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        raise _unknown(env_id, list(gymnasium.registry), str(error)) from error


def make_environment(config: BaselineConfig) -> gymnasium.Env[Any, Any]:
    gymnasium = import_gymnasium()
    check_environment(config.env_id)
    try:
        # The passive checker costs a wrapper per step and says nothing about registered ids.
        return gymnasium.make(config.env_id, disable_env_checker=True, **config.env_kwargs)  # type: ignore[no-any-return]
    except gymnasium.error.DependencyNotInstalled as error:
        raise DependencyError(
            f"{config.env_id} needs a package that is not installed: {error}",
            hint="install the extra of gymnasium that the message names",
        ) from error
    except TypeError as error:
        raise ConfigError(
            f"Invalid BaselineConfig: 'env_kwargs' do not fit {config.env_id}: {error}",
            hint="these are the keyword arguments of the environment",
            field="env_kwargs",
        ) from error


def begin_episode(env: Any, seed: int) -> Any:
    """The first observation of the episode with this seed, whatever was played before it.

    What Box2D keeps of the bodies of an old episode changes the order in which it solves contacts,
    so that BipedalWalker would depend on the past; in a new world it depends on its seed alone.
    """
    core = env.unwrapped
    if type(core).__module__.startswith("gymnasium.envs.box2d."):
        core._destroy()
        core.world = type(core.world)(gravity=core.world.gravity)
    observation, _ = env.reset(seed=seed)
    return observation


def base_name(env_id: str) -> str:
    """`CartPole` of `CartPole-v1` and of `some.module:CartPole-v1`."""
    return env_id.rpartition(":")[2].rpartition("/")[2].rpartition("-v")[0] or env_id


def _unknown(env_id: str, registered: list[str], reason: str) -> ConfigError:
    by_lower_case = {name.lower(): name for name in registered}
    close = difflib.get_close_matches(env_id.lower(), by_lower_case, n=3, cutoff=0.6)
    same_name = [name for name in registered if base_name(name).lower() == env_id.lower()]
    names = same_name[-1:] or [by_lower_case[name] for name in close]
    return ConfigError(
        f"Invalid BaselineConfig: 'env_id': {env_id!r} is not a known environment ({reason})",
        hint=f"did you mean {', '.join(names)}?" if names else "see gymnasium.pprint_registry()",
        field="env_id",
    )
