"""Studies and trials of Optuna, and how their parameters are written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mosaic.foreign_json import parse_shallow_json

# What decoding of hostile or foreign data may raise.
DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError)
STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
DIRECTIONS = ("NOT_SET", "MINIMIZE", "MAXIMIZE")
_EARLIEST_YEAR, _LATEST_YEAR = 1971, 9000
FINISHED = frozenset({"COMPLETE", "PRUNED", "FAIL"})


@dataclass
class Trial:
    """One trial; times are naive local ones, as Optuna itself hands them out."""

    number: int
    state: str
    values: list[float] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)
    intermediate_values: dict[int, float] = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or self.state not in STATES:
            raise TypeError("neither the number nor the state of a trial")


def objectives(said: Any) -> list[float] | None:
    """Raises an error of DECODE_ERRORS for what are no numbers."""
    if said is None:
        return None
    if not isinstance(said, list):
        raise TypeError("the values of a trial are no list")
    return [float(value) for value in said]


def local_time(text: str | None) -> datetime | None:
    """The naive local time that is meant, if it is one a trial can have begun or ended at."""
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    if not _EARLIEST_YEAR <= at.year <= _LATEST_YEAR:
        raise ValueError(f"the year {at.year}")
    return at.astimezone().replace(tzinfo=None)


@dataclass
class Study:
    name: str
    directions: list[str]
    user_attrs: dict[str, Any] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError("the name of a study is no text")


@dataclass(frozen=True)
class Distribution:
    """From what a parameter was drawn, which says what its stored number means."""

    kind: str
    choices: tuple[Any, ...] = ()
    is_log: bool = False

    @classmethod
    def from_json(cls, text: str) -> Distribution:
        data = parse_shallow_json(text)
        kind = data.get("name") or f"{data['type'].capitalize()}Distribution"
        attributes = data.get("attributes", data)
        choices = attributes["choices"] if kind == "CategoricalDistribution" else ()
        return cls(kind, tuple(choices), bool(attributes.get("log", False)))

    def decode(self, stored: float) -> Any:
        if self.kind == "CategoricalDistribution":
            index = int(stored)
            if index < 0:
                raise ValueError("a choice before the first")
            return self.choices[index]
        # Before Optuna 3 there were IntUniform… and IntLogUniform… as well.
        return int(stored) if self.kind.startswith("Int") else float(stored)
