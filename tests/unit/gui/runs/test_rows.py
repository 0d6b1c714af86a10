"""What stands in the table of runs."""

from __future__ import annotations

import pytest

from mosaic.contracts.run_record import Origin, Progress
from mosaic.contracts.run_state import FailureKind, RunState
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.rows import (
    NONE,
    clock,
    details_of,
    return_text,
    row_of,
    speed_text,
)
from tests.unit.gui.run_samples import START, failed, over, record


def test_a_running_run_fills_every_column() -> None:
    row = row_of(record(1, tags=("good", "new"), note="what it\nis for"), now=START + 43)
    assert [row.text(column) for column in Column] == [
        "",
        "running",
        "ppo-CartPole-v1-seed1",
        "CartPole-v1",
        "50 %",
        "00:42",
        "00:00",
        "123.5",
        "18.4k/s",
        "20",
        "42 s ago",
        "",
        "",
        "good, new",
        "what it is for",
        "",
    ]


def test_a_run_that_is_over_has_a_fixed_time_and_nothing_left() -> None:
    row = row_of(over(1), now=START + 9_999)
    assert (row.word, row.elapsed, row.remaining) == ("succeeded", "01:00", NONE)


def test_a_queued_run_says_why_it_waits() -> None:
    waiting = record(1, state=RunState.INIT, started_at=None, progress=Progress())
    row = row_of(record(1, state=RunState.INIT, waiting="waiting for 2 CPUs"))
    assert row.text(Column.PROGRESS) == "waiting for 2 CPUs"
    assert row_of(waiting).elapsed == NONE
    assert row_of(waiting).text(Column.PROGRESS) == ""


def test_a_run_without_a_goal_shows_its_steps() -> None:
    row = row_of(record(1, progress=Progress(steps=1_234_567)))
    assert row.fraction is None
    assert row.progress == "1,234,567 steps"


def test_a_hundred_percent_is_only_said_when_it_is_true() -> None:
    assert row_of(record(1, progress=Progress(99_999, 100_000))).progress == "99 %"
    assert row_of(record(1, progress=Progress(100_000, 100_000))).progress == "100 %"


def test_a_paused_run_promises_no_end() -> None:
    assert row_of(record(1, state=RunState.PAUSE)).remaining == NONE


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.4, "00:00"),
        (62, "01:02"),
        (3_730, "1:02:10"),
        (400_000, "4 d 15 h"),
        (float("inf"), NONE),
        (-1, NONE),
    ],
)
def test_clocks(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.parametrize(
    ("speed", "shown"),
    [
        (18_412, "18.4k/s"),
        (999.6, "1.0k/s"),
        (523.2, "523/s"),
        (0.52, "0.5/s"),
        (2.5e6, "2.5M/s"),
        (float("nan"), NONE),
    ],
)
def test_speeds(speed: float, shown: str) -> None:
    assert speed_text(speed) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (487.21, "487.2"),
        (-12_345.6, "-12.35k"),
        (-3.2e6, "-3.20M"),
        (0.0, "0.0"),
        (0.001, "1.0e-03"),
        (float("nan"), "nan"),
    ],
)
def test_returns(value: float, shown: str) -> None:
    assert return_text(value) == shown


def test_the_tooltip_has_what_the_row_leaves_out() -> None:
    told = details_of(failed(1, FailureKind.LOST, "The host died.", pinned=True, group="five"))
    assert "01SAMPLE" in told and "The host died." in told
    assert "pinned" in told and "group five" in told


@pytest.mark.parametrize(
    ("origin", "is_pinned", "marks", "words"),
    [
        (Origin.HERE, False, (), ""),
        (Origin.HERE, True, ("pin",), ""),
        (Origin.SCRIPT, False, ("script-text-outline",), "recorded by a script"),
        (Origin.IMPORTED, True, ("import", "pin"), "imported from an archive"),
    ],
)
def test_a_row_tells_where_its_run_comes_from(
    origin: Origin, is_pinned: bool, marks: tuple[str, ...], words: str
) -> None:
    run = record(1, origin=origin, pinned=is_pinned)
    assert row_of(run).marks == marks
    assert words in details_of(run)
