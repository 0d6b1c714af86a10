"""What is selected and shown, and who hears of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.errors import ConfigError, MosaicError
from mosaic.gui.state.notices import Severity, notice_of
from mosaic.gui.state.runs_state import CURVES, RunColours, RunsState
from mosaic.gui.state.targets import Mode, Page, ReplayTarget
from mosaic.gui.state.workbench_state import Connection, WorkbenchState


def record(run_id: str, revision: int = 1, **changes: Any) -> RunRecord:
    made = RunRecord(
        run_id=run_id,
        run_name=f"name of {run_id}",
        worker="some",
        state=RunState.EXEC,
        outcome=None,
        attempt=1,
        priority=0,
        created_at=0.0,
        updated_at=0.0,
        revision=revision,
    )
    return replace(made, **changes)


@pytest.fixture
def state() -> WorkbenchState:
    return WorkbenchState()


def heard(signal: Any) -> list[Any]:
    told: list[Any] = []
    signal.connect(lambda *values: told.append(values[0] if len(values) == 1 else values))
    return told


def test_runs_are_told_apart_by_what_has_changed() -> None:
    runs = RunsState()
    told = heard(runs.changed)
    runs.update([record("A"), record("B")])
    runs.update([record("A"), record("B", 2, env_id="CartPole-v1")])
    assert told == [{"A", "B"}, {"B"}]


def test_a_record_that_was_overtaken_is_left_out() -> None:
    runs = RunsState()
    runs.update([record("A", 5)])
    runs.update([record("A", 4, env_id="old")])
    found = runs.get("A")
    assert found is not None and found.revision == 5 and not found.env_id


def test_a_whole_list_removes_what_is_not_in_it() -> None:
    runs = RunsState()
    runs.update([record("A"), record("B")])
    gone = heard(runs.removed)
    runs.load([record("B"), record("C")])
    assert gone == [{"A"}] and runs.is_loaded
    assert [run.run_id for run in runs.newest_first()] == ["C", "B"]


def test_late_news_do_not_bring_a_deleted_run_back() -> None:
    runs = RunsState()
    runs.load([record("A", revision=7)])
    runs.remove(["A"])
    runs.update([record("A", revision=7)])
    runs.load([record("A", revision=6)])  # a list that was asked for before
    assert len(runs) == 0
    runs.update([record("A", revision=9)])
    assert "A" in runs, "restored"


def test_a_run_that_a_list_lacked_may_come_with_the_next_one() -> None:
    runs = RunsState()
    runs.update([record("A", revision=7)])
    runs.load([])  # asked for before it was submitted
    runs.load([record("A", revision=7)])
    assert "A" in runs


def test_the_first_of_the_selection_leads(state: WorkbenchState) -> None:
    told = heard(state.selection_changed)
    state.select(["B", "A", "B"])
    state.select(["B", "A"])
    assert state.leading_id == "B" and told == [("B", "A")]


def test_details_of_another_run_come_too_late(state: WorkbenchState) -> None:
    state.select(["A"])
    state.set_details(record("B"))
    assert state.details is None
    state.set_details(record("A"))
    assert state.details is not None and state.details.run_id == "A"


def test_another_leading_run_has_no_details_yet(state: WorkbenchState) -> None:
    state.select(["A"])
    state.set_details(record("A"))
    told = heard(state.details_changed)
    state.select(["A", "B"])
    assert state.details is not None and told == []
    state.select(["B"])
    assert state.details is None and told == [None]


def test_a_run_that_is_gone_is_no_longer_selected(state: WorkbenchState) -> None:
    state.runs.update([record("A"), record("B")])
    state.select(["A", "B"])
    state.runs.remove(["A"])
    assert state.selection == ("B",)


def test_a_page_is_opened_again_for_another_target(state: WorkbenchState) -> None:
    told = heard(state.page_changed)
    state.show_replay(ReplayTarget("A"))
    state.show_replay(ReplayTarget("A", 7))
    assert told == [Page.REPLAY, Page.REPLAY]
    assert state.replay == ReplayTarget("A", 7)


def test_selecting_another_run_leaves_what_is_about_other_runs(state: WorkbenchState) -> None:
    state.select(["A"])
    state.show_replay(ReplayTarget("A"))
    told = heard(state.page_changed)
    state.select(["A", "B"])
    assert told == []
    state.select(["B"])
    assert told == [Page.LIVE]
    state.compare(["A", "B"])
    state.select(["B", "A"])  # to be compared next
    assert told == [Page.LIVE, Page.COMPARE]
    state.select(["A"])
    assert told == [Page.LIVE, Page.COMPARE, Page.LIVE]


def test_a_page_leads_back_to_the_selected_run_or_to_the_beginning(state: WorkbenchState) -> None:
    told = heard(state.page_changed)
    assert not state.leave_page()
    state.compare(["A", "B"])
    assert state.leave_page()
    assert told == [Page.COMPARE, Page.WELCOME]
    state.select(["A"])
    state.show_replay(ReplayTarget("A"))
    assert state.leave_page()
    assert told[2:] == [Page.REPLAY, Page.LIVE]
    assert not state.leave_page()


def test_what_stays_the_same_is_not_told(state: WorkbenchState) -> None:
    modes, connections = heard(state.mode_changed), heard(state.connection_changed)
    environments = heard(state.environment_changed)
    state.set_mode(state.mode)
    state.set_mode(Mode.HUMAN)
    state.set_connection(state.connection)
    state.set_connection(Connection.LOST, "no answer")
    state.set_connection(Connection.LOST, "no answer")
    state.choose_environment(state.env_id)
    assert modes == ["human"] and connections == ["lost"] and environments == []


def test_a_run_keeps_its_colour_while_others_come_and_go() -> None:
    colours = RunColours()
    colours.show(["A", "B", "C"])
    of_c = colours.of("C")
    colours.show(["C", "D"])
    assert colours.of("C") == of_c
    assert colours.of("D") == CURVES[0] and colours.of("A") is None


def test_runs_shown_together_have_different_colours_as_long_as_there_are_any() -> None:
    colours = RunColours()
    runs = [str(number) for number in range(len(CURVES))]
    colours.show(runs)
    assert {colours.of(run) for run in runs} == set(CURVES)
    colours.show([*runs, "one more"])
    assert colours.of("one more") in CURVES


def test_an_error_is_two_sentences_that_stay() -> None:
    notice = notice_of(ConfigError("The seed is -1", hint="give 0 or more"))
    assert notice.text == "The seed is -1. Give 0 or more"
    assert notice.severity is Severity.BAD and notice.seconds == 0
    assert notice_of(MosaicError("It broke")).text == "It broke"


def test_what_people_should_know_is_said_once_while_the_run_goes_on(state: WorkbenchState) -> None:
    told = heard(state.said)

    def details(*remarks: str, **changes: Any) -> RunRecord:
        return record("A", manifest={"metadata": {"remarks": list(remarks)}}, **changes)

    state.select(["A"])
    state.set_details(details())
    assert told == []
    state.set_details(details("try --compat"))
    state.set_details(details("try --compat"))
    assert [notice.text for notice in told] == ["name of A: try --compat"]
    state.set_details(details("try --compat", "no live view", "no replay"))
    assert told[-1].text == "name of A: no live view (and 1 more note in its config)"
    state.set_details(details("too late", state=RunState.TERM, outcome=Outcome.SUCCEEDED))
    assert len(told) == 2
