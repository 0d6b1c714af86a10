"""At which training step an episode ended, and whether it counts.

The ingest places every episode as it comes. Stores of earlier versions have episodes without a
place: `place_stored` gives them theirs, by the same rules, when such a store is brought up to date
or read as it is.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mosaic.contracts.events import EventType
from mosaic.contracts.metrics import EVALUATION, EpisodeKind
from mosaic.telemetry.journal.decoder import MAX_COUNT, Count, PositiveCount

# A temporary table: what is needed of the table of episodes where it has no places itself.
PLACES = "temp.placed_episodes"


class EpisodeFacts(msgspec.Struct, gc=False, frozen=True):
    """What the metadata of an episode say about it."""

    step: Count | None = None  # the training step at which it ended
    count: PositiveCount = 1  # it stands for this many, with their means
    purpose: str | None = None


NO_FACTS = EpisodeFacts()
_decode_facts = msgspec.json.Decoder(EpisodeFacts).decode


def facts_of(metadata: str) -> EpisodeFacts:
    """Metadata come from the worker: anything may be there, and what makes no sense is ignored."""
    try:
        return _decode_facts(metadata)
    except msgspec.ValidationError:
        found = msgspec.json.decode(metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NO_FACTS
    facts = NO_FACTS
    for name in EpisodeFacts.__struct_fields__:
        if isinstance(found, dict) and name in found:
            with contextlib.suppress(msgspec.ValidationError):
                known = {**msgspec.structs.asdict(facts), name: found[name]}
                facts = msgspec.convert(known, EpisodeFacts)
    return facts


@dataclass(slots=True)
class EpisodePlace:
    """Where a run is, as its episodes tell it."""

    # The training step at which the last training episode ended.
    step: int = 0
    # A new attempt has not said where it continues from. If its first episode ends before it does,
    # the attempt started over, and everything before is repeated.
    may_begin_anew: bool = False

    def place(self, is_finished: bool, length: int, facts: EpisodeFacts) -> tuple[EpisodeKind, int]:
        """Whether it counts, and the training step at which it ended."""
        step = facts.step
        if facts.purpose == EVALUATION:
            at_step = self.step if step is None else step
            return EpisodeKind.EVALUATION if is_finished else EpisodeKind.UNCOUNTED, at_step
        if step is None:
            step = min(MAX_COUNT, self.step + max(0, length) * facts.count)
        self.step = step
        return EpisodeKind.TRAINING if is_finished else EpisodeKind.UNCOUNTED, step

    def begin_attempt(self) -> None:
        self.step = 0
        self.may_begin_anew = True

    def continue_from(self, step: int) -> None:
        """A checkpoint was loaded."""
        self.step = max(0, min(step, MAX_COUNT))
        self.may_begin_anew = False


def loaded_step(payload: Any) -> int | None:
    """From which step an attempt continues, of the payload of its `checkpoint_loaded`."""
    step = payload.get("step") if isinstance(payload, dict) else None
    return max(-MAX_COUNT, min(step, MAX_COUNT)) if isinstance(step, int) else None


def place_stored(connection: sqlite3.Connection) -> EpisodePlace:
    """Make the temporary table PLACES for a store whose episodes have no place.

    Returns where its run is.
    """
    connection.execute(
        f"CREATE TABLE {PLACES} (cursor INTEGER PRIMARY KEY, seq INTEGER, timestamp REAL,"
        " total_reward REAL, steps INTEGER, kind INTEGER, at_step INTEGER, count INTEGER)"
    )
    run = EpisodePlace()
    attempt = attempt_cursor = 0
    for cursor, happened in _in_order(connection):
        match happened:
            case int(registered):
                if attempt and registered != attempt:
                    run.begin_attempt()
                attempt, attempt_cursor = registered, cursor
            case str(payload):
                step = loaded_step(msgspec.json.decode(payload))
                if step is not None:
                    run.continue_from(step)
                    _uncount(connection, cursor, step)
            case (seq, timestamp, total_reward, steps, terminated, truncated, metadata):
                facts = facts_of(metadata)
                kind, at_step = run.place(bool(terminated or truncated), steps, facts)
                if kind is EpisodeKind.TRAINING and run.may_begin_anew:
                    run.may_begin_anew = False
                    _uncount(connection, attempt_cursor, -1)
                connection.execute(
                    f"INSERT INTO {PLACES} VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (cursor, seq, timestamp, total_reward, steps, int(kind), at_step, facts.count),
                )
    return run


def _uncount(connection: sqlite3.Connection, before_cursor: int, beyond_step: int) -> None:
    connection.execute(
        f"UPDATE {PLACES} SET kind = {EpisodeKind.UNCOUNTED:d} WHERE cursor < ? AND at_step > ?",
        (before_cursor, beyond_step),
    )


def _in_order(connection: sqlite3.Connection) -> Iterator[tuple[int, Any]]:
    """Registrations (their attempt), loaded checkpoints (their payload), episodes."""
    news: list[tuple[int, Any]] = [
        *map(tuple, connection.execute("SELECT cursor, attempt FROM registrations")),
        *map(
            tuple,
            connection.execute(
                "SELECT cursor, payload FROM lifecycle WHERE type = ?",
                (EventType.CHECKPOINT_LOADED.value,),
            ),
        ),
    ]
    news.sort(key=lambda each: each[0])
    episodes: Iterable[Any] = connection.execute(
        "SELECT cursor, seq, timestamp, total_reward, steps, terminated, truncated, metadata"
        " FROM main.episodes ORDER BY cursor"
    )
    for cursor, *episode in episodes:
        while news and news[0][0] < cursor:
            yield news.pop(0)
        yield cursor, tuple(episode)
    yield from news
