"""A run as a row of the table: what stands in each column."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.front.human import age, count, moment
from mosaic.front.run_words import (
    elapsed_s,
    origin_words,
    remaining_s,
    speed_of,
    state_word,
    steps_text,
)
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.state.awaited_bundles import awaited_bundle, awaited_install

NONE = "–"
_ORIGIN_MARKS = {Origin.SCRIPT: ("script-text-outline",), Origin.IMPORTED: ("import",)}
_SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class RunRow:
    run_id: str
    word: str
    name: str
    environment: str
    fraction: float | None
    progress: str
    note: str  # stands in place of the progress: why a run waits or seems stuck
    installed: float | None  # how much of what it needs, while it waits for that
    elapsed: str
    remaining: str
    mean_return: str
    speed: str
    episodes: str
    started: str
    tags: tuple[str, ...]
    remark: str  # the note a person wrote, in one line
    marks: tuple[str, ...]  # icons behind the name: where the run comes from, that it is pinned

    def text(self, column: int) -> str:
        match column:
            case Column.STATE:
                return self.word
            case Column.NAME:
                return self.name
            case Column.ENVIRONMENT:
                return self.environment
            case Column.PROGRESS:
                return self.note or self.progress
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
            case Column.NOTE:
                return self.remark
        return ""


def row_of(record: RunRecord, now: float | None = None) -> RunRow:
    at = time.time() if now is None else now
    progress = record.progress
    fraction = progress.fraction
    elapsed, remaining = elapsed_s(record, at), remaining_s(record, at)
    speed, install = speed_of(record), awaited_install(record)
    return RunRow(
        run_id=record.run_id,
        word=state_word(record),
        name=record.run_name,
        environment=record.env_id or NONE,
        fraction=fraction,
        progress=_progress_text(record, fraction),
        note=_note(record),
        installed=None if install is None else install.fraction or 0.0,
        elapsed=NONE if elapsed is None else clock(elapsed),
        remaining=NONE if remaining is None else clock(remaining),
        mean_return=NONE if progress.mean_return is None else return_text(progress.mean_return),
        speed=NONE if not speed else speed_text(speed),
        episodes=count(progress.episodes) if progress.episodes else NONE,
        started=age(record.created_at, at),
        tags=record.tags,
        remark=" ".join(record.note.split()),
        marks=(*_ORIGIN_MARKS.get(record.origin, ()), *(("pin",) if record.pinned else ())),
    )


def details_of(record: RunRecord) -> str:
    """For the tooltip of a row: what does not fit into it."""
    # The id first: a tooltip whose first line has no bracket is never taken for markup.
    lines = [record.run_id, f"{record.run_name} · {record.worker}"]
    lines.append(f"submitted {moment(record.created_at)}")
    if record.progress.steps or record.progress.total_steps:
        lines.append(steps_text(record))
    if record.group:
        lines.append(f"group {record.group}")
    if record.attempt > 1:
        lines.append(f"attempt {record.attempt}")
    for remark in (record.waiting, record.stalled, record.stop_reason):
        if remark:
            lines.append(remark)
    if record.failure is not None and record.failure.message:
        lines.append(record.failure.message)
    if origin := origin_words(record):
        lines.append(origin)
    if record.tags:
        lines.append(f"tags: {', '.join(record.tags)}")
    if record.note:
        lines += ["", record.note]
    if record.pinned:
        lines.append("pinned: never chosen by `mosaic clean`")
    return "\n".join(lines)


def clock(seconds: float) -> str:
    """`00:42`, `1:02:10`, `4 d 03 h`."""
    if not math.isfinite(seconds) or seconds < 0:
        return NONE
    whole = int(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours >= 100:
        return f"{hours // 24} d {hours % 24:02} h"
    if hours:
        return f"{hours}:{minutes:02}:{whole % 60:02}"
    return f"{minutes:02}:{whole % 60:02}"


def speed_text(per_second: float) -> str:
    """`18.4k/s`, `523/s`, `0.5/s`."""
    if not math.isfinite(per_second):
        return NONE
    for size, unit in _SI:
        if per_second >= size * 0.9995:
            return f"{per_second / size:.1f}{unit}/s"
    return f"{per_second:.0f}/s" if per_second >= 9.95 else f"{per_second:.1f}/s"


def return_text(value: float) -> str:
    """One decimal, in every row; more only where nothing would be left without."""
    if not math.isfinite(value):
        return str(value)
    for size, unit in _SI:
        # Thousands have room for another digit.
        if abs(value) >= (10 * size if unit == "k" else size):
            return f"{value / size:,.2f}{unit}"
    if value and abs(value) < 0.05:
        return f"{value:.1e}"
    return f"{value:,.1f}"


def _note(record: RunRecord) -> str:
    """In a few words, where the daemon's sentence would be cut off before it says anything."""
    if record.is_over:
        return ""
    if awaited_install(record) is None and awaited_bundle(record):
        return "needs an install"
    return record.waiting or record.stalled


def _progress_text(record: RunRecord, fraction: float | None) -> str:
    if fraction is not None:
        # 100 % is kept for runs that really are there.
        return f"{min(99, int(fraction * 100)) if fraction < 1 else 100} %"
    return steps_text(record) if record.progress.steps else ""
