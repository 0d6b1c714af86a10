"""The life of a run, without any process."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.run_files import ExitRecord
from mosaic.contracts.run_state import (
    LEGAL_TRANSITIONS,
    LIVE_STATES,
    FailureKind,
    FailureReason,
    Outcome,
    RunState,
)
from mosaic.daemon.runs.run_lifecycle import (
    DecideAfterFault,
    Enqueue,
    Event,
    Exited,
    Failed,
    FaultHandled,
    Finish,
    Launch,
    NeverStarted,
    Paused,
    Placed,
    Registered,
    Release,
    RunStatus,
    Sampled,
    StopHost,
    StopRequested,
    Unpaused,
    decide,
)


def exit_record(code: int | None = 0, number: int | None = None, **values: object) -> ExitRecord:
    record = ExitRecord("0" * 26, 1, code, number, started_at=1.0, finished_at=2.0)
    return record._replace(**values)  # type: ignore[arg-type]


def play(*events: Event, run: RunStatus | None = None) -> tuple[RunStatus, list[RunState]]:
    """Apply events one after the other, as the supervisor would."""
    run = run or RunStatus(RunState.INIT)
    seen = []
    for event in events:
        decision = decide(run, event)
        if decision.state is not None:
            seen.append(decision.state)
            run = replace(run, state=decision.state)
            if decision.state is RunState.FAULT:
                run = replace(run, failures=run.failures + 1)
        for name in ("attempt", "stop_requested"):
            if name in decision.changes:
                run = replace(run, **{name: decision.changes[name]})
    return run, seen


def test_a_successful_run_goes_through_every_state_in_order() -> None:
    _, seen = play(Placed(), Registered(), Sampled(), Exited(exit_record(0)))
    assert seen == [RunState.HSHK, RunState.RDY, RunState.EXEC, RunState.TERM]


def test_success_is_recorded_as_outcome_and_frees_the_slots() -> None:
    decision = decide(RunStatus(RunState.EXEC, 1), Exited(exit_record(0)))
    assert decision.changes["outcome"] is Outcome.SUCCEEDED
    assert decision.instructions == (Release(), Finish())


def test_a_killed_worker_is_a_fault_with_its_signal() -> None:
    decision = decide(RunStatus(RunState.EXEC, 1), Exited(exit_record(None, 9)))
    assert decision.state is RunState.FAULT
    assert decision.changes["failure"].label == "signal_9"
    assert DecideAfterFault() in decision.instructions


def test_without_retries_a_fault_ends_as_failed() -> None:
    run, seen = play(Placed(), Registered(), Exited(exit_record(3)), FaultHandled())
    assert seen[-2:] == [RunState.FAULT, RunState.TERM]
    assert decide(replace(run, state=RunState.FAULT), FaultHandled()).changes == {
        "outcome": Outcome.FAILED
    }


def test_with_retries_a_fault_is_queued_again_until_they_are_used_up() -> None:
    run = RunStatus(RunState.INIT, max_attempts=2)
    crash = (Placed(), Registered(), Exited(exit_record(1)), FaultHandled())
    run, _ = play(*crash, run=run)
    assert run.state is RunState.INIT
    run, _ = play(*crash, run=run)
    assert run.state is RunState.TERM
    assert run.attempt == 2


def test_an_attempt_that_never_started_is_queued_again_without_counting_as_failure() -> None:
    decision = decide(RunStatus(RunState.HSHK, 1), NeverStarted())
    assert decision.state is RunState.INIT
    assert decision.instructions == (Release(), Enqueue(0))


def test_a_run_stopped_before_its_attempt_could_start_is_not_queued_again() -> None:
    status = RunStatus(RunState.HSHK, 1, stop_requested=True)
    decision = decide(status, NeverStarted())
    assert (decision.state, decision.changes["outcome"]) == (RunState.TERM, Outcome.CANCELED)
    assert decision.instructions == (Release(), Finish())


def test_each_placement_is_a_new_attempt() -> None:
    decision = decide(RunStatus(RunState.INIT, attempt=4), Placed())
    assert decision.changes["attempt"] == 5
    assert decision.instructions == (Launch(5),)


def test_stopping_a_queued_run_cancels_it_at_once() -> None:
    decision = decide(RunStatus(RunState.INIT), StopRequested("changed my mind"))
    assert decision.state is RunState.TERM
    assert decision.changes["outcome"] is Outcome.CANCELED
    assert decision.changes["failure"].label == "user_cancel"


@pytest.mark.parametrize("state", sorted(LIVE_STATES))
def test_stopping_a_live_run_asks_its_host_and_waits_for_the_exit(state: RunState) -> None:
    decision = decide(RunStatus(state, 1), StopRequested())
    assert decision.state is None
    assert decision.instructions == (StopHost("user_cancel"),)


def test_the_reason_of_a_stop_is_kept_until_the_run_is_over() -> None:
    asked = decide(RunStatus(RunState.EXEC, 1), StopRequested("seen enough"))
    assert asked.changes["stop_reason"] == "seen enough"
    run = RunStatus(RunState.EXEC, 1, stop_requested=True, stop_reason="seen enough")
    again = decide(run, StopRequested())  # somebody is impatient, and says nothing new
    assert again.changes["stop_reason"] == "seen enough"
    over = decide(run, Exited(exit_record(None, 9, stop_reason="user_cancel", was_killed=True)))
    sentence = "stopped by the user: seen enough (killed after the grace period)"
    assert over.changes["outcome"] is Outcome.CANCELED
    assert over.changes["failure"].message == over.reason == sentence


def test_a_run_that_ended_by_itself_just_before_the_stop_keeps_its_own_outcome() -> None:
    run = RunStatus(RunState.EXEC, 1, stop_requested=True)
    assert decide(run, Exited(exit_record(0))).changes["outcome"] is Outcome.SUCCEEDED
    assert decide(run, Exited(exit_record(7))).changes["failure"].label == "exit_code_7"


def test_a_stopped_run_whose_host_is_lost_counts_as_canceled() -> None:
    run = RunStatus(RunState.EXEC, 1, stop_requested=True)
    decision = decide(run, Failed(FailureReason(FailureKind.LOST)))
    assert decision.state is RunState.TERM
    assert decision.changes["outcome"] is Outcome.CANCELED


def test_reaching_a_limit_gracefully_is_a_success_that_names_the_limit() -> None:
    decision = decide(RunStatus(RunState.EXEC, 1), Exited(exit_record(0, stop_reason="time_limit")))
    assert decision.changes["outcome"] is Outcome.SUCCEEDED
    assert decision.changes["stop_reason"] == "max_duration"


def test_ignoring_the_time_limit_is_a_failure() -> None:
    record = exit_record(None, 9, stop_reason="time_limit", was_killed=True)
    failure = decide(RunStatus(RunState.EXEC, 1), Exited(record)).changes["failure"]
    assert failure.kind is FailureKind.TIME_LIMIT


def test_the_workers_own_error_wins_over_its_exit_code() -> None:
    event = Exited(exit_record(1), {"error": "no such env", "error_type": "ConfigError"})
    failure = decide(RunStatus(RunState.RDY, 1), event).changes["failure"]
    assert (failure.kind, failure.error_type) == (FailureKind.WORKER_ERROR, "ConfigError")
    assert failure.exit_code == 1


@pytest.mark.parametrize(
    ("stop_reason", "kind"),
    [
        ("memory_limit", FailureKind.MEMORY_LIMIT),
        ("process_limit", FailureKind.PROCESS_LIMIT),
        ("start_failed", FailureKind.LAUNCH_ERROR),
        ("host_terminated", FailureKind.INTERRUPTED),
        ("host_failed", FailureKind.LOST),
    ],
)
def test_what_the_host_did_is_the_reason(stop_reason: str, kind: FailureKind) -> None:
    event = Exited(exit_record(None, 9, stop_reason=stop_reason))
    assert decide(RunStatus(RunState.EXEC, 1), event).changes["failure"].kind is kind


def test_pause_and_resume_only_where_they_make_sense() -> None:
    assert decide(RunStatus(RunState.EXEC, 1), Paused()).state is RunState.PAUSE
    assert decide(RunStatus(RunState.PAUSE, 1), Unpaused()).state is RunState.EXEC
    assert decide(RunStatus(RunState.INIT), Paused()).state is None


EVENTS = st.sampled_from(
    [
        Placed(),
        NeverStarted(),
        Registered(),
        Sampled(),
        Paused(),
        Unpaused(),
        StopRequested(),
        Exited(exit_record(0)),
        Exited(exit_record(5)),
        Exited(exit_record(None, 9, stop_reason="user_cancel")),
        Failed(FailureReason(FailureKind.LOST)),
        FaultHandled(),
    ]
)


@given(st.lists(EVENTS, max_size=40), st.integers(1, 3))
def test_no_order_of_events_breaks_the_rules(events: list[Event], max_attempts: int) -> None:
    run = RunStatus(RunState.INIT, max_attempts=max_attempts)
    for event in events:
        before = run.state
        run, seen = play(event, run=run)
        assert all(state in LEGAL_TRANSITIONS[before] for state in seen)
        if before is RunState.TERM:
            assert not seen, "the end is final"
