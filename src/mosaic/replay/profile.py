"""An observation as a few numbers, so that thousands of them fit below a scrubber.

Runs in the simulator: no more than the standard library is needed, and arrays are averaged there
rather than sent.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

MOST_NUMBERS = 64


def profile_of(observation: Any, most: int = MOST_NUMBERS) -> list[float]:
    """Its numbers in order; where they are more than `most`, means of neighbours.

    Empty where there is none, as in a text. What is not finite is NaN.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(observation, numpy.ndarray):
        if observation.dtype.kind not in "biuf" or not observation.size:
            return []
        flat = observation.reshape(-1)
        if flat.size > most:
            ends = [flat.size * place // most for place in range(most)]
            sums = numpy.add.reduceat(flat, ends, dtype="float64")
            flat = sums / numpy.diff([*ends, flat.size])
        return [_finite(value) for value in flat.tolist()]
    return _averaged([_finite(value) for value in _numbers(observation)], most)


def _numbers(value: Any) -> Iterator[float]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _numbers(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, (bool, int, float)):
        yield float(value)


def _averaged(values: list[float], most: int) -> list[float]:
    if len(values) <= most:
        return values
    ends = [len(values) * place // most for place in range(most + 1)]
    parts = [values[ends[place] : ends[place + 1]] for place in range(most)]
    return [math.fsum(part) / len(part) for part in parts]


def _finite(value: float) -> float:
    value = float(value)
    return value if math.isfinite(value) else math.nan
