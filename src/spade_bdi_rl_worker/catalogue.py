"""The worker's algorithms and their parameters, as data. Imports nothing heavy."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo

WORKER = "bdi"
MAX_TIMESTEPS = 10**12
MAX_EPISODES = 10**12
DEFAULT_ENV_ID = "FrozenLake-v1"
DEFAULT_TIMESTEPS = 200_000
_SUMMARIES = {
    "q_learning": "BDI agents, tabular Q-learning",
    "sarsa": "BDI agents, tabular SARSA",
    "expected_sarsa": "BDI agents, tabular expected SARSA",
    "double_q": "BDI agents, tabular double Q-learning",
    "q_lambda": "BDI agents, tabular Q(λ) with traces",
}
_MEMORY_MB = 512


def algorithm_catalogue() -> list[AlgorithmInfo]:
    """Entry point in the group `mosaic.algorithms`."""
    return [
        AlgorithmInfo(
            name=name,
            worker=WORKER,
            summary=summary,
            action_spaces=("discrete",),
            # What becomes states: as they are, in bins, or by all that is in a grid.
            observation_spaces=("discrete", "vector", "image"),
            default_env_id=DEFAULT_ENV_ID,
            cpus=1,
            memory_mb=_MEMORY_MB,
            parameters=dict(parameters_of(name)),
        )
        for name, summary in _SUMMARIES.items()
    ]


ALGORITHM_NAMES = tuple(_SUMMARIES)


@functools.cache
def parameters_of(algo: str | None) -> Mapping[str, dict[str, Any]]:
    """The parameters of one algorithm; of all of them while it is not known which one it is."""
    if algo is not None and algo not in _SUMMARIES:
        return {}
    found = {**_RUN, **LEARNING, **_ENVIRONMENT}
    if algo not in (None, "q_lambda"):
        del found["trace_decay"]
    return found


def _number(default: float, about: str, low: float, high: float, title: str) -> dict[str, Any]:
    return {
        "type": "number",
        "default": default,
        "description": about,
        "minimum": low,
        "maximum": high,
        "title": title,
    }


_RUN: dict[str, dict[str, Any]] = {
    "seed": {
        "type": "integer",
        "description": "seed of the choices and of the environment",
        "minimum": 0,
        "x-section": "",
        "default": 1,
    },
    "env_id": {
        "type": "string",
        "description": "environment with discrete actions; see `mosaic envs`",
        "x-editor": "env_id",
        "x-section": "",
        "default": DEFAULT_ENV_ID,
    },
    "total_timesteps": {
        "type": "integer",
        "description": "environment steps of the whole run",
        "minimum": 1,
        "maximum": MAX_TIMESTEPS,
        "x-section": "",
        "default": DEFAULT_TIMESTEPS,
    },
}
# These are the fields of `learning.settings.LearningSettings`, which a test compares.
LEARNING: dict[str, dict[str, Any]] = {
    "learning_rate": _number(
        0.1, "how far a value moves with each step, at first", 1e-6, 1.0, "Learning rate"
    ),
    "final_learning_rate": _number(
        0.01, "the learning rate at the end of the schedule", 1e-6, 1.0, "Final learning rate"
    ),
    "half_visits": _number(
        0.0,
        "after so many updates a pair of state and action learns at half the rate; 0: never",
        0.0,
        1e12,
        "Visits to half the rate",
    ),
    "discount": _number(0.99, "what a later reward counts for", 0.0, 1.0, "Discount"),
    "subgoal_discount": _number(
        0.95, "the same on the way to a subgoal", 0.0, 1.0, "Discount of subgoals"
    ),
    "epsilon": _number(1.0, "share of random actions, at first", 0.0, 1.0, "Exploration"),
    "final_epsilon": _number(
        0.05, "the exploration at the end of the schedule", 0.0, 1.0, "Final exploration"
    ),
    "anneal_episodes": {
        "type": "integer",
        "default": 10_000,
        "description": "episodes until learning rate and exploration are at their final values",
        "minimum": 0,
        "maximum": MAX_EPISODES,
        "title": "Episodes of the schedule",
    },
    "trace_decay": _number(
        0.8, "λ: how much of an error earlier steps of the episode get", 0.0, 1.0, "Trace decay"
    ),
    "initial_value": _number(
        0.0, "what a state is worth before it was seen", -1e12, 1e12, "Initial value"
    ),
}
_ENVIRONMENT: dict[str, dict[str, Any]] = {
    "env_kwargs": {
        "type": "object",
        "description": "arguments of the environment (JSON), such as "
        '{"is_slippery": false}, a time limit {"max_episode_steps": 200}, or for FrozenLake '
        '{"random_map": {"size": 8, "frozen": 0.8, "seed": 1}}',
        "title": "Environment arguments",
        "default": {},
    },
    "bins": {
        "type": ["array", "object", "integer", "null"],
        "description": "how observations that are numbers become states: how many bins for each "
        "(JSON); default: suited to the environment",
        "title": "Bins",
        "default": None,
    },
}
# Of the run itself, with fields of their own in the config.
TOP_LEVEL = tuple(_RUN)
