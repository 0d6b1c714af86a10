from __future__ import annotations

import math

import pytest

from mosaic.telemetry.store.ingest_state import IngestState
from tests.journal_lines import RUN_ID


@pytest.fixture
def state() -> IngestState:
    return IngestState(RUN_ID)


def test_progress_takes_the_largest_count_of_steps(state: IngestState) -> None:
    state.attempt_steps = 5
    assert state.progress([]).steps == 5
    state.take_payload({"steps": 40, "episodes": 3})
    assert (state.progress([]).steps, state.progress([]).episodes) == (40, 3)
    state.take_payload({"steps": 30})
    assert state.progress([]).steps == 40


@pytest.mark.parametrize("nonsense", [None, "7", -1, 2.5, True, 2**70, [1]])
def test_payloads_may_hold_anything(state: IngestState, nonsense: object) -> None:
    state.take_payload({"steps": nonsense, "episodes": nonsense, "env_id": 3})
    state.take_payload({"total_steps": nonsense, "total_episodes": nonsense})
    progress = state.progress([])
    assert (progress.steps, progress.episodes, progress.total_steps) == (0, 0, None)
    assert state.env_id == ""


def test_returns_that_are_not_finite_are_left_out_of_progress(state: IngestState) -> None:
    progress = state.progress([1.0, math.nan, 3.0, math.inf])
    assert (progress.last_return, progress.mean_return) == (3.0, 2.0)
    assert state.progress([math.nan]).last_return is None


def test_the_mean_of_returns_near_the_largest_number_is_told(state: IngestState) -> None:
    assert state.progress([1.7e308] * 100).mean_return == pytest.approx(1.7e308)
    assert state.progress([1.7e308, -1.7e308] * 50).mean_return == 0.0


def test_speed_follows_the_last_seconds_only(state: IngestState) -> None:
    assert state.progress([]).steps_per_second is None
    for second in range(60):
        state.attempt_steps += 1000 if second < 30 else 100
        state.measure_rate(1000.0 + second)
    assert state.progress([]).steps_per_second == pytest.approx(100.0)


def test_speed_survives_a_clock_that_is_set_back_and_silence(state: IngestState) -> None:
    state.measure_rate(1000.0)
    state.attempt_steps = 50
    state.measure_rate(1001.0)
    assert state.progress([]).steps_per_second == pytest.approx(50.0)
    state.measure_rate(1500.0)  # a heartbeat without progress says nothing about speed
    assert state.progress([]).steps_per_second == pytest.approx(50.0)
    state.attempt_steps = 60
    state.measure_rate(10.0)
    assert state.progress([]).steps_per_second is None


def test_sequence_numbers_are_accounted_for(state: IngestState) -> None:
    for seq in (0, 1, 2, 5, 5, 3, 6):
        if seq == state.last_seq + 1:
            state.last_seq = seq
        else:
            state.note_seq(seq)
    assert (state.last_seq, state.missing, state.repeated) == (6, 2, 2)


def test_getting_ready_is_not_part_of_the_speed() -> None:
    state = IngestState("run")
    for second in (0.0, 10.0):
        state.measure_rate(second)
    state.reported_steps = 500
    state.measure_rate(11.0)
    assert state.progress([]).steps_per_second == 500.0


def test_steps_of_a_loaded_checkpoint_are_not_part_of_the_speed() -> None:
    state = IngestState("run")
    state.measure_rate(0.0)
    state.continue_from(1_000_000)
    state.measure_rate(5.0)
    state.reported_steps = 1_000_300
    state.measure_rate(6.0)
    progress = state.progress([])
    assert (progress.steps, progress.steps_per_second) == (1_000_300, 300.0)


def running(state: IngestState, since: float, seconds: int, per_second: int) -> float:
    """The time afterwards."""
    for second in range(seconds):
        state.attempt_steps += per_second
        state.measure_rate(since + second + 1)
    return since + seconds


def test_after_a_pause_all_speeds_are_right_at_once(state: IngestState) -> None:
    state.measure_rate(0.0)
    now = running(state, 0.0, 30, 100)
    state.pause(now)
    for second in range(600):  # signs of life
        state.measure_rate(now + second)
    paused = state.progress([])
    assert (paused.steps_per_second, paused.overall_steps_per_second) == (100.0, 100.0)
    state.unpause(now + 600)
    running(state, now + 600, 1, 100)
    progress = state.progress([])
    assert progress.steps_per_second == pytest.approx(100.0)
    assert progress.overall_steps_per_second == pytest.approx(100.0)


def test_a_worker_that_goes_on_without_a_word_is_not_paused_any_more(state: IngestState) -> None:
    state.measure_rate(0.0)
    now = running(state, 0.0, 10, 100)
    state.pause(now)
    running(state, now + 1000, 10, 100)
    # When exactly it went on nobody knows: the time up to its first sign counts as the pause.
    assert state.progress([]).steps_per_second == pytest.approx(100.0, rel=0.3)
    assert state.progress([]).overall_steps_per_second == pytest.approx(100.0, rel=0.1)


def test_the_speed_overall_is_of_all_attempts_and_of_no_checkpoint(state: IngestState) -> None:
    state.measure_rate(0.0)
    now = running(state, 0.0, 10, 100)
    state.begin_attempt(2, 5000)
    state.continue_from(500)
    state.measure_rate(now + 60)
    state.measure_rate(now + 90)  # it took that long to get ready
    running(state, now + 90, 10, 300)
    progress = state.progress([])
    assert progress.steps == 3500
    assert progress.overall_steps_per_second == pytest.approx(200.0)
    assert progress.steps_per_second == pytest.approx(300.0)


def test_steps_go_back_to_those_of_the_checkpoint(state: IngestState) -> None:
    state.take_payload({"steps": 900})
    state.continue_from(400)
    assert state.progress([]).steps == 400
    state.attempt_steps = 7
    assert state.progress([]).steps == 407


def test_only_a_worker_that_tells_no_episodes_is_taken_at_its_word_for_them(
    state: IngestState,
) -> None:
    state.take_payload({"episodes": 12})
    assert state.progress([]).episodes == 12
    state.attempt_episodes = 1  # one that was broken off
    assert state.progress([]).episodes == 0
