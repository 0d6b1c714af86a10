"""Whether an algorithm can handle an environment's spaces, and which ones can. Light to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cleanrl_worker.registry import (
    CONTINUOUS,
    DEFAULT_ALGO_REGISTRY,
    DISCRETE,
    IMAGE,
    VECTOR,
    Algorithm,
)
from mosaic.errors import ConfigError

if TYPE_CHECKING:
    import gymnasium

UNBOUNDED = "unbounded"


def space_kind(space: gymnasium.Space[Any]) -> str:
    """Of an action space: "discrete", "continuous", or "unbounded" for continuous without bounds;
    other spaces by their class in lower case, e.g. "multidiscrete"."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return DISCRETE
    if isinstance(space, spaces.Box):
        return CONTINUOUS if space.is_bounded("both") else UNBOUNDED
    return type(space).__name__.lower()


def observation_kind(space: gymnasium.Space[Any]) -> str:
    """Of a pre-processed observation space: "vector" or "image"; else its class in lower case."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return IMAGE if len(space.shape) == 3 else VECTOR
    return type(space).__name__.lower()


def algorithms_for(action_kind: str, kind_of_observation: str) -> list[str]:
    """The names of all algorithms that can train on such spaces."""
    return [
        algorithm.name
        for algorithm in DEFAULT_ALGO_REGISTRY.values()
        if not _obstacles(algorithm, action_kind, kind_of_observation)
    ]


def check_spaces(
    env_id: str,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    algorithm: Algorithm,
) -> None:
    """Raises ConfigError when the algorithm cannot train on these (pre-processed) spaces."""
    kinds = space_kind(action_space), observation_kind(observation_space)
    obstacles = _obstacles(algorithm, *kinds)
    if not obstacles:
        return
    able = algorithms_for(*kinds)
    raise ConfigError(
        f"'algo': {algorithm.name} cannot train on {env_id}: {' and '.join(obstacles)}",
        hint=f"these can: {', '.join(able)}" if able else "no algorithm here can yet",
        field="algo",
    )


def _obstacles(algorithm: Algorithm, action_kind: str, kind_of_observation: str) -> list[str]:
    found = []
    shape_of_actions = CONTINUOUS if action_kind == UNBOUNDED else action_kind
    if shape_of_actions not in algorithm.action_spaces:
        wanted = " or ".join(algorithm.action_spaces)
        found.append(f"its actions are {shape_of_actions} and the algorithm needs {wanted} ones")
    elif action_kind == UNBOUNDED and algorithm.needs_bounds:
        found.append("its actions have no bounds and the algorithm scales its own to them")
    if kind_of_observation not in algorithm.observation_spaces:
        wanted = " or ".join(algorithm.observation_spaces)
        found.append(f"it observes a {kind_of_observation} and the algorithm needs a {wanted}")
    return found
