"""Vectors whose environments are no objects of their own: EnvPool, and Gymnasium's fast ones.

There is one `step` for all of them, so it is counted as a whole, from what it returns.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import Any

from mosaic.contracts.ledger import TRUNCATED
from mosaic.injection.complaints import Complaints
from mosaic.injection.env_watch import Report
from mosaic.injection.watches import Watches

NO_VIEW = "its environments are stepped all at once and have no frames of their own"


class VectorWatch:
    """Steps and episodes of one vector. `resets_later`: the step after the last one only resets."""

    def __init__(self, size: int, first: int, report: Report, *, resets_later: bool) -> None:
        self._size, self._first, self._report = size, first, report
        self._resets_later = resets_later
        self.layer: type | None = None  # the class whose `step` counts
        self.all_steps = self.episodes = 0
        self._totals: Any = None

    @property
    def length(self) -> int:
        """Of the longest of its current episodes."""
        return 0 if self._totals is None else int(self._lengths.max())

    def start_episodes(self) -> None:
        self._totals = None

    def count(self, result: Any) -> None:
        """What a step returned; some return only a part of their environments, and say which."""
        size = self._size
        numpy: Any = sys.modules["numpy"]
        rewards = numpy.asarray(result[1], dtype="float64")
        terminated = is_over = numpy.asarray(result[2], dtype=bool)
        if len(result) == 5:
            is_over = terminated | numpy.asarray(result[3], dtype=bool)
        if self._totals is None:
            self._totals = numpy.zeros(size)
            self._lengths = numpy.zeros(size, dtype="int64")
            self._ended = numpy.zeros(size, dtype=bool)
        which: Any = slice(None)
        if len(rewards) != size:
            which = numpy.asarray(result[-1]["env_id"])
        begins = self._ended[which]
        is_step = ~begins if self._resets_later else numpy.ones_like(is_over)
        self._totals[which] = self._totals[which] * ~begins + rewards
        self._lengths[which] = self._lengths[which] * ~begins + is_step
        self._ended[which] = is_over
        self.all_steps += int(is_step.sum())
        if is_over.any():
            numbers = numpy.arange(size)[which]
            flags_of = numpy.where(terminated, 0, TRUNCATED)
            for number, flags in numpy.stack((numbers, flags_of), 1)[is_over].tolist():
                self.episodes += 1
                total, length = float(self._totals[number]), int(self._lengths[number])
                self._report(total, length, self._first + number, flags, None)


class VectorLayers:
    """Makes the `step` of such classes count."""

    def __init__(self, watches: Watches, complaints: Complaints) -> None:
        self._watches, self._complaints = watches, complaints
        self._counting: set[type] = set()

    def begin(self, vector: Any, size: int, *, resets_later: bool) -> None:
        """All of its environments are reset."""
        watch = self._watches.vectors.get(id(vector))
        if watch is None:
            kind = next(kind for kind in type(vector).__mro__ if "step" in kind.__dict__)
            self._count_in(kind)
            report = self._watches.report
            watch = VectorWatch(size, self._watches.made, report, resets_later=resets_later)
            watch.layer = kind
            self._watches.add_vector(vector, watch, size)
            self._watches.note(f"no live view of {type(vector).__name__}: {NO_VIEW}")
        watch.start_episodes()

    def _count_in(self, kind: type) -> None:
        if kind in self._counting:
            return
        original = kind.__dict__["step"]
        if not isinstance(original, FunctionType):
            raise TypeError("its step is not a Python function")
        self._counting.add(kind)
        known, complaints = self._watches.vectors, self._complaints

        @functools.wraps(original)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            watch = known.get(id(self))
            if watch is not None and watch.layer is kind:
                try:
                    watch.count(result)
                except Exception as error:  # noqa: BLE001  # the script goes on
                    watch.layer = None
                    complaints.say(f"counting the steps of {type(self).__name__}", error)
            return result

        kind.step = step  # type: ignore[attr-defined]
