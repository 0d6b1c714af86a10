"""Runs in words: progress lines, endings, failures; never an escape code off a terminal."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mosaic.cli.commands.runs import say_runs
from mosaic.cli.shared import following, terminal
from mosaic.cli.shared.failures import outcome_status
from mosaic.cli.shared.run_view import progress_line, say_end, say_run
from mosaic.contracts.run_record import (
    Lineage,
    LineageKind,
    Origin,
    Progress,
    RunRecord,
    Transition,
)
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.front.run_words import elapsed_s, remaining_s, remarks_of, state_word

RUN = RunRecord(
    run_id="01HAAAAAAAAAAAAAAAAAAAAA01",
    run_name="cartpole",
    worker="some",
    state=RunState.EXEC,
    outcome=None,
    attempt=1,
    priority=0,
    created_at=990.0,
    updated_at=1000.0,
    started_at=1000.0,
    progress=Progress(2500, 10_000, 60, None, 23.5, 21.25, 500.0),
)
FAILED = replace(
    RUN,
    state=RunState.TERM,
    outcome=Outcome.FAILED,
    finished_at=1012.0,
    failure=FailureReason(FailureKind.EXIT_CODE, "It ended with 3.", "read the log", exit_code=3),
    stderr_tail=("Traceback:", "\x1b[31mValueError\x1b[0m\x07"),
    transitions=(Transition(RunState.INIT, 990.0, "submitted", 1),),
    paths={"journal": "/x/events.jsonl"},
)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_line_says_everything_on_one_line() -> None:
    line = progress_line(RUN, now=1005.0)
    for part in ("5.0 s", "running", "25%", "2,500/10,000 steps", "500 steps/s", "60 episodes",
                 "last return 23.5", "mean of last 100 21.25", "ETA 15 s"):  # fmt: skip
        assert part in line
    assert "\n" not in line


def test_run_without_an_end_in_sight_has_no_share_and_no_eta() -> None:
    line = progress_line(replace(RUN, progress=Progress(steps=5)), now=1005.0)
    assert "%" not in line
    assert "ETA" not in line


def test_remaining_time_falls_back_on_the_share_done() -> None:
    by_episodes = replace(RUN, progress=Progress(steps=1, episodes=25, total_episodes=100))
    assert remaining_s(by_episodes, now=1010.0) == pytest.approx(30.0)
    assert remaining_s(replace(RUN, progress=Progress(total_steps=10)), now=1010.0) is None
    assert remaining_s(FAILED) is None


def test_remaining_time_takes_the_speed_now_then_overall_and_none_while_paused() -> None:
    progress = Progress(steps=500, total_steps=1000, overall_steps_per_second=50.0)
    assert remaining_s(replace(RUN, progress=progress)) == 10.0
    now = replace(progress, steps_per_second=100.0)
    assert remaining_s(replace(RUN, progress=now)) == 5.0
    assert remaining_s(replace(RUN, progress=now, state=RunState.PAUSE)) is None
    # A pause is no part of what a share of the episodes took.
    plan = Progress(steps=500, episodes=10, total_episodes=40, overall_steps_per_second=50.0)
    assert remaining_s(replace(RUN, progress=plan), now=99_999.0) == 30.0


def test_elapsed_time_stops_with_the_run() -> None:
    assert elapsed_s(FAILED, now=5000.0) == 12.0
    assert elapsed_s(replace(RUN, started_at=None)) is None
    assert elapsed_s(RUN, now=900.0) == 0.0


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"state": RunState.INIT}, "queued"),
        ({"stop_requested": True}, "stopping"),
        ({"stalled": "no heartbeat"}, "stalled"),
        ({"state": RunState.TERM, "outcome": Outcome.CANCELED}, "canceled"),
    ],
)
def test_state_is_a_word(changes: dict[str, object], word: str) -> None:
    assert state_word(replace(RUN, **changes)) == word  # type: ignore[arg-type]


def test_exit_status_follows_the_outcome() -> None:
    outcomes = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELED)
    assert [outcome_status(replace(FAILED, outcome=o)) for o in outcomes] == [0, 1, 9]


def test_failure_is_shown_with_hint_and_last_words(capsys: pytest.CaptureFixture[str]) -> None:
    say_end(FAILED)
    text = capsys.readouterr().out
    for part in ("failed: cartpole", "after 12 s", "exit_code_3", "It ended with 3.",
                 "hint: read the log", "| Traceback:", "ValueError"):  # fmt: skip
        assert part in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_show_has_readable_sections(capsys: pytest.CaptureFixture[str]) -> None:
    say_run(FAILED)
    text = capsys.readouterr().out
    for title in ("Progress", "Resources", "Failure", "Files", "History"):
        assert f"\n{title}\n" in text
    assert "submitted" in text
    assert "\x1b" not in text


def test_what_people_should_know_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    manifest = tmp_path / "analytics.json"
    told = replace(RUN, paths={"manifest": str(manifest)})
    say_run(told)
    assert "Notes" not in capsys.readouterr().out, "there is no manifest yet"
    manifest.write_text(json.dumps({"metadata": {"remarks": ["no live view of Robot"]}}))
    say_run(told)
    assert "Notes\n    no live view of Robot\n" in capsys.readouterr().out
    say_end(told)
    assert "note: no live view of Robot" in capsys.readouterr().out
    manifest.write_text('{"metadata": {"remarks": 7}}')
    assert remarks_of(told) == [], "of no use, but no reason to fail"


def test_table_off_a_terminal_is_plain_and_has_full_ids(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say_runs([RUN, replace(FAILED, run_name="a much longer name of a run, 名前")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.startswith("RUN ")
    assert RUN.run_id in first
    assert "failed (exit_code_3)" in second
    assert "\x1b" not in first + second


def test_table_on_a_terminal_fits_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    say_runs([replace(RUN, run_name="名" * 60)])
    lines = screen.getvalue().splitlines()
    assert all(terminal.text_width(line) <= 100 for line in lines)
    assert "…" in lines[1]
    assert "\x1b" not in screen.getvalue()


def test_colours_appear_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.paint("x", "red", Screen()) == "\x1b[31mx\x1b[0m"
    assert terminal.paint("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.paint("x", "red", Screen()) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.paint("x", "red", Screen()) == "x"


def test_plain_view_speaks_on_changes_and_otherwise_seldom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with following.PlainProgress(interval_s=1000) as view:
        for record in (RUN, RUN, RUN, replace(RUN, state=RunState.PAUSE), RUN, FAILED):
            view.show(record)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert ["paused" in line for line in lines] == [False, True, False]


def test_live_view_draws_one_line_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with following.LiveProgress() as view:
        view.show(replace(RUN, stalled="[red]no markup[/red]"))
    for part in ("stalled", "25%", "[red]no markup[/red]", "2,500/10,000", "ETA 15 s"):
        assert part in screen.getvalue()


def test_a_note_stays_above_the_line_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with following.LiveProgress() as view:
        view.show(RUN)
        view.note("try [red]--compat[/red]\x1b[2J")
    assert "try [red]--compat[/red]" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()


def test_the_origin_is_a_column_where_one_is_not_from_here(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say_runs([RUN])
    assert "ORIGIN" not in capsys.readouterr().out
    say_runs([RUN, replace(RUN, origin=Origin.IMPORTED)])
    header, here, imported = capsys.readouterr().out.splitlines()
    assert header.split()[-1] == "ORIGIN"
    assert (here.split()[-1], imported.split()[-1]) == ("here", "imported")


def test_a_run_says_which_checkpoint_it_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    parent = "01M7GMPJSZ0BRD37XN2WQBJ4W5"
    say_run(replace(RUN, lineage=Lineage(parent, LineageKind.EVALUATED, 40_960)))
    assert f"evaluates {parent}, step 40,960" in capsys.readouterr().out
    say_run(RUN)
    assert "lineage" not in capsys.readouterr().out
