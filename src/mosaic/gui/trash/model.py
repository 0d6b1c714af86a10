"""The trash as rows and sentences. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mosaic.contracts.keeping import TrashedRun
from mosaic.front.human import age, amount, size
from mosaic.front.run_words import goes_words

TITLES = ("Run", "Deleted", "Goes for good", "Size", "Why")
NUMBERS = frozenset({1, 2, 3})
# What the daemon says when a person deleted it.
_BY_HAND = "user"
SECONDS_TO_UNDO = 10.0


@dataclass(frozen=True)
class TrashRow:
    run_id: str
    cells: tuple[str, ...]
    is_going: bool = False  # for good, unless somebody stops it in time


def trash_rows(
    runs: Sequence[TrashedRun], going: Collection[str] = (), now: float | None = None
) -> list[TrashRow]:
    """The last deleted first."""
    return [
        TrashRow(
            run.run_id,
            (
                run.run_name,
                age(run.deleted_at, now),
                "in a moment" if run.run_id in going else goes_words(run.goes_at, now),
                size(run.bytes),
                "by hand" if run.reason == _BY_HAND else run.reason,
            ),
            run.run_id in going,
        )
        for run in runs
    ]


def found(runs: Sequence[TrashedRun], text: str) -> list[TrashedRun]:
    """Those with all of these words in their name, id or reason."""
    words = text.lower().split()
    return [
        run
        for run in runs
        if all(word in f"{run.run_name}\n{run.run_id}\n{run.reason}".lower() for word in words)
    ]


def summary(runs: Sequence[TrashedRun], shown: int) -> str:
    """`12 runs · 3.1 GB`; with a filter `3 of 12 runs · 3.1 GB`."""
    if not runs:
        return ""
    total = amount(len(runs), "run")
    told = total if shown == len(runs) else f"{shown} of {total}"
    return f"{told} · {size(sum(run.bytes for run in runs))}"


def going_text(runs: Sequence[TrashedRun]) -> str:
    what = runs[0].run_name if len(runs) == 1 else amount(len(runs), "run")
    freed = size(sum(run.bytes for run in runs))
    return f"{what} will be gone for good in {SECONDS_TO_UNDO:.0f} s, {freed} freed"
