"""RunsOrder: which rows the table has, in which order: runs, and groups of them."""

from __future__ import annotations

import operator
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import amount, count
from mosaic.front.run_words import elapsed_s, remaining_s, speed_of, state_word
from mosaic.gui.runs.model.columns import LIVE, Column
from mosaic.gui.runs.model.filter import RunsFilter, Search, haystack_of
from mosaic.gui.runs.model.groups import FEWEST, group_key
from mosaic.gui.runs.model.settings import KnownSettings

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
    """Which rows the table has, and in which order."""

    def __init__(self, settings: KnownSettings | None = None) -> None:
        self.filter = RunsFilter()
        self.search: Search | None = None  # of the filter's pattern, where that can be used
        self.column: int = Column.STARTED
        self.setting = ""  # what is sorted by, where that is the column of a setting
        self.is_descending = True
        self.is_grouped = False
        self.folded: set[str] = set()  # names of groups
        self.groups: dict[str, list[str]] = {}  # that have a row now: the runs of each, in order
        self._settings = settings or KnownSettings()
        self._haystacks: dict[str, str] = {}
        self._words: dict[str, str] = {}

    def arranged(self, newest_first: Iterable[RunRecord]) -> list[str]:
        """The ids of the runs that are shown, and keys of groups, in order.

        Pinned runs come first, and groups that have one.
        """
        records = list(newest_first)
        words = self._words
        self._words = {
            record.run_id: words.get(record.run_id) or state_word(record) for record in records
        }
        if not self.filter.is_empty:
            records = [record for record in records if self._is_shown(record)]
        pinned = {record.run_id for record in records if record.pinned}
        self.groups = _members(records) if self.is_grouped else {}
        ids = self._sorted(records)
        if pinned:
            ids = self._pinned_first(ids, pinned)
        return self._with_groups(ids) if self.groups else ids

    def _sorted(self, records: list[RunRecord]) -> list[str]:
        """Runs, and keys of groups in the places of their runs."""
        group_of = {run: name for name, runs in self.groups.items() for run in runs}
        if self.column == Column.STARTED and not self.setting:
            ids = [record.run_id for record in records]
            ids = ids if self.is_descending else ids[::-1]
            return self._grouped(ids, group_of)
        key = self._key()
        values = {record.run_id: key(record) for record in records}
        ids = self._by_value(values)
        units = self._grouped(ids, group_of)
        if not self.groups:
            return units
        # A group stands where its figure belongs, not where its best run would.
        for name, runs in self.groups.items():
            values[group_key(name)] = _middle([values[run] for run in runs])
        return self._by_value({unit: values[unit] for unit in units})

    def _by_value(self, values: dict[str, Any]) -> list[str]:
        known = [(value, run) for run, value in values.items() if value is not None]
        known.sort(key=operator.itemgetter(0), reverse=self.is_descending)
        # What has no value comes last, whichever way it is sorted.
        return [run for _, run in known] + [run for run, value in values.items() if value is None]

    def _grouped(self, ids: list[str], group_of: dict[str, str]) -> list[str]:
        """Each group once, where its first run was; its runs take over that order."""
        if not group_of:
            return ids
        units: dict[str, None] = {}
        members: dict[str, list[str]] = {}
        for run in ids:
            name = group_of.get(run)
            units[run if name is None else group_key(name)] = None
            if name is not None:
                members.setdefault(name, []).append(run)
        self.groups = members
        return list(units)

    def _pinned_first(self, units: list[str], pinned: set[str]) -> list[str]:
        keys = {group_key(name): runs for name, runs in self.groups.items()}
        for runs in self.groups.values():
            runs.sort(key=lambda run: run not in pinned)
        first = [
            unit for unit in units if unit in pinned or not pinned.isdisjoint(keys.get(unit, ()))
        ]
        chosen = set(first)
        return [*first, *(unit for unit in units if unit not in chosen)]

    def _with_groups(self, units: list[str]) -> list[str]:
        keys = {group_key(name): name for name in self.groups}
        rows: list[str] = []
        for unit in units:
            rows.append(unit)
            name = keys.get(unit)
            if name is not None and name not in self.folded:
                rows += self.groups[name]
        return rows

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
            haystack = self._haystacks[record.run_id] = haystack_of(record, self._settings)
        return self.filter.matches(record, haystack, self._words[record.run_id], self.search)

    def _key(self) -> Key:
        if self.setting:
            name, settings = self.setting, self._settings
            return lambda record: _comparable(settings.value(record, name)[0])
        return _key_of(self.column)


def _members(records: list[RunRecord]) -> dict[str, list[str]]:
    """The runs of groups that have enough of them for a row of their own."""
    found: dict[str, list[str]] = {}
    for record in records:
        if record.group:
            found.setdefault(record.group, []).append(record.run_id)
    return {name: runs for name, runs in found.items() if len(runs) >= FEWEST}


def _key_of(column: int) -> Key:
    now = time.time()
    keys: dict[int, Key] = {
        Column.STATE: lambda record: _RANKS.get(state_word(record), len(_RANKS)),
        Column.NAME: lambda record: record.run_name.lower(),
        Column.ENVIRONMENT: lambda record: record.env_id.lower() or None,
        Column.PROGRESS: lambda record: record.progress.fraction,
        Column.ELAPSED: lambda record: elapsed_s(record, now),
        Column.REMAINING: lambda record: remaining_s(record, now),
        Column.RETURN: lambda record: record.progress.mean_return,
        Column.SPEED: speed_of,
        Column.EPISODES: lambda record: record.progress.episodes or None,
        Column.TAGS: lambda record: ", ".join(record.tags).lower() or None,
        Column.NOTE: lambda record: record.note.lower() or None,
    }
    return keys.get(column, lambda record: record.run_id)


def _comparable(value: Any) -> tuple[bool, float, str] | None:
    """Numbers before texts: a setting may be either."""
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        return False, float(value), ""
    return True, 0.0, str(value).lower()


def _middle(values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if all(isinstance(value, int | float) for value in known):
        return statistics.fmean(known)
    return known[0]
