"""GroupRow: runs that differ in their seed as one row, which can be folded."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import age, amount, count
from mosaic.front.run_words import elapsed_s, remaining_s, speed_of, state_word
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.rows import NONE, clock, return_text, speed_text

# No run has an id like this.
_MARK = "group\x1f"
FEWEST = 2


def group_key(name: str) -> str:
    """What stands for a group where otherwise the id of a run stands."""
    return f"{_MARK}{name}"


def group_name(key: str) -> str | None:
    """None for the id of a run."""
    return key[len(_MARK) :] if key.startswith(_MARK) else None


@dataclass(frozen=True, slots=True)
class GroupRow:
    name: str
    run_ids: tuple[str, ...]
    word: str  # the state that its runs share, else how many are in which
    state: str  # the one that needs a person most, for the picture
    environment: str
    fraction: float | None
    progress: str
    elapsed: str
    remaining: str
    mean_return: str
    speed: str
    episodes: str
    started: str
    tags: tuple[str, ...]

    def text(self, column: int) -> str:
        match column:
            case Column.STATE:
                return self.word
            case Column.NAME:
                return f"{self.name} · {amount(len(self.run_ids), 'run')}"
            case Column.ENVIRONMENT:
                return self.environment
            case Column.PROGRESS:
                return self.progress
            case Column.ELAPSED:
                return self.elapsed
            case Column.REMAINING:
                return self.remaining
            case Column.RETURN:
                return self.mean_return
            case Column.SPEED:
                return self.speed
            case Column.EPISODES:
                return self.episodes
            case Column.STARTED:
                return self.started
            case Column.TAGS:
                return ", ".join(self.tags)
        return ""


_URGENCY = ("failing", "failed", "stalled", "running", "stopping", "paused", "ready", "starting")


def group_row(name: str, records: Sequence[RunRecord], now: float | None = None) -> GroupRow:
    """The figures of a group are means over its runs; see docs/reference/numbers.md."""
    at = time.time() if now is None else now
    states = Counter(state_word(record) for record in records)
    fractions = [record.progress.fraction for record in records]
    known = [fraction for fraction in fractions if fraction is not None]
    fraction = statistics.fmean(known) if known and len(known) == len(records) else None
    environments = {record.env_id for record in records}
    left = [found for record in records if (found := remaining_s(record, at)) is not None]
    shared = set.intersection(*(set(record.tags) for record in records)) if records else set()
    episodes = sum(record.progress.episodes for record in records)
    speeds = [found for record in records if (found := speed_of(record))]
    took = [found for record in records if (found := elapsed_s(record, at)) is not None]
    returns = [
        record.progress.mean_return for record in records if record.progress.mean_return is not None
    ]
    return GroupRow(
        name=name,
        run_ids=tuple(record.run_id for record in records),
        word=_states_text(states),
        state=min(states, key=lambda word: _rank(word, states)),
        environment=(next(iter(environments)) or NONE) if len(environments) == 1 else NONE,
        fraction=fraction,
        progress="" if fraction is None else _percent(fraction),
        elapsed=clock(statistics.fmean(took)) if took else NONE,
        # All of them are through when the last one is.
        remaining=clock(max(left)) if left else NONE,
        mean_return=spread_text(returns),
        speed=speed_text(statistics.fmean(speeds)) if speeds else NONE,
        episodes=count(episodes) if episodes else NONE,
        started=age(max(record.created_at for record in records), at),
        tags=tuple(tag for tag in records[0].tags if tag in shared),
    )


def spread_text(values: Sequence[float]) -> str:
    """`487.2 ± 12.1`: mean and standard deviation; one value stands alone."""
    if not values:
        return NONE
    mean = return_text(statistics.fmean(values))
    if len(values) < 2:
        return mean
    return f"{mean} ± {return_text(statistics.stdev(values))}"


def _states_text(states: Counter[str]) -> str:
    if len(states) == 1:
        return next(iter(states))
    ranked = sorted(states, key=lambda word: _rank(word, states))
    return f"{states[ranked[0]]} {ranked[0]}"


def _rank(word: str, states: Counter[str]) -> tuple[int, int]:
    place = _URGENCY.index(word) if word in _URGENCY else len(_URGENCY)
    return place, -states[word]


def _percent(fraction: float) -> str:
    return f"{min(99, int(fraction * 100)) if fraction < 1 else 100} %"


def group_details(row: GroupRow, names: Iterable[str]) -> str:
    """For the tooltip: which runs they are."""
    listed = list(names)
    shown = listed[:12]
    more = [f"and {len(listed) - len(shown)} more"] if len(listed) > len(shown) else []
    head = f"{amount(len(row.run_ids), 'run')} of the group {row.name}"
    return "\n".join([head, "figures are means over them", *shown, *more])
