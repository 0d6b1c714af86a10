"""Vectors whose environments are no objects of their own: EnvPool, Gymnasium's fast ones, others.

There is one `step` for all of them, so it is counted as a whole, from what it returns. Where a
vector turns out to have environments that are followed, here or in other processes, those count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mosaic.contracts.ledger import EVALUATION, TRUNCATED
from mosaic.injection.env_watch import Report
from mosaic.injection.layers import as_function, original_method, replacement_for
from mosaic.injection.watches import Watches

NO_VIEW = "its environments are stepped all at once and have no frames of their own"


class VectorWatch:
    """Steps and episodes of one vector. `resets_later`: the step after the last one only resets."""

    def __init__(self, size: int, first: int, report: Report, *, resets_later: bool) -> None:
        self._size, self._first, self._report = size, first, report
        self._resets_later = resets_later
        self.layer: type | None = None  # the class whose `step` counts
        self.training_steps = self.episodes = 0
        self._is_evaluation = False
        self._totals: Any = None

    @property
    def length(self) -> int:
        """Of the longest of its current episodes."""
        return 0 if self._totals is None else int(self._lengths.max())

    def start_episodes(self, is_evaluation: bool) -> None:
        self._is_evaluation = is_evaluation
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
        if not self._is_evaluation:
            self.training_steps += int(is_step.sum())
        if is_over.any():
            numbers = numpy.arange(size)[which]
            always = EVALUATION if self._is_evaluation else 0
            for place in numpy.flatnonzero(is_over).tolist():
                is_truncated = not terminated[place] or _was_cut_off(result[-1], place)
                number = int(numbers[place])
                self.episodes += 1
                total, length = float(self._totals[number]), int(self._lengths[number])
                flags = always | (TRUNCATED if is_truncated else 0)
                self._report(total, length, self._first + number, flags, None)


def _was_cut_off(infos: Any, place: int) -> bool:
    """As vectors tell it that know one end only, with a dictionary for each environment."""
    return isinstance(infos, (list, tuple)) and bool(infos[place].get("TimeLimit.truncated"))


class VectorLayers:
    """Makes the `step` of such classes count, or what they have in its place."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._counting: set[type] = set()

    def follow_reset(self, kind: type, began: Callable[[Any], None]) -> None:
        """`began` is called after the `reset` that the class itself has, unless there are
        environments in the vector, which have been reset with it."""
        written: Any = kind.__dict__.get("reset")
        if written is None or original_method(written) is not written:
            return
        original = as_function(written)
        watches = self._watches

        def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
            before = watches.begun
            result = original(self, *args, **kwargs)
            if watches.begun == before and not has_processes(self):
                try:
                    began(self)
                except Exception as error:  # noqa: BLE001  # the script has its vector all the same
                    watches.not_counted(self, error)
            return result

        kind.reset = replacement_for(written, reset)  # type: ignore[attr-defined]

    def begin(self, vector: Any, size: int, *, resets_later: bool, step: str = "step") -> None:
        """All of its environments are reset."""
        watch = self._watches.vectors.get(id(vector))
        if watch is None:
            kind = next((kind for kind in type(vector).__mro__ if step in kind.__dict__), None)
            if kind is None:
                raise TypeError(f"its class has no {step}")
            self._count_in(kind, step)
            report = self._watches.report
            watch = VectorWatch(size, self._watches.made, report, resets_later=resets_later)
            watch.layer = kind
            self._watches.add_vector(vector, watch, size)
            self._watches.note(f"no live view of {type(vector).__name__}: {NO_VIEW}")
        watch.start_episodes(self._watches.purposes.is_evaluation())

    def _count_in(self, kind: type, name: str) -> None:
        if kind in self._counting:
            return
        self._counting.add(kind)
        written = original_method(kind.__dict__[name])
        original = as_function(written)
        watches = self._watches

        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            watch = watches.vectors.get(id(self))
            if watch is not None and watch.layer is kind:
                try:
                    watch.count(result)
                except Exception as error:  # noqa: BLE001  # the script goes on
                    watch.layer = None
                    watches.not_counted(self, error)
            return result

        setattr(kind, name, replacement_for(written, step))


def has_processes(vector: Any) -> bool:
    """Of its own, in which its environments may be."""
    process: Any = getattr(sys.modules.get("multiprocessing.process"), "BaseProcess", None)
    for value in vars(vector).values() if process is not None else ():
        among = value if isinstance(value, (list, tuple)) else (value,)
        if any(isinstance(each, process) for each in among):
            return True
    return False
