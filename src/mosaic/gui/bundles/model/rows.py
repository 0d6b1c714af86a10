"""Bundles as rows of a table: what each is, what became of it, what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from mosaic.contracts.bundles import InstallPhase, VenvInfo, VenvState
from mosaic.front.bundle_words import disk_words, fetch_words, is_on_disk, state_words
from mosaic.front.human import age, amount, size


class Column(IntEnum):
    BUNDLE = 0
    STATE = 1
    SIZE = 2
    USED = 3


TITLES = {
    Column.BUNDLE: "Bundle",
    Column.STATE: "State",
    Column.SIZE: "Size",
    Column.USED: "Last used",
}
NUMBERS = frozenset({Column.SIZE, Column.USED})
NOTHING = "–"
_LONGEST_PROBLEM = 300


class Tone(StrEnum):
    """How a state is meant; each has a colour, beside its icon and its word."""

    QUIET = "muted"
    BUSY = "accent"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"


_LOOKS = {
    VenvState.PRESENT: ("check-circle-outline", Tone.GOOD),
    VenvState.INSTALLED: ("check-circle-outline", Tone.GOOD),
    VenvState.ABSENT: ("tray-arrow-down", Tone.QUIET),
    VenvState.INSTALLING: ("progress-download", Tone.BUSY),
    VenvState.BROKEN: ("alert-circle", Tone.BAD),
    VenvState.UNAVAILABLE: ("cancel", Tone.QUIET),
}
_FAILED = ("alert-circle-outline", Tone.BAD)


@dataclass(frozen=True)
class BundleRow:
    name: str
    title: str
    about: str
    state: str
    icon: str
    tone: Tone
    size: str
    size_of: str  # what it is the size of
    used: str
    fraction: float | None = None  # of an install that goes on
    problem: str = ""

    def text(self, column: int) -> str:
        match column:
            case Column.BUNDLE:
                return self.title
            case Column.STATE:
                return self.state
            case Column.SIZE:
                return " ".join((self.size, self.size_of)).strip()
            case Column.USED:
                return self.used
        return ""

    @property
    def sentence(self) -> str:
        """The whole row, for those who hear it."""
        told = [self.title, self.about, self.state]
        told += [self.text(Column.SIZE).removeprefix(NOTHING), self.problem]
        return ". ".join(part.rstrip(".") for part in told if part)

    @property
    def tooltip(self) -> str:
        # The name first: a tool tip whose first line has no bracket is never taken for markup.
        lines = (self.name, self.title, self.about, self.problem)
        return "\n".join(line for line in lines if line)


def has_failed(info: VenvInfo) -> bool:
    """It is not there because the last attempt failed."""
    progress = info.progress
    return (
        info.state is VenvState.ABSENT
        and progress is not None
        and progress.phase is InstallPhase.FAILED
    )


def row_of(info: VenvInfo, now: float | None = None) -> BundleRow:
    progress = info.progress
    failed = has_failed(info)
    icon, tone = _FAILED if failed else _LOOKS[info.state]
    taken, taken_by = _size_words(info)
    is_going_on = info.state is VenvState.INSTALLING and progress is not None
    return BundleRow(
        name=info.name,
        title=one_line(info.title) or info.name,
        about=one_line(info.about),
        state="install failed" if failed else _state_words(info),
        icon=icon,
        tone=tone,
        size=taken,
        size_of=taken_by,
        used=NOTHING if info.used_at is None else age(info.used_at, now),
        fraction=progress.fraction if is_going_on and progress is not None else None,
        problem=progress.message if failed and progress is not None else info.problem,
    )


def rows_of(infos: Iterable[VenvInfo], now: float | None = None) -> list[BundleRow]:
    return [row_of(info, now) for info in infos]


def found(rows: Sequence[BundleRow], text: str) -> list[BundleRow]:
    """Those with all of these words in their name, title, purpose or state."""
    words = text.lower().split()
    return [
        row
        for row in rows
        if all(
            word in f"{row.name}\n{row.title}\n{row.about}\n{row.state}".lower() for word in words
        )
    ]


def summary(
    infos: Sequence[VenvInfo], shown: int | None = None, left_over: Sequence[VenvInfo] = ()
) -> str:
    """`12 bundles · 3 installed, 2.1 GB`; with a filter `2 of 12 bundles · …`."""
    if not infos:
        return ""
    total = amount(len(infos), "bundle")
    told = total if shown in (None, len(infos)) else f"{shown} of {total}"
    held = [info for info in infos if is_on_disk(info)]
    parts = [told, "none installed yet"]
    if held:
        parts[1] = f"{len(held)} installed, {size(sum(info.disk_bytes for info in held))}"
    if left_over:
        older = size(sum(info.disk_bytes for info in left_over))
        parts.append(f"{len(left_over)} older, {older}")
    return " · ".join(parts)


def problems_text(problems: Sequence[str]) -> str:
    """Of packages that bring bundles: a list from which one is missing must not look complete."""
    if not problems:
        return ""
    more = f" And {amount(len(problems) - 1, 'more problem')}." if len(problems) > 1 else ""
    first = one_line(problems[0])
    shown = first if len(first) <= _LONGEST_PROBLEM else f"{first[: _LONGEST_PROBLEM - 1]}…"
    return f"Bundles of a package are left out. {shown}{more}"


def _state_words(info: VenvInfo) -> str:
    return "comes with MOSAIC" if info.state is VenvState.PRESENT else state_words(info)


def one_line(text: str) -> str:
    return " ".join(text.split())


def _size_words(info: VenvInfo) -> tuple[str, str]:
    """What it takes where it is here, otherwise what is to be fetched."""
    if is_on_disk(info):
        return disk_words(info) or NOTHING, "on disk"
    to_fetch = fetch_words(info)
    return (to_fetch, "to fetch") if to_fetch else (NOTHING, "")
