"""The loop, and the one picture, on a clock that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mosaic.errors import RunStateError
from mosaic.fastlane.viewer import BROKEN, ENDED, LIVE, PAUSED_NOW, STALLED, WAITING, View
from mosaic.frames.watching import PATIENCE_S, SETTLE_S, current_picture, watch
from tests.unit.frames.pictures import drawn

RED, GREEN, BLUE = drawn("R"), drawn("G"), drawn("B")


class Run:
    """A run and the clock it runs by: `view_at` says what is seen at a time."""

    def __init__(self, view_at: Callable[[float], View]) -> None:
        self.now = 0.0
        self.polls: list[float] = []
        self._view_at = view_at

    def poll(self) -> View:
        self.polls.append(self.now)
        return self._view_at(self.now)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


def moment(run: Run, wait_s: float = 30.0, is_over: bool = False) -> tuple[object, View]:
    return current_picture(run, wait_s, lambda: is_over, run.clock, run.sleep)


def test_a_stored_picture_gives_way_to_a_fresh_one() -> None:
    run = Run(lambda now: View(LIVE, picture=RED if now == 0 else GREEN if now > 1 else None))
    picture, _ = moment(run)
    assert picture == GREEN


def test_a_run_that_nobody_watched_is_given_time_to_notice() -> None:
    """Its numbers are as old as its last frame."""
    run = Run(
        lambda now: (
            View(STALLED, picture=RED if now == 0 else None)
            if now < 0.5
            else View(LIVE, picture=GREEN)
        )
    )
    assert moment(run)[0] == GREEN


def test_the_last_of_those_that_come_soon_after_is_taken() -> None:
    run = Run(lambda now: View(LIVE, picture=None if now < 1 else GREEN if now < 1.1 else BLUE))
    picture, _ = moment(run)
    assert picture == BLUE
    assert run.now < 1 + SETTLE_S + 0.1


@pytest.mark.parametrize("status", [PAUSED_NOW, ENDED])
def test_where_no_fresh_one_will_come_the_stored_one_is_taken_at_once(status: str) -> None:
    run = Run(lambda now: View(status, picture=RED if now == 0 else None))
    assert moment(run)[0] == RED
    assert run.now == 0


def test_a_live_run_that_shows_no_fresh_one_is_not_waited_for_forever() -> None:
    run = Run(lambda now: View(LIVE, picture=RED if now == 0 else None))
    assert moment(run)[0] == RED
    assert PATIENCE_S < run.now < PATIENCE_S + 0.1


def test_no_picture_in_time_is_an_error_with_the_reason() -> None:
    run = Run(lambda now: View(WAITING, "the run has shown nothing yet"))
    with pytest.raises(RunStateError, match="No frame within 5 s: the run has shown nothing yet"):
        moment(run, wait_s=5)
    assert run.now > 5


def test_a_run_that_is_over_is_not_waited_for() -> None:
    run = Run(lambda now: View(WAITING))
    with pytest.raises(RunStateError, match="ended before it showed a frame"):
        moment(run, is_over=True)
    assert run.now == 0


def test_a_broken_segment_is_an_error_at_once() -> None:
    run = Run(lambda now: View(BROKEN, "x cannot be read: it is of version 9"))
    with pytest.raises(RunStateError, match="it is of version 9"):
        moment(run)


def test_looks_come_at_the_wanted_rate_however_long_showing_takes() -> None:
    run = Run(lambda now: View(LIVE))

    def show(view: View) -> bool:
        run.now += 0.03
        return run.now > 0.92

    def wait(seconds: float) -> bool:
        run.sleep(seconds)
        return False

    watch(run, 0.1, show, wait, run.clock)
    assert run.polls == pytest.approx([0.1 * number for number in range(10)])


def test_a_slow_display_does_not_have_to_catch_up() -> None:
    run = Run(lambda now: View(LIVE))
    waits: list[float] = []

    def show(view: View) -> bool:
        run.now += 1.0
        return len(waits) == 3

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return False

    watch(run, 0.1, show, wait, run.clock)
    assert waits == [0.0, 0.0, 0.0]


def test_who_has_enough_gets_the_last_view() -> None:
    run = Run(lambda now: View(LIVE, f"at {now}"))
    assert watch(run, 0.1, lambda view: False, lambda seconds: True, run.clock).message == "at 0.0"
