"""The policies: random, no action at all, and one scripted by hand per known environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from baseline_worker import heuristics
from baseline_worker.environment import base_name
from mosaic.worker import ConfigError

# Where action 0 does something, this is the one that does nothing.
_IDLE_ACTIONS = {"MountainCar": 1, "Acrobot": 1}


class Policy(Protocol):
    def begin_episode(self, seed: int) -> None: ...
    def act(self, observation: Any) -> Any: ...


class RandomPolicy:
    """Samples the action space, seeded per episode so that each episode can be repeated."""

    def __init__(self, env: Any) -> None:
        self._space = env.action_space
        self.begin_episode = self._space.seed

    def act(self, observation: Any) -> Any:
        return self._space.sample()


class FixedRule:
    """The same function of the observation in every episode."""

    def __init__(self, act: Callable[[Any], Any]) -> None:
        self.act = act

    def begin_episode(self, seed: int) -> None:
        """Nothing to forget between episodes."""


def make_policy(name: str, env: Any, env_id: str) -> Policy:
    if name == "random":
        return RandomPolicy(env)
    if name == "noop":
        idle = idle_action(env.action_space, env_id)
        return FixedRule(lambda observation: idle)
    check_policy(name, env_id)
    return FixedRule(heuristics.HEURISTICS[base_name(env_id)](env))


def check_policy(name: str, env_id: str) -> None:
    if name == "heuristic" and base_name(env_id) not in heuristics.HEURISTICS:
        known = ", ".join(sorted(heuristics.HEURISTICS))
        raise ConfigError(
            f"Invalid BaselineConfig: 'policy': there is no heuristic for {env_id}",
            hint=f"there is one for {known}; 'random' and 'noop' work everywhere",
            field="policy",
        )


def idle_action(space: Any, env_id: str) -> Any:
    """The action closest to doing nothing, whatever the kind of action space."""
    import numpy

    kind = type(space).__name__
    if kind == "Discrete":
        return _IDLE_ACTIONS.get(base_name(env_id), int(space.start))
    if kind == "Box":
        return numpy.clip(numpy.zeros(space.shape, space.dtype), space.low, space.high)
    if kind in ("MultiDiscrete", "MultiBinary"):
        return numpy.zeros(space.shape, space.dtype)
    if kind == "Dict":
        return {key: idle_action(part, "") for key, part in space.spaces.items()}
    if kind == "Tuple":
        return tuple(idle_action(part, "") for part in space.spaces)
    raise ConfigError(
        f"Invalid BaselineConfig: 'policy': there is no idle action in a {kind} space",
        hint="use policy=random",
        field="policy",
    )
