"""What the welcome page says about the machine and about recent runs."""

from __future__ import annotations

from dataclasses import replace

from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.gui.welcome.model import CheckVerdict, WatchedExample, check_rows, recent_runs, summary
from tests.registry_samples import new_run
from tests.unit.gui.shell.test_header_texts import HEALTH

FINE = CheckResult("python", True, "3.11", "", required=True)
REMARK = CheckResult("disk", False, "1 GB free", "delete old runs", required=False)
PROBLEM = CheckResult("home", False, "read-only", "make it writable", required=True)
WORKER = WorkerInfo("some", "some", "/python", "here", "", None, ())


def online() -> WorkbenchState:
    state = WorkbenchState()
    state.set_health(HEALTH)
    state.set_connection(Connection.ONLINE)
    state.set_workers([WORKER])
    return state


def test_the_worst_comes_first_with_its_fix() -> None:
    rows = check_rows([FINE, REMARK, PROBLEM], online())
    assert (rows[0].verdict, rows[0].title, rows[0].fix) == (
        CheckVerdict.FAILURE,
        "home",
        "make it writable",
    )
    assert "disk" in [row.title for row in rows if row.verdict is CheckVerdict.WARNING]
    assert rows[-1].verdict is CheckVerdict.OK
    assert summary(rows).text == "1 problem to fix"


def test_workers_of_the_daemon_are_among_the_checks() -> None:
    titles = [row.title for row in check_rows([FINE], online())]
    assert "worker some" in titles and "gpus" in titles


def test_a_lost_daemon_is_a_problem_and_one_that_is_looked_for_is_not() -> None:
    state = WorkbenchState()
    assert summary(check_rows([FINE], state)).verdict is CheckVerdict.WAITING
    state.set_connection(Connection.LOST, "silent for 3 s")
    (worst, *_) = check_rows([FINE], state)
    assert (worst.verdict, worst.text) == (CheckVerdict.FAILURE, "silent for 3 s")


def test_it_waits_while_the_workers_are_asked_again() -> None:
    assert summary(check_rows([FINE], online(), is_asking=True)).verdict is CheckVerdict.WAITING


def test_all_is_well() -> None:
    rows = [row for row in check_rows([FINE], online()) if row.verdict is CheckVerdict.OK]
    assert summary(rows).text == "This machine is ready for runs"


def test_recent_runs_are_the_first_five_in_words() -> None:
    records = [new_run(f"run {n}", created_at=1000.0).record for n in range(8)]
    found = recent_runs(records, now=1120.0)
    assert [run.name for run in found] == [f"run {n}" for n in range(5)]
    assert (found[0].word, found[0].detail) == ("queued", "CartPole-v1 · 2 min ago")


def test_a_watched_example_ends_in_its_replay() -> None:
    state = WorkbenchState()
    watched = WatchedExample(state)
    record = new_run().record
    state.runs.update([record])
    state.select([record.run_id])
    state.show_page(Page.LIVE)
    watched.follow(record.run_id)
    page_before = state.page
    over = replace(record, state=RunState.TERM, outcome=Outcome.SUCCEEDED, revision=1)
    state.runs.update([over])
    assert (page_before, state.page) == (Page.LIVE, Page.REPLAY)
    assert state.replay == ReplayTarget(record.run_id, 0)


def test_whoever_has_turned_away_is_left_alone() -> None:
    state = WorkbenchState()
    watched = WatchedExample(state)
    record = new_run().record
    state.runs.update([record])
    state.select([record.run_id])
    watched.follow(record.run_id)
    state.show_page(Page.WELCOME)
    over = replace(record, state=RunState.TERM, outcome=Outcome.SUCCEEDED, revision=1)
    state.runs.update([over])
    assert state.page is Page.WELCOME
