"""RunsOrder: which runs the table shows, by a filter such as `state:failed`, and in which order."""

from __future__ import annotations

import operator
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import amount, count
from mosaic.front.run_words import elapsed_s, remaining_s, speed_of, state_word
from mosaic.gui.runs.model.rows import LIVE, Column, readable_name

KEYS = ("name", "env", "worker", "state", "group", "id")
# What people type, besides the words that are shown.
_STATE_WORDS = {"done": "succeeded", "finished": "succeeded", "cancelled": "canceled"}


@dataclass(frozen=True)
class RunsFilter:
    """All words must be found; those with a key in that field, the others anywhere."""

    words: tuple[str, ...] = ()
    keyed: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> RunsFilter:
        words, keyed = [], []
        for word in text.lower().split():
            key, colon, value = word.partition(":")
            if colon and key in KEYS:
                # A key whose value is yet to be typed hides nothing.
                if value:
                    keyed.append((key, value))
            else:
                words.append(word)
        return cls(tuple(words), tuple(keyed))

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.keyed)

    def matches(self, record: RunRecord, haystack: str, state: str) -> bool:
        """`haystack_of` the record and its `state_word`, which are worth being kept."""
        for word in self.words:
            if word not in haystack and not _is_state(word, state):
                return False
        return all(_has(record, state, key, value) for key, value in self.keyed)


def haystack_of(record: RunRecord) -> str:
    """Everything but the state, which changes too often to be kept."""
    shown = readable_name(record.run_name, record.env_id)
    parts = (record.run_name, shown, record.env_id, record.worker, record.group, record.run_id)
    return "\n".join(parts).lower()


def _has(record: RunRecord, state: str, key: str, value: str) -> bool:
    match key:
        case "name":
            return value in record.run_name.lower()
        case "env":
            return value in record.env_id.lower()
        case "worker":
            return value in record.worker.lower()
        case "group":
            return value in record.group.lower()
        case "id":
            return value in record.run_id.lower()
    return _is_state(value, state)


def _is_state(word: str, state: str) -> bool:
    return state.startswith(_STATE_WORDS.get(word, word))


# Rows that change places all the time cannot be clicked.
LIVE_SORT_S = 2.0
# States in the order a person looks for them: what is going on, what went wrong, what is over.
_RANKS = {
    word: rank
    for rank, word in enumerate(
        (
            *("failing", "stalled", "running", "paused", "stopping", "ready", "starting"),
            *("queued", "failed", "canceled", "succeeded"),
        )
    )
}
_COUNTED = ("running", "paused", "stalled", "queued")

Key = Callable[[RunRecord], Any]


class RunsOrder:
    """Which runs the table shows, and in which order."""

    def __init__(self) -> None:
        self.filter = RunsFilter()
        self.column = Column.STARTED
        self.is_descending = True
        self._haystacks: dict[str, str] = {}
        self._words: dict[str, str] = {}

    def arranged(self, newest_first: Iterable[RunRecord]) -> list[str]:
        """The ids of those that are shown, in order."""
        records = list(newest_first)
        words = self._words
        self._words = {
            record.run_id: words.get(record.run_id) or state_word(record) for record in records
        }
        if not self.filter.is_empty:
            records = [record for record in records if self._is_shown(record)]
        if self.column is Column.STARTED:
            ids = [record.run_id for record in records]
            return ids if self.is_descending else ids[::-1]
        key = _key_of(self.column)
        pairs = [(key(record), record.run_id) for record in records]
        known = [pair for pair in pairs if pair[0] is not None]
        known.sort(key=operator.itemgetter(0), reverse=self.is_descending)
        # What has no value comes last, whichever way it is sorted.
        return [run for _, run in known] + [run for value, run in pairs if value is None]

    def forget(self, run_ids: Iterable[str]) -> None:
        """What is known about these may not be true any more."""
        for run_id in run_ids:
            self._haystacks.pop(run_id, None)
            self._words.pop(run_id, None)

    def summary(self, shown: int | None = None) -> str:
        """`12 runs · 2 running · 1 queued`; with a filter `3 of 12 runs · …`."""
        counts = Counter(self._words.values())
        total = amount(len(self._words), "run")
        if shown is not None and shown != len(self._words):
            total = f"{count(shown)} of {total}"
        told = [f"{count(counts[word])} {word}" for word in _COUNTED if counts[word]]
        return " · ".join((total, *told))

    def needs_arranging(self, changed: Iterable[RunRecord], since_last_s: float) -> bool:
        """Whether these changes are worth moving rows about."""
        if self.column in LIVE and since_last_s >= LIVE_SORT_S:
            return True
        return any(self._words.get(record.run_id) != state_word(record) for record in changed)

    def _is_shown(self, record: RunRecord) -> bool:
        haystack = self._haystacks.get(record.run_id)
        if haystack is None:
            haystack = self._haystacks[record.run_id] = haystack_of(record)
        return self.filter.matches(record, haystack, self._words[record.run_id])


def _key_of(column: Column) -> Key:
    now = time.time()
    keys: dict[Column, Key] = {
        Column.STATE: lambda record: _RANKS.get(state_word(record), len(_RANKS)),
        Column.NAME: lambda record: readable_name(record.run_name, record.env_id).lower(),
        Column.ENVIRONMENT: lambda record: record.env_id.lower() or None,
        Column.PROGRESS: lambda record: record.progress.fraction,
        Column.ELAPSED: lambda record: elapsed_s(record, now),
        Column.REMAINING: lambda record: remaining_s(record, now),
        Column.RETURN: lambda record: record.progress.mean_return,
        Column.SPEED: speed_of,
        Column.EPISODES: lambda record: record.progress.episodes or None,
    }
    return keys.get(column, lambda record: record.run_id)
