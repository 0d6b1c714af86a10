"""Settings that reach the best policies, by environment and algorithm, each with its reason.

Measured by exact dynamic programming: `python -m learning.bdi`, curves in `docs/learning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from spade_bdi_rl_worker.learning.settings import Algorithm, LearningSettings

_ON_POLICY = ("sarsa", "expected_sarsa")


@dataclass(frozen=True)
class Recipe:
    settings: LearningSettings
    episodes: int
    reason: str
    bins: Any = None


_LAKE = Recipe(
    LearningSettings(
        learning_rate=0.2,
        final_learning_rate=0.005,
        discount=0.99,
        epsilon=1.0,
        final_epsilon=0.05,
        anneal_episodes=10_000,
    ),
    20_000,
    "Falling rates average the slips of the ice out; ε falls from 1 because no reward shows the "
    "way. With a discount of 0.99 the best policy for ever is also the best of all that look at "
    "the cell only, within the limit of 100 steps.",
)
_LARGE_LAKE = Recipe(
    LearningSettings(
        learning_rate=0.5,
        final_learning_rate=0.001,
        half_visits=200,
        discount=0.995,
        epsilon=1.0,
        final_epsilon=0.1,
        anneal_episodes=50_000,
    ),
    100_000,
    "Cells near the start are learnt from thousands of times as often as those near the goal: "
    "each pair's rate falls by its own visits. 0.995 is the discount whose best policy is worth "
    "most within 200 steps (0.8936; 0.863 at 0.99, 0.8857 at 0.999).",
)
_SURE_ICE = Recipe(
    LearningSettings(
        learning_rate=0.2,
        final_learning_rate=0.1,
        discount=0.99,
        epsilon=1.0,
        final_epsilon=0.0,
        anneal_episodes=4500,
    ),
    5000,
    "Nothing is left to chance, so rates stay high. ε ends at 0, so that SARSA too learns what "
    "the best policy is worth.",
)
_CLIFF = Recipe(
    LearningSettings(
        learning_rate=0.5,
        final_learning_rate=0.5,
        discount=1.0,
        epsilon=0.1,
        final_epsilon=0.01,
        anneal_episodes=500,
    ),
    1000,
    "Every step costs, so all that is untried looks good: little ε is enough. SARSA and expected "
    "SARSA learn the way that is safe while exploring, -15 to -17, as they should.",
)
_TAXI = Recipe(
    LearningSettings(
        learning_rate=0.5,
        final_learning_rate=0.5,
        discount=0.99,
        epsilon=1.0,
        final_epsilon=0.05,
        anneal_episodes=5000,
    ),
    10_000,
    "Nothing is left to chance but the beginning; ε from 1 visits all 400 beginnings.",
)
_BLACKJACK = Recipe(
    LearningSettings(
        learning_rate=0.05,
        final_learning_rate=0.001,
        discount=1.0,
        epsilon=1.0,
        final_epsilon=0.1,
        anneal_episodes=160_000,
    ),
    200_000,
    "Cards are chance: only small rates tell actions apart that are nearly equally good.",
)
_CART_POLE = Recipe(
    LearningSettings(
        learning_rate=0.3,
        final_learning_rate=0.02,
        discount=0.99,
        epsilon=1.0,
        final_epsilon=0.01,
        anneal_episodes=1500,
    ),
    3000,
    "The angle and how fast it changes decide, so they have more bins; with only three for the "
    "position, two seeds of three drove off the track.",
    bins=[6, 6, 12, 12],
)
_MOUNTAIN_CAR = Recipe(
    LearningSettings(
        algorithm="q_lambda",
        learning_rate=0.2,
        final_learning_rate=0.05,
        discount=1.0,
        epsilon=0.1,
        final_epsilon=0.0,
        anneal_episodes=2000,
    ),
    3000,
    "Every step costs, so all that is untried looks good; traces carry the goal back to the start.",
    bins=20,
)
_ROOM = Recipe(
    LearningSettings(
        learning_rate=0.5,
        final_learning_rate=0.5,
        discount=0.99,
        epsilon=1.0,
        final_epsilon=0.05,
        anneal_episodes=250,
    ),
    500,
    "Nothing is left to chance; small rooms are explored within some hundred episodes.",
)
_OTHER = Recipe(
    LearningSettings(),
    20_000,
    "Nothing is known of it: all is tried at first, then less and less.",
)


def recipe_for(
    env_id: str, env_kwargs: Mapping[str, Any] | None = None, algorithm: Algorithm | None = None
) -> Recipe:
    """For any environment. `algorithm`: q_learning unless the recipe has a better one."""
    recipe = _of_environment(env_id, env_kwargs or {})
    if algorithm is None or algorithm == recipe.settings.algorithm:
        return recipe
    settings = replace(recipe.settings, algorithm=algorithm)
    recipe = replace(recipe, settings=settings)
    if recipe.reason == _LARGE_LAKE.reason and algorithm == "double_q":
        slower = replace(settings, half_visits=500, anneal_episodes=180_000)
        return replace(recipe, settings=slower, episodes=200_000)  # two tables, half as often
    if recipe.reason == _LARGE_LAKE.reason and algorithm in _ON_POLICY:
        slower = replace(
            settings,
            learning_rate=0.2,
            final_learning_rate=0.005,
            half_visits=0,
            final_epsilon=0.0,  # they learn what their own policy is worth
            anneal_episodes=180_000,
        )
        return replace(recipe, settings=slower, episodes=200_000)
    if recipe.reason == _CLIFF.reason and algorithm in ("double_q", "q_lambda"):
        # Both soon know the long way's cost and stop trying: they need ε to find the short one.
        bolder = replace(
            settings,
            final_learning_rate=0.1,
            epsilon=1.0,
            final_epsilon=0.0,
            anneal_episodes=3000,
        )
        return replace(recipe, settings=bolder, episodes=4000)
    if recipe.reason == _TAXI.reason and algorithm in _ON_POLICY:
        slower = replace(
            settings, final_learning_rate=0.1, final_epsilon=0.0, anneal_episodes=18_000
        )
        return replace(recipe, settings=slower, episodes=20_000)
    return recipe


def _of_environment(env_id: str, env_kwargs: Mapping[str, Any]) -> Recipe:
    if env_id.startswith("FrozenLake"):
        if env_kwargs.get("is_slippery", True) is False:
            return _SURE_ICE
        rows = env_kwargs.get("desc") or ()
        random_map = env_kwargs.get("random_map")
        is_large = (
            "8x8" in env_id
            or env_kwargs.get("map_name") == "8x8"
            or len(rows) > 5
            or (isinstance(random_map, Mapping) and random_map.get("size", 8) != 4)
        )
        return _LARGE_LAKE if is_large else _LAKE
    for beginning, recipe in (
        ("CliffWalking", _CLIFF),
        ("Taxi", _TAXI),
        ("Blackjack", _BLACKJACK),
        ("CartPole", _CART_POLE),
        ("MountainCar", _MOUNTAIN_CAR),
        ("MiniGrid", _ROOM),
        ("BabyAI", _ROOM),
    ):
        if env_id.startswith(beginning):
            return recipe
    return _OTHER
