"""Notes for people, held to what people can read: a plan may fail a thousand times a minute."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from spade_bdi_rl_worker.agents.protocols import Direction, GoalEvent, IntentionEvent, Trace

PERIOD_S = 60.0
MAX_NOTES = 30  # in a period
MAX_ALIKE = 3


class LimitedNotes:
    """A trace that passes everything on, notes only as long as they are few."""

    def __init__(self, trace: Trace, clock: Callable[[], float] = time.monotonic) -> None:
        self._trace = trace
        self._clock = clock
        self._since = clock()
        self._told: Counter[str] = Counter()
        self._held_back = 0

    def belief(self, added: bool, text: str, source: str) -> None:
        self._trace.belief(added, text, source)

    def goal(self, event: GoalEvent, text: str) -> None:
        self._trace.goal(event, text)

    def plan(self, name: str, trigger: str) -> None:
        self._trace.plan(name, trigger)

    def intention(self, event: IntentionEvent, text: str) -> None:
        self._trace.intention(event, text)

    def message(self, direction: Direction, peer: str, performative: str, text: str) -> None:
        self._trace.message(direction, peer, performative, text)

    def note(self, text: str) -> None:
        if self._clock() - self._since > PERIOD_S:
            if self._held_back:
                self._trace.note(f"{self._held_back:,} more notes like these were not shown")
            self._since, self._held_back = self._clock(), 0
            self._told.clear()
        if self._told[text] >= MAX_ALIKE or self._told.total() >= MAX_NOTES:
            self._held_back += 1
            return
        self._told[text] += 1
        self._trace.note(text)
