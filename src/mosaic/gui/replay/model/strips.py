"""Strip: numbers of an episode along its steps, as they are drawn below the scrubber."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.contracts.agents import step_of_mind
from mosaic.contracts.events import TrainingStep
from mosaic.front.human import decimal
from mosaic.gui.replay.model.episode import EpisodeSteps

Numbers = NDArray[np.float32]
# More lines than these cannot be told apart in a strip.
MOST_LINES = 8
# Discrete actions with more choices than this are numbers on a line.
_MOST_CHOICES = 24
# Under which names workers report what the agent expects of a state.
_VALUE_NAMES = ("value", "value_estimate", "state_value")
_CHOICE_VALUES = "q_values"
_LONGEST_TEXT = 40


class StripKind(StrEnum):
    LINES = "lines"
    HEAT = "heat"  # a row for each number, dark where it is low and bright where it is high


@dataclass(eq=False)
class Strip:
    """`values` has a row for each step, the beginning included; NaN where nothing is known."""

    name: str
    kind: StripKind
    values: Numbers
    texts: Sequence[str] = ()  # by step, where there is a better one than the numbers
    # The lowest and the highest that there can be; None: those that there are.
    bounds: tuple[float, float] | None = None

    @property
    def limits(self) -> tuple[float, float]:
        return self.bounds or limits(self.values)

    @property
    def length(self) -> int:
        """In steps."""
        return len(self.values) - 1

    def text_at(self, step: int) -> str:
        if not 0 <= step <= self.length:
            return ""
        if self.texts:
            return self.texts[step]
        row = self.values[step]
        if len(row) > MOST_LINES or not np.isfinite(row).any():
            return ""
        text = " ".join("–" if math.isnan(value) else decimal(value) for value in row.tolist())
        return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"

    def add(self, rows: Mapping[int, Sequence[float]]) -> None:
        """What has become known; rows of another width, or beyond the end, are left out."""
        width = self.values.shape[1]
        for step, row in rows.items():
            if 0 <= step <= self.length and len(row) == width:
                self.values[step] = row


def reward_strip(steps: EpisodeSteps) -> Strip:
    return _column("reward", steps.rewards)


def action_strip(steps: EpisodeSteps) -> Strip | None:
    """None where actions are no numbers, or there are none."""
    if not len(steps.actions):
        return None
    try:
        actions = np.asarray(steps.actions, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    if actions.ndim == 1 or actions[0].size == 1:
        found = _choices(actions.reshape(-1), steps)
        return found or _column("action", actions.reshape(-1).tolist())
    flat = actions.reshape(len(actions), -1).astype(np.float32)
    first = np.full((1, flat.shape[1]), np.nan, np.float32)
    return Strip("action", _kind_of(flat.shape[1]), np.concatenate([first, flat]))


def value_strip(values: Mapping[int, float], length: int) -> Strip | None:
    """What the agent expected, by step; None where nobody told it."""
    strip = _empty("value", length, 1)
    strip.add({step: (value,) for step, value in values.items()})
    return strip if np.isfinite(strip.values).any() else None


def confidence_strip(told: Mapping[int, float], length: int) -> Strip | None:
    """How sure the agent was, by step, between 0 and 1; None where nobody told it."""
    strip = _empty("confidence", length, 1)
    strip.bounds = (0.0, 1.0)
    strip.add({step: (min(max(share, 0.0), 1.0),) for step, share in told.items()})
    return strip if np.isfinite(strip.values).any() else None


def observation_strip(length: int, profiles: Mapping[int, Sequence[float]]) -> Strip | None:
    """Begun with the first profiles that are known; None where observations are no numbers."""
    width = len(next(iter(profiles.values()), ()))
    if not width:
        return None
    strip = _empty("observation", length, width)
    strip.add(profiles)
    return strip


def values_of(rows: Iterable[TrainingStep]) -> dict[int, float]:
    """By step: what the agent expected of the state it acted in, where its worker tells it."""
    found = {row.step_index: _expected(row.info) for row in rows}
    return {step: value for step, value in found.items() if value is not None}


def _expected(info: Any) -> float | None:
    if not isinstance(info, dict):
        return None
    for name in _VALUE_NAMES:
        if (value := _number(info.get(name))) is not None:
            return value
    mind = step_of_mind(info)
    choices = info.get(_CHOICE_VALUES) if mind is None else list(mind.q_values)
    numbers = [_number(value) for value in choices] if isinstance(choices, list) else []
    known = [value for value in numbers if value is not None]
    return max(known, default=None)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def _column(name: str, values: Sequence[float]) -> Strip:
    found = np.full((len(values) + 1, 1), np.nan, np.float32)
    with np.errstate(over="ignore"):  # what is too large for a picture is infinite: a gap
        found[1:, 0] = values
    return Strip(name, StripKind.LINES, np.where(np.isfinite(found), found, np.nan))


def _choices(actions: NDArray[np.float64], steps: EpisodeSteps) -> Strip | None:
    """A row for each choice; None where they are not few whole numbers."""
    whole = np.isfinite(actions).all() and (actions == np.round(actions)).all()
    if not whole or actions.min() < 0 or actions.max() >= _MOST_CHOICES:
        return None
    taken = actions.astype(int)
    rows = np.zeros((len(taken) + 1, max(2, int(taken.max()) + 1)), np.float32)
    rows[0] = np.nan
    rows[np.arange(1, len(taken) + 1), taken] = 1.0
    texts = ["", *(steps.action(step) for step in range(1, len(taken) + 1))]
    return Strip("action", StripKind.HEAT, rows, texts)


def _empty(name: str, length: int, width: int) -> Strip:
    values = np.full((length + 1, width), np.nan, np.float32)
    return Strip(name, _kind_of(width), values)


def _kind_of(width: int) -> StripKind:
    return StripKind.LINES if width <= MOST_LINES else StripKind.HEAT


# What is drawn of it


def line_points(values: Numbers, most: int) -> tuple[NDArray[np.float64], Numbers]:
    """Places (in steps) and heights (0 to 1) of a line with at most twice as many points.

    Of many steps, the lowest and the highest of each stretch: no spike is lost.
    """
    places = np.arange(len(values), dtype=np.float64)
    shown = values
    if len(values) > most:
        begins = np.arange(most) * len(values) // most
        lows, highs = np.fmin.reduceat(values, begins), np.fmax.reduceat(values, begins)
        places = np.repeat(begins.astype(np.float64), 2)
        shown = np.stack([lows, highs], axis=1).reshape(-1)
    return places, shown


def heights(shown: Numbers, low: float, high: float) -> Numbers:
    """Between 0 and 1; in the middle where all are the same."""
    if not high > low:
        return np.where(np.isfinite(shown), np.float32(0.5), np.float32(np.nan))
    return np.asarray((shown - low) / (high - low), np.float32)


def limits(values: Numbers) -> tuple[float, float]:
    """The lowest and the highest; (0, 0) where nothing is known."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)


def heat_cells(values: Numbers, most: int) -> Numbers:
    """A row for each number, at most so many columns, between 0 and 1; NaN: not known.

    Each row by its own lowest and highest: numbers of one observation have different units.
    """
    columns = values.T
    if len(values) > most:
        begins = np.arange(most) * len(values) // most
        known = np.isfinite(columns)
        sums = np.add.reduceat(np.where(known, columns, 0), begins, axis=1)
        counts = np.add.reduceat(known.astype(np.float32), begins, axis=1)
        columns = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).astype(np.float32)
    rows = [heights(row, *limits(row)) for row in columns]
    return np.stack(rows)
