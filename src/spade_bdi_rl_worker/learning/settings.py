"""How a table learns: the settings, and which values they may have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from spade_bdi_rl_worker.learning.errors import SettingsError

Algorithm = Literal["q_learning", "sarsa", "expected_sarsa", "double_q", "q_lambda"]
ALGORITHMS: tuple[str, ...] = get_args(Algorithm)
MOST_EPISODES = 10**12
_LARGEST_VALUE = 1e12


@dataclass(frozen=True)
class LearningSettings:
    """ε and the learning rate go linearly from their first to their final value over
    `anneal_episodes`, and stay there. A table of a subgoal counts its own episodes.
    """

    algorithm: Algorithm = "q_learning"
    learning_rate: float = 0.1
    final_learning_rate: float = 0.01
    # A pair that was updated so often learns at half the rate; 0: all at the same.
    half_visits: float = 0.0
    discount: float = 0.99
    # Of the tables of subgoals, whose only reward is 1 for arriving: the shortest way is best.
    subgoal_discount: float = 0.95
    epsilon: float = 1.0
    final_epsilon: float = 0.05
    anneal_episodes: int = 10_000
    trace_decay: float = 0.8  # λ of Q(λ)
    initial_value: float = 0.0

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise SettingsError(
                f"'algorithm': there is no {self.algorithm!r}",
                hint=f"one of {', '.join(ALGORITHMS)}",
                field="algorithm",
            )
        for name in ("learning_rate", "final_learning_rate"):
            _require(name, getattr(self, name), 0.0, 1.0, is_open=True)
        for name in ("discount", "subgoal_discount", "epsilon", "final_epsilon", "trace_decay"):
            _require(name, getattr(self, name), 0.0, 1.0)
        _require("half_visits", self.half_visits, 0.0, _LARGEST_VALUE)
        _require("initial_value", self.initial_value, -_LARGEST_VALUE, _LARGEST_VALUE)
        require_count("anneal_episodes", self.anneal_episodes, 0)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LearningSettings:
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise SettingsError(
                    f"{name!r} is no setting of the learning",
                    hint=f"there are {', '.join(known)}",
                    field=str(name),
                )
        return cls(**values)


def _require(name: str, given: Any, low: float, high: float, *, is_open: bool = False) -> None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    fits = is_number and math.isfinite(given) and low <= given <= high
    if not fits or (is_open and given == low):
        above = "above" if is_open else "from"
        raise SettingsError(
            f"{name!r} is {given!r}; it has to be a number {above} {low:g} to {high:g}",
            hint=f"leave {name} out, or give it a value in that range",
            field=name,
        )


def require_count(name: str, given: Any, least: int, most: int = MOST_EPISODES) -> None:
    is_whole = isinstance(given, int) and not isinstance(given, bool)
    if not is_whole or not least <= given <= most:
        raise SettingsError(
            f"{name!r} is {given!r}; it has to be a whole number from {least:,} to {most:,}",
            hint=f"give {name} a value in that range",
            field=name,
        )
