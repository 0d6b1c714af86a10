"""RunsState: every run the daemon knows, as it is now, and the colour of each that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from psygnal import Signal

from mosaic.contracts.run_record import RunRecord


class RunsState:
    """Every run the daemon knows, as it is now."""

    changed = Signal(frozenset)  # ids of runs that are new or different
    removed = Signal(frozenset)

    def __init__(self) -> None:
        self._records: dict[str, RunRecord] = {}
        self._deleted: dict[str, int] = {}  # the last revision of each
        self.is_loaded = False  # the daemon's list has arrived, be it empty

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._records

    def get(self, run_id: str) -> RunRecord | None:
        return self._records.get(run_id)

    @property
    def run_ids(self) -> frozenset[str]:
        return frozenset(self._records)

    def newest_first(self) -> list[RunRecord]:
        # Ids are ULIDs: they sort by the time of submission.
        return sorted(self._records.values(), key=lambda record: record.run_id, reverse=True)

    def update(self, records: Iterable[RunRecord]) -> None:
        """Records come in any order; one that is older than what is known is left out.

        So are late news of a run that was deleted; one that is restored has a newer revision.
        """
        news = set()
        for record in records:
            known = self._records.get(record.run_id)
            if record.revision <= self._deleted.get(record.run_id, -1):
                continue
            if known is None or record.revision >= known.revision:
                self._records[record.run_id] = record
                if record != known:
                    news.add(record.run_id)
        if news:
            self.changed.emit(frozenset(news))

    def load(self, records: Iterable[RunRecord], known: Iterable[str] | None = None) -> None:
        """The whole list: what is not in it is gone.

        `known`: the runs that were there when it was asked for; those that came since stay.
        """
        listed = list(records)
        self.is_loaded = True
        expected = set(self._records if known is None else known)
        self._drop(expected - {record.run_id for record in listed})
        self.update(listed)

    def remove(self, run_ids: Iterable[str]) -> None:
        """They were deleted."""
        chosen = set(run_ids)
        known = [self._records[run] for run in chosen if run in self._records]
        self._deleted.update({record.run_id: record.revision for record in known})
        self._drop(chosen)

    def _drop(self, run_ids: set[str]) -> None:
        gone = {run for run in run_ids if self._records.pop(run, None) is not None}
        if gone:
            self.removed.emit(frozenset(gone))


# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
CURVES = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#f0e442", "#999999")


class RunColours:
    """The one source of colours, for the table, the charts and comparisons.

    A run keeps its colour as long as it is shown; a new one takes the first that is free. Runs of
    one group have one colour, as they have one curve.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}  # of runs by themselves, and of groups
        self._units: dict[str, str] = {}  # what each run has its colour from

    def show(self, run_ids: Iterable[str], groups: Mapping[str, str] | None = None) -> None:
        """These runs are shown from now on, and no others; `groups` has the names of theirs."""
        known = groups or {}
        self._units = {run: f"{_GROUP}{known[run]}" if known.get(run) else run for run in run_ids}
        wanted = list(dict.fromkeys(self._units.values()))
        kept = {unit: self._places[unit] for unit in wanted if unit in self._places}
        taken = set(kept.values())
        free = (place for place in range(len(wanted)) if place not in taken)
        for unit in wanted:
            if unit not in kept:
                kept[unit] = next(free)
        self._places = kept

    def of(self, run_id: str) -> str | None:
        """None for a run that is not shown."""
        place = self._places.get(self._units.get(run_id, ""))
        return None if place is None else CURVES[place % len(CURVES)]


# No run has an id like this.
_GROUP = "group\x1f"
