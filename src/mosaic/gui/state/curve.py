"""Curve: one line of a chart, ready to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def numbers(values: Sequence[float] | NDArray[np.floating] = ()) -> Numbers:
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Curve:
    """Points in the order of x; a value that is not finite leaves a gap.

    With `lows` and `highs` a band is drawn around the line; `faint` is a second line behind it
    (the values before smoothing); markers are single points, such as evaluations.
    """

    label: str
    colour: str  # as #rrggbb
    xs: Numbers
    ys: Numbers
    lows: Numbers | None = None
    highs: Numbers | None = None
    is_band: bool = False  # of several runs: the band is their spread, always shown
    faint: Numbers | None = None
    marker_xs: Numbers = field(default_factory=numbers)
    marker_ys: Numbers = field(default_factory=numbers)
    note: str = ""  # behind the label in the legend, such as "not recorded"
    value: float | None = None  # what the legend says of it; None: its last
    value_name: str = "last value"
    key: str = ""  # what the curve is known by when it is shown again; empty: its label

    @property
    def id(self) -> str:
        return self.key or self.label

    @property
    def is_empty(self) -> bool:
        return not bool(np.isfinite(self.ys).any())

    @property
    def legend_value(self) -> float | None:
        return self.last if self.value is None else self.value

    @property
    def last(self) -> float | None:
        """The last value that is one."""
        finite = self.ys[np.isfinite(self.ys)]
        return float(finite[-1]) if len(finite) else None
