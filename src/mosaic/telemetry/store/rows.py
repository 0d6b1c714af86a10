"""Turns a chunk of journal lines into rows for the store. Pure: no file, no database.

Rows of a table are one flat list, as SQLite takes many rows per statement that way. They hold
int, float, str and bytes only: the sqlite3 module binds None and bool more than ten times slower.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec

from mosaic.contracts.events import EventType, RunLifecycleEvent, number_from_json
from mosaic.contracts.metrics import (
    EPISODE_CURVES,
    EPISODES_IN_MEAN,
    LOGGED_GROUP,
    EpisodeKind,
)
from mosaic.telemetry.journal.decoder import (
    ABSENT,
    EVENT_TYPES,
    EpisodeEvent,
    EventDecoder,
    JournalEvent,
    LifecycleEvent,
    MetricEvent,
    QuarantineReason,
    RegisteredEvent,
    Rejected,
    StepEvent,
)
from mosaic.telemetry.journal.reader import JournalChunk
from mosaic.telemetry.store.episode_placing import NO_FACTS, EpisodePlace, facts_of, loaded_step
from mosaic.telemetry.store.ingest_state import IngestState
from mosaic.telemetry.store.schema import COLUMNS

# So many bad lines of a run are kept to look at; all are counted.
QUARANTINE_SAMPLES = 100
SAMPLE_BYTES = 200
# Between two looks at the speed, in the time of the events: however a journal is cut into chunks,
# the speed is the same but for this.
MEASURE_INTERVAL_S = 0.2
_STEP_WIDTH = len(COLUMNS["steps"])
_EPISODE_INDEX = COLUMNS["steps"].index("episode_index")
_EPISODE_WIDTH = len(COLUMNS["episodes"])
_EPISODE_FACTS = [
    COLUMNS["episodes"].index(name) for name in ("total_reward", "kind", "at_step", "count")
]
_CURVES_OF: dict[int, list[str]] = {
    kind: [name for name, curve in EPISODE_CURVES.items() if curve.kind is kind]
    for kind in EpisodeKind
}


class Batch:
    """What one chunk adds to the store: rows, the state after it, and what the daemon must know."""

    def __init__(self, before: IngestState, returns: list[float]) -> None:
        self.state = replace(before)
        self.returns = list(returns)
        self.rows: dict[str, list[Any]] = {table: [] for table in COLUMNS}
        self.notices: list[RunLifecycleEvent] = []
        # (cursor, step): from here on the run continues from this step again. Without a step it
        # begins anew, as far as its episodes tell.
        self.rewinds: list[tuple[int, int | None]] = []
        # Curves of episodes that have their first point here: logged metrics give way.
        self.taken_names: list[str] = []
        self.has_samples = False
        self._heartbeat: RunLifecycleEvent | None = None
        self._rejections: Counter[str] = Counter()
        # (episode_index, attempt) -> cursors of its first and its last step
        self._spans: dict[tuple[int, int], tuple[int, int]] = {}
        # metric -> points, lowest and highest step, values
        self._curves: dict[str, tuple[int, int, int, int]] = {}
        self._place = EpisodePlace(before.last_episode_step, before.may_begin_anew)
        self._steps = self.rows["steps"]
        self._counted_to = 0
        self._last_time: float | None = None
        self._measure_after = -math.inf

    @classmethod
    def of_chunk(
        cls,
        chunk: JournalChunk,
        decoder: EventDecoder,
        before: IngestState,
        returns: list[float],
    ) -> Batch:
        batch = cls(before, returns)
        for cursor in chunk.too_long:
            batch._reject(cursor, Rejected(QuarantineReason.TOO_LONG), b"")
        decode, add_step = decoder.decode, batch._add_step
        for cursor, line in zip(chunk.cursors, chunk.lines, strict=True):
            event = decode(line)
            if type(event) is StepEvent:
                add_step(cursor, event)
            elif isinstance(event, JournalEvent):
                batch._add(cursor, event)
            elif event is not None:
                batch._reject(cursor, event, line)
        batch._finish(chunk.next_offset)
        return batch

    def _reject(self, cursor: int, rejected: Rejected, line: bytes) -> None:
        if self.state.quarantined < QUARANTINE_SAMPLES:
            sample = line[:SAMPLE_BYTES]
            self.rows["quarantine"] += (cursor, rejected.reason.value, rejected.detail, sample)
        self.state.quarantined += 1
        self._rejections[rejected.reason.value] += 1

    def _add_step(self, cursor: int, event: StepEvent) -> None:
        seq = event.seq
        state = self.state
        if seq == state.last_seq + 1:
            state.last_seq = seq
        else:
            state.note_seq(seq)
        timestamp = self._last_time = event.timestamp
        reward = event.reward
        self._steps += (
            cursor,
            seq,
            timestamp,
            event.agent_id or "",
            event.worker_id or "",
            event.episode_index,
            event.step_index,
            str(event.action, "utf-8"),
            str(event.observation, "utf-8"),
            reward if type(reward) is float else number_from_json(reward),
            +event.terminated,
            +event.truncated,
            "" if event.episode_seed is None else _seed(event.episode_seed),
            "" if event.render_hint is ABSENT else str(event.render_hint, "utf-8"),
            "" if event.info is ABSENT else str(event.info, "utf-8"),
        )

    def _add(self, cursor: int, event: JournalEvent) -> None:
        self._last_time = event.timestamp
        if isinstance(event, RegisteredEvent):
            self._begin_attempt(cursor, event)
        if event.seq == self.state.last_seq + 1:
            self.state.last_seq = event.seq
        else:
            self.state.note_seq(event.seq)
        match event:
            case MetricEvent():
                self._add_metric(cursor, event)
            case EpisodeEvent():
                self._add_episode(cursor, event)
            case RegisteredEvent():
                self._add_registered(cursor, event)
            case LifecycleEvent():
                self._add_lifecycle(cursor, event, EVENT_TYPES[type(event)], event.payload)
        if event.timestamp >= self._measure_after:
            self._measure(event.timestamp)

    def _measure(self, now: float) -> None:
        self._count_steps()
        self.state.measure_rate(now)
        self._measure_after = now + MEASURE_INTERVAL_S

    def _add_metric(self, cursor: int, event: MetricEvent) -> None:
        name, step = event.name, event.step
        if name in EPISODE_CURVES and self.state.has_curves(EPISODE_CURVES[name].kind):
            name = LOGGED_GROUP + name
        row = (name, cursor, event.seq, event.timestamp, number_from_json(event.value), step)
        if event.count == 1:
            self.rows["metrics"] += row
        else:
            self.rows["summed_metrics"] += (*row, event.count, *_extremes(event))
        self._sum_up(name, step, event.count)
        self.state.metrics += 1
        self.state.reported_steps = max(self.state.reported_steps, step)
        self.has_samples = True

    def _sum_up(self, name: str, step: int, count: int, more: int = 1) -> None:
        points, first, last, counted = self._curves.get(name, (0, step, step, 0))
        self._curves[name] = (
            points + more,
            step if step < first else first,
            step if step > last else last,
            counted + count,
        )

    def _add_episode(self, cursor: int, event: EpisodeEvent) -> None:
        total_reward = number_from_json(event.total_reward)
        metadata = str(event.metadata, "utf-8")
        facts = facts_of(metadata) if metadata else NO_FACTS
        is_finished = event.terminated or event.truncated
        kind, at_step = self._place.place(is_finished, event.steps, facts)
        self.rows["episodes"] += (
            *(cursor, event.seq, event.timestamp, event.agent_id or "", event.worker_id or ""),
            *(event.episode_index, total_reward, event.steps),
            *(+event.terminated, +event.truncated),
            "" if event.episode_seed is None else _seed(event.episode_seed),
            *(metadata, int(kind), at_step, facts.count),
        )
        self.state.episodes += 1
        self.state.attempt_episodes += 1
        self.has_samples = True
        if kind is EpisodeKind.UNCOUNTED:
            return
        if not self.state.has_curves(kind):
            self._take_names(kind)
        if self._place.may_begin_anew and kind is EpisodeKind.TRAINING:
            self._place.may_begin_anew = False
            self.rewinds.append((self.state.attempt_cursor, None))

    def _sum_up_episodes(self) -> None:
        rows = self.rows["episodes"]
        returns, kinds, steps, counts = (rows[column::_EPISODE_WIDTH] for column in _EPISODE_FACTS)
        for kind in set(kinds) - {EpisodeKind.UNCOUNTED}:
            places = [place for place, each in enumerate(kinds) if each == kind]
            at = [steps[place] for place in places]
            counted = sum([counts[place] for place in places])
            for name in _CURVES_OF[kind]:
                summary = (name, len(places), 0, min(at), max(at), counted, 1)
                self.rows["metric_summaries"] += summary
            if kind == EpisodeKind.TRAINING:
                self.state.finished_episodes += counted
                for place in places[-EPISODES_IN_MEAN:]:
                    self.returns += [returns[place]] * min(counts[place], EPISODES_IN_MEAN)
                self.returns = self.returns[-EPISODES_IN_MEAN:]

    def _take_names(self, kind: EpisodeKind) -> None:
        """What was logged so far under the names of these curves is called otherwise from now."""
        self.state.begin_curves(kind)
        names = _CURVES_OF[kind]
        self.taken_names += names
        for table in ("metrics", "summed_metrics"):
            rows, width = self.rows[table], len(COLUMNS[table])
            rows[::width] = [
                LOGGED_GROUP + name if name in names else name for name in rows[::width]
            ]
        for name in names:
            if name in self._curves:
                points, first, last, counted = self._curves.pop(name)
                self._sum_up(LOGGED_GROUP + name, first, counted, points)
                self._sum_up(LOGGED_GROUP + name, last, 0, 0)

    def _begin_attempt(self, cursor: int, event: RegisteredEvent) -> None:
        state = self.state
        attempt = state.attempt + 1 if event.attempt is None else event.attempt
        if attempt != state.attempt:
            self._count_steps()
            if state.attempt:
                self._place.begin_attempt()
            state.begin_attempt(attempt, cursor)
            state.last_seq = event.seq - 1  # each attempt may count from anywhere
            # Nobody acts on reports of the previous attempt any more.
            self.notices.clear()
            self._heartbeat = None
            self.has_samples = False
        state.agent_id = event.agent_id or ""
        state.worker_id = event.worker_id or ""

    def _add_registered(self, cursor: int, event: RegisteredEvent) -> None:
        state = self.state
        self.rows["registrations"] += (cursor, state.attempt, state.agent_id, state.worker_id)
        payload = {
            "schema_version": event.schema_version,
            "protocol": event.protocol,
            "capabilities": event.capabilities,
            "attempt": state.attempt,
            "pid": event.pid,
            "agent_id": state.agent_id,
            "worker_id": state.worker_id,
        }
        self._add_lifecycle(cursor, event, EventType.WORKER_REGISTERED, payload)

    def _add_lifecycle(
        self, cursor: int, event: JournalEvent, kind: EventType, payload: dict[str, Any]
    ) -> None:
        state = self.state
        self.rows["lifecycle"] += (
            *(cursor, event.seq, event.timestamp, kind.value),
            msgspec.json.encode(payload).decode(),
        )
        state.take_payload(payload)
        notice = RunLifecycleEvent(state.run_id, event.seq, event.timestamp, kind, payload)
        if kind is EventType.HEARTBEAT:
            self._measure(event.timestamp)
            self._heartbeat = notice  # only the last one counts, however many a worker sends
            return
        match kind:
            case EventType.RUN_STARTED:
                self._measure(event.timestamp)
            case EventType.RUN_PAUSED:
                self._count_steps()
                state.pause(event.timestamp)
            case EventType.RUN_RESUMED:
                state.unpause(event.timestamp)
            case EventType.CHECKPOINT_LOADED if (step := loaded_step(payload)) is not None:
                self._count_steps()
                self.rewinds.append((cursor, step))
                self._place.continue_from(step)
                state.continue_from(step)
        self.notices.append(notice)

    def _count_steps(self) -> None:
        """Counts the steps since the last call and notes which cursors each episode covers."""
        cursors = self._steps[self._counted_to :: _STEP_WIDTH]
        episodes = self._steps[self._counted_to + _EPISODE_INDEX :: _STEP_WIDTH]
        self._counted_to = len(self._steps)
        first = dict(zip(reversed(episodes), reversed(cursors), strict=True))
        last = dict(zip(episodes, cursors, strict=True))
        attempt = self.state.attempt
        for episode, cursor in first.items():
            start, _ = self._spans.get((episode, attempt), (cursor, cursor))
            self._spans[episode, attempt] = (start, last[episode])
        self.state.steps += len(cursors)
        self.state.attempt_steps += len(cursors)
        self.has_samples = self.has_samples or bool(cursors)

    def _finish(self, offset: int) -> None:
        state = self.state
        self._count_steps()
        for key, cursors in self._spans.items():
            self.rows["episode_spans"] += (*key, *cursors)
        for name, (points, first, last, counted) in self._curves.items():
            self.rows["metric_summaries"] += (name, points, 0, first, last, counted, 0)
        self._sum_up_episodes()
        for rejection in self._rejections.items():
            self.rows["quarantine_counts"] += rejection
        state.last_episode_step, state.may_begin_anew = self._place.step, self._place.may_begin_anew
        state.offset = offset
        state.events += sum(
            len(self.rows[table]) // len(COLUMNS[table])
            for table in ("steps", "episodes", "metrics", "summed_metrics", "lifecycle")
        )
        state.has_samples = state.has_samples or self.has_samples
        if self._heartbeat is not None:
            self.notices.append(self._heartbeat)
        if self._last_time is not None:
            state.measure_rate(self._last_time)


def _seed(seed: int) -> int | str:
    return seed if -(2**63) <= seed < 2**63 else str(seed)


def _extremes(event: MetricEvent) -> tuple[float, float]:
    """Lowest and highest of what a metric sums up, as far as it says."""
    value = number_from_json(event.value)
    return (
        value if event.low is None else number_from_json(event.low),
        value if event.high is None else number_from_json(event.high),
    )
