"""What the live page shows for runs in any state."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.tiling import Picture
from mosaic.gui.live.model.situation import (
    LiveContent,
    Offer,
    Situation,
    can_pause,
    is_video_off,
    situation_of,
    situation_without_run,
    status_of,
)
from mosaic.gui.state.live_watch import LiveFrames, Tile
from tests.unit.gui.run_samples import over, record

ABLE = {"supports_policy_load": True, "supports_resume": True, "supports_pause_resume": True}
PICTURE = Picture(2, 1, bytes(6))


def shown(status: str = "live", message: str = "") -> LiveFrames:
    return LiveFrames(status, message, (Tile(0, PICTURE, Metrics()),))


def of(run: RunRecord, frames: LiveFrames, is_here: bool | None = True) -> Situation:
    return situation_of(run, dataclasses.replace(run, capabilities=ABLE), is_here, frames)


def test_a_run_that_shows_frames() -> None:
    found = of(record(), shown())
    assert (found.content, found.veil, found.is_watched) == (LiveContent.PICTURES, "", True)


@pytest.mark.parametrize(
    ("frames", "veil"),
    [
        (shown("paused", "the run is paused"), "paused"),
        (shown("stalled", "no step for 12 s"), "stalled 12 s"),
        (shown("ended", "the process that showed this is over"), "ended"),
    ],
)
def test_a_veil_says_what_is_the_matter(frames: LiveFrames, veil: str) -> None:
    found = of(record(), frames)
    assert (found.content, found.veil, found.is_watched) == (LiveContent.PICTURES, veil, True)


def test_a_run_the_daemon_says_is_paused_or_stalled() -> None:
    assert of(record(state=RunState.PAUSE), shown()).veil == "paused"
    assert of(record(stalled="process is stopped"), shown()).veil == "stalled · process is stopped"


def test_a_queued_run_says_why_it_waits_and_nobody_watches() -> None:
    found = of(record(state=RunState.INIT, waiting="waiting for 2 CPUs; 1 is free"), LiveFrames())
    assert found.content is LiveContent.MESSAGE and not found.is_watched
    assert found.text == "Waiting for 2 CPUs; 1 is free"


def test_before_the_first_picture() -> None:
    starting = of(record(state=RunState.HSHK), LiveFrames("waiting", "the run has shown nothing"))
    assert starting.title == "Waits for its first picture" and starting.is_watched
    assert starting.text.startswith("The worker is starting")
    running = of(record(), LiveFrames())
    assert "500/1,000 steps" in running.text and running.is_watched


def test_a_segment_that_cannot_be_read_is_looked_at_again() -> None:
    found = of(record(), LiveFrames("broken", "it cannot be read: it is a link"))
    assert found.content is LiveContent.MESSAGE and found.is_watched
    assert "it is a link" in found.text


def test_after_the_end_the_last_picture_stays_with_what_can_be_done() -> None:
    found = of(over(), shown())
    assert (found.content, found.veil, found.is_watched) == (LiveContent.PICTURES, "ended", False)
    assert found.offers == (Offer.REPLAY, Offer.EVALUATE, Offer.RESUME)
    assert of(over(outcome=Outcome.FAILED), shown()).veil == "ended · failed"


def test_a_run_that_was_over_before_offers_its_episodes() -> None:
    found = of(over(), LiveFrames())
    assert found.title == "No live frames any more"
    assert found.offers[0] is Offer.REPLAY and not found.is_watched


def test_what_a_run_did_not_leave_behind_is_not_offered() -> None:
    bare = over(checkpoint_uri="", progress=type(record().progress)())
    assert of(bare, LiveFrames()).offers == (Offer.CHARTS,)
    unable = situation_of(over(), over(), True, LiveFrames())
    assert unable.offers == (Offer.REPLAY,)


def test_a_run_elsewhere_says_so() -> None:
    found = of(record(), LiveFrames(), is_here=False)
    assert found.title == "This run is on another machine" and not found.is_watched


@pytest.mark.parametrize(
    ("config", "is_off"),
    [
        ({}, False),
        ({"metadata": {"worker": {"config": {"video_mode": "off"}}}}, True),
        ({"metadata": {"worker": {"config": {"video_mode": "grid"}}}}, False),
        ({"metadata": {"worker": {"config": {"extras": {"fastlane_video_mode": "off"}}}}}, True),
        ({"environment": {"CLEANRL_FASTLANE_VIDEO_MODE": "off"}}, True),
        ({"metadata": {"worker": "off"}}, False),
        ({"metadata": [], "environment": None}, False),
    ],
)
def test_a_live_view_that_was_switched_off(config: dict[str, Any], is_off: bool) -> None:
    run = record(config=config)
    assert is_video_off(run) is is_off
    assert situation_of(run, run, True, LiveFrames()).is_watched is not is_off


def test_without_a_run() -> None:
    assert situation_without_run(has_runs=True).offers == (Offer.NEWEST,)
    assert situation_without_run(has_runs=False).offers == (Offer.TRAIN,)


def test_which_runs_can_be_paused() -> None:
    able = record(capabilities=ABLE)
    assert can_pause(record(), able) and can_pause(record(state=RunState.PAUSE), able)
    assert not can_pause(record(), record()) and not can_pause(record(), None)
    assert not can_pause(over(), able) and not can_pause(record(stop_requested=True), able)


def test_the_daemon_knows_better_than_the_last_frame() -> None:
    assert status_of(record(), shown()) == "live"
    assert status_of(record(stalled="process is stopped"), shown()) == "stalled"
    assert status_of(record(state=RunState.PAUSE), shown("stalled")) == "paused"
    assert status_of(over(), shown()) == "ended"
    assert status_of(over(), LiveFrames()) == "waiting"
