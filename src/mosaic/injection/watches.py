"""Watches: all environments of this process that have been reset, each counted once."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from mosaic.injection.bridge import Bridge
from mosaic.injection.env_watch import NO_TAP, EnvWatch, inner_watch
from mosaic.injection.lane_on_demand import LaneOnDemand
from mosaic.injection.made_environment import (
    EnvironmentNames,
    NotRecordableError,
    creation_settings,
)
from mosaic.injection.purpose import Purposes
from mosaic.injection.rendering import Renderer, reason_without_view
from mosaic.injection.tape import NOTHING, Tape

# Of one environment: an episode of Atari has at most 108,000.
SILENT_STEPS = 200_000
_MAX_TAPE_BYTES = 128 * 2**20  # of the unfinished episodes of all environments


class Counted(Protocol):
    """What counts: an environment, or a vector of them that is stepped as one."""

    episodes: int
    layer: type | None

    @property
    def length(self) -> int: ...  # of the current episode; the longest, if there are several
    @property
    def training_steps(self) -> int: ...
    def count(self, result: Any) -> None: ...
    def start_episodes(self, is_evaluation: bool) -> None: ...


class Watches:
    def __init__(
        self,
        bridge: Bridge,
        lane: LaneOnDemand | None,
        note: Callable[[str], None],
        *,
        is_recording: bool = False,
    ) -> None:
        self._bridge, self._lane, self.note, self.is_recording = bridge, lane, note, is_recording
        self.report = bridge.episode
        self.purposes = Purposes()
        self._names = EnvironmentNames(bridge.environment)
        self.known: dict[int, EnvWatch] = {}  # by the id of the innermost environment
        self.vectors: dict[int, Counted] = {}  # by their own
        self.made = 0
        self.begun = 0  # episodes, of environments that are followed one by one
        self._steps_of_the_gone = 0
        self._is_ticking = False
        self._reported_steps = 0
        os.register_at_fork(after_in_child=self._after_fork)

    def of(self, unwrapped: Any) -> EnvWatch:
        """The watch of this environment, a new one when it is seen for the first time."""
        watch = self.known.get(id(unwrapped))
        if watch is None:
            watch = EnvWatch(self.made, self.report)
            self._keep(unwrapped, watch)
            self.made += 1
            self._names.seen(unwrapped)
        if watch.is_new and watch.outer is None:
            watch.is_new = False
            self._tap(watch, unwrapped)
        self._start_ticking()
        return watch

    def add_part(self, unwrapped: Any, outer: EnvWatch) -> None:
        """An environment that another one uses: what it does is the other one's doing."""
        self._keep(unwrapped, inner_watch(outer))

    def not_counted(self, env: Any, error: Exception) -> None:
        reason = str(error) or type(error).__name__
        self.note(f"steps and episodes of {type(env).__name__} are not counted: {reason}")

    def _keep(self, unwrapped: Any, watch: EnvWatch) -> None:
        end = weakref.finalize(unwrapped, self._drop, id(unwrapped))
        end.atexit = False
        self.known[id(unwrapped)] = watch

    def add_vector(self, vector: Any, watch: Counted, size: int) -> None:
        end = weakref.finalize(vector, self._drop_vector, id(vector))
        end.atexit = False
        self.vectors[id(vector)] = watch
        self._names.seen(vector)
        self.made += size
        self._start_ticking()

    def load_tape(self, watch: EnvWatch, env: Any) -> None:
        """Episodes are recorded from the next reset on; `env` is the wrapper that is counted."""
        watch.tape, watch.series, watch.acted, watch.earned = None, None, NOTHING, watch.count
        if not self.is_recording:
            return
        core = innermost(env)
        try:
            watch.tape = Tape(watch, creation_settings(env), core, self.note)
        except NotRecordableError as error:
            self.note(f"episodes of {type(core).__name__} cannot be replayed: {error}")
        except Exception as error:  # noqa: BLE001  # it is counted all the same
            reason = f"how it was made is unknown ({type(error).__name__}: {error})"
            self.note(f"episodes of {type(core).__name__} cannot be replayed: {reason}")

    def _start_ticking(self) -> None:
        if not self._is_ticking:
            self._is_ticking = True
            self._bridge.each_tick(self._tick)

    def close(self, unwrapped: Any) -> None:
        """Its slot is free for another one; a reset opens it again."""
        watch = self.known.get(id(unwrapped))
        if watch is not None:
            self._untap(watch)
            watch.is_new = True

    def _drop(self, key: int) -> None:
        watch = self.known.pop(key, None)
        if watch is not None:
            self._untap(watch)
            self._steps_of_the_gone += watch.training_steps

    def _drop_vector(self, key: int) -> None:
        watch = self.vectors.pop(key, None)
        if watch is not None:
            self._steps_of_the_gone += watch.training_steps

    def _tap(self, watch: EnvWatch, unwrapped: Any) -> None:
        if self._lane is None:
            return
        reason = reason_without_view(unwrapped)
        if reason is not None:
            self.note(f"no live view of {type(unwrapped).__name__}: {reason}")
            return
        watch.tap = self._lane.tap(Renderer(unwrapped), watch.metrics) or NO_TAP

    def _untap(self, watch: EnvWatch) -> None:
        tap, watch.tap = watch.tap, NO_TAP
        if self._lane is not None and tap is not NO_TAP:
            self._lane.release(tap)

    def _tick(self) -> None:
        """In the bridge's thread: how far the process is, whether episodes end at all, and whether
        somebody watches."""
        if self._lane is not None:
            self._lane.look()
        steps, longest = self._steps_of_the_gone, 0
        for watches in (list(self.known.values()), list(self.vectors.values())):
            for watch in watches:
                steps += watch.training_steps
                longest = max(longest, watch.length)
        self._bound_tapes()
        if steps != self._reported_steps:
            self._reported_steps = steps
            self._bridge.progress(steps)
        if longest >= SILENT_STEPS:
            self.note(f"no episode of an environment has ended for {SILENT_STEPS:,} steps")

    def _bound_tapes(self) -> None:
        tapes = [watch.tape for watch in list(self.known.values()) if watch.tape is not None]
        if sum(tape.size for tape in tapes) > _MAX_TAPE_BYTES:
            max(tapes, key=lambda tape: tape.size).give_up("it is too long")

    def _after_fork(self) -> None:
        """The parent keeps its view; here environments are seen again when they are reset."""
        self._is_ticking = False
        self._steps_of_the_gone = 0
        self._reported_steps = 0
        self.vectors.clear()
        for watch in self.known.values():
            watch.tap, watch.is_new = NO_TAP, True
            watch.forget_steps()
            if watch.tape is not None:
                watch.tape.part()


def innermost(env: Any) -> Any:
    """An environment without its wrappers; it need not be Gymnasium's."""
    return getattr(env, "unwrapped", env)
