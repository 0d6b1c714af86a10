"""Taps render only for a viewer, never at the training's cost; frames fit into a slot."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mosaic.fastlane.lane import Fitter, Lane, Tap, fitted_size
from mosaic.fastlane.layout import Lease
from mosaic.fastlane.segment import open_segment, segment_path
from mosaic.fastlane.settings import Settings
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.viewer import Viewer
from tests.waiting import PATIENCE_S


class Environment:
    """Renders its number of steps as a shade."""

    def __init__(self) -> None:
        self.steps = 0
        self.renderings = 0
        self.error: Exception | None = None

    def render(self) -> Any:
        self.renderings += 1
        if self.error is not None:
            raise self.error
        return np.full((8, 10, 3), self.steps % 256, np.uint8)

    def metrics(self) -> Metrics:
        return Metrics(steps=self.steps)

    def step(self, tap: Tap) -> None:
        self.steps += 1
        if tap.is_due:
            tap.show()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return segment_path("01RUN", tmp_path)


@pytest.fixture
def errors() -> list[str]:
    return []


def make_lane(path: Path, errors: list[str], **settings: Any) -> Lane:
    return Lane(Settings(segment=str(path), interval_s=0.0, **settings), errors.append)


def tap_of(lane: Lane, environment: Environment) -> Tap:
    tap = lane.tap(environment.render, environment.metrics)
    assert tap is not None
    return tap


def watch(viewer: Viewer, environment: Environment, tap: Tap) -> Any:
    """Steps until the viewer has a picture."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        environment.step(tap)
        view = viewer.poll()
        if view.picture is not None:
            return view
        time.sleep(0.001)
    raise AssertionError("no frame came")


def test_a_viewer_sees_frames_and_metrics(path: Path, errors: list[str]) -> None:
    environment = Environment()
    tap = tap_of(make_lane(path, errors), environment)
    viewer = Viewer(path)
    first = watch(viewer, environment, tap)
    second = watch(viewer, environment, tap)
    assert second.metrics[0].steps > first.metrics[0].steps
    assert second.metrics[0].step_rate_hz > 0
    assert set(second.picture.pixels) == {second.metrics[0].steps % 256}
    assert not errors


def test_nothing_is_rendered_when_nobody_watches(path: Path, errors: list[str]) -> None:
    environment = Environment()
    lane = make_lane(path, errors)
    tap = tap_of(lane, environment)
    for _ in range(1000):
        lane._wake(open_segment(path).lease())
        environment.step(tap)
    assert environment.renderings == 0


def test_other_slots_than_the_watched_ones_are_not_rendered(path: Path, errors: list[str]) -> None:
    lane = make_lane(path, errors)
    environments = [Environment() for _ in range(3)]
    taps = [tap_of(lane, environment) for environment in environments]
    viewer = Viewer(path, first_slot=1)
    watch(viewer, environments[1], taps[1])
    for environment, tap in zip(environments, taps, strict=True):
        environment.step(tap)
    assert [environment.renderings > 0 for environment in environments] == [False, True, False]


def test_the_single_mode_shows_the_chosen_environment(path: Path, errors: list[str]) -> None:
    lane = make_lane(path, errors, mode="single", slot=2)
    taps = [lane.tap(*(lambda e: (e.render, e.metrics))(Environment())) for _ in range(4)]
    assert [tap is not None for tap in taps] == [False, False, True, False]
    assert open_segment(path).geometry.slots == 1


def test_a_grid_has_its_limit_and_closed_environments_make_room(
    path: Path, errors: list[str]
) -> None:
    lane = make_lane(path, errors, grid_limit=2)
    first, second = (tap_of(lane, Environment()) for _ in range(2))
    assert lane.tap(Environment().render, Environment().metrics) is None
    lane.release(first)
    third = tap_of(lane, Environment())
    assert {second.slot, third.slot} == {0, 1}


@pytest.mark.parametrize("error", [RuntimeError("no display"), MemoryError(), KeyError("x")])
def test_an_environment_that_cannot_render_goes_on(
    path: Path, errors: list[str], error: Exception
) -> None:
    environment = Environment()
    environment.error = error
    tap = tap_of(make_lane(path, errors), environment)
    viewer = Viewer(path)
    deadline = time.monotonic() + PATIENCE_S
    while not errors and time.monotonic() < deadline:
        viewer.poll()
        environment.step(tap)
        time.sleep(0.001)
    assert len(errors) == 1
    assert "environment 0" in errors[0]
    for _ in range(100):
        tap.wake(time.monotonic() + 100)
        environment.step(tap)
    assert environment.renderings == 1


def test_no_segment_no_tap_no_harm(tmp_path: Path, errors: list[str]) -> None:
    lane = make_lane(tmp_path / "missing" / "segment", errors)
    assert lane.tap(Environment().render, Environment().metrics) is None
    assert "no live view" in errors[0]


def test_the_pulse_sleeps_until_a_frame_is_due(path: Path, errors: list[str]) -> None:
    environment = Environment()
    tap = tap_of(make_lane(path, errors), environment)
    tap.set_pace(interval_s=0.5, budget=0.03)
    now = time.monotonic()
    tap.wake(now)
    assert tap.is_due
    assert tap.due_in(now) == 0.5, "nobody has stepped yet"
    environment.step(tap)
    assert 0.4 < tap.due_in(time.monotonic()) <= 0.5
    tap.wake(time.monotonic())
    assert not tap.is_due, "the viewer wants two frames a second"


def test_a_lease_of_garbage_puts_nobody_to_sleep(path: Path, errors: list[str]) -> None:
    environment = Environment()
    lane = make_lane(path, errors)
    tap = tap_of(lane, environment)
    lane._wake(Lease(2**64 - 1, 0, 1, 2**64 - 1))
    assert not tap.is_due
    soon = time.monotonic_ns() + 10**9
    assert lane._wake(Lease(soon, 0, 1, 2**64 - 1)) <= 2.5


def test_a_segment_that_is_cut_off_is_said_once(path: Path, errors: list[str]) -> None:
    environment = Environment()
    tap = tap_of(make_lane(path, errors), environment)
    os.truncate(path, 0)
    deadline = time.monotonic() + PATIENCE_S
    while not errors and time.monotonic() < deadline:
        environment.step(tap)
        time.sleep(0.001)
    for _ in range(100):
        environment.step(tap)
    assert errors == [
        "no live view of environment 0: its shared memory is of no use: it has been cut off"
    ]
    assert environment.renderings == 0


@pytest.mark.parametrize(
    ("size", "max_dim", "max_bytes", "expected"),
    [
        ((600, 400), 480, 10**9, (480, 320)),
        ((400, 600), 480, 10**9, (320, 480)),
        ((160, 210), 480, 10**9, (160, 210)),
        ((600, 400), 10_000, 600 * 400 * 3 // 4, (300, 200)),
        ((10_000, 1), 480, 10**9, (480, 1)),
    ],
)
def test_proportions_stay_and_nothing_grows(
    size: tuple[int, int], max_dim: int, max_bytes: int, expected: tuple[int, int]
) -> None:
    assert fitted_size(*size, max_dim, max_bytes) == expected


def test_a_frame_that_fits_stays_as_it_is() -> None:
    frame = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    fitted = Fitter(480, 10**6)(frame)
    assert (fitted.width, fitted.height) == (5, 4)
    np.testing.assert_array_equal(np.ravel(fitted.pixels), frame.ravel())


def test_a_large_frame_is_shrunk_evenly() -> None:
    rows, columns = np.mgrid[0:400, 0:600]
    frame = np.stack([rows // 2, columns // 3, rows * 0], 2).astype(np.uint8)
    fitted = Fitter(60, 10**6)(frame)
    assert (fitted.width, fitted.height) == (60, 40)
    pixels = np.asarray(fitted.pixels).reshape(40, 60, 3).astype(int)
    assert np.abs(pixels[:, 0, 0] - (np.arange(40) * 10 + 5) / 2).max() <= 1
    assert np.abs(pixels[0, :, 1] - (np.arange(60) * 10 + 5) / 3).max() <= 1


@pytest.mark.parametrize("at", range(150, 160))
def test_a_line_of_one_pixel_is_not_lost(at: int) -> None:
    """As the track of CartPole, in the size of one of eight environments."""
    frame = np.full((400, 600, 3), 255, np.uint8)
    frame[at] = 0
    fitted = Fitter(341, 10**6)(frame)
    pixels = np.asarray(fitted.pixels).reshape(fitted.height, fitted.width, 3)
    assert pixels.min() <= 128
    assert (pixels.min(axis=0) == pixels.min()).all()


def test_sizes_may_change() -> None:
    fitter = Fitter(100, 10**6)
    for height, width in ((400, 600), (50, 50), (300, 300), (400, 600)):
        fitted = fitter(np.zeros((height, width, 3), np.uint8))
        assert np.asarray(fitted.pixels).nbytes == fitted.width * fitted.height * 3


@pytest.mark.parametrize(
    ("frame", "first"),
    [
        (np.full((2, 2), 9, np.uint8), 9),  # grey
        (np.full((2, 2, 4), 9, np.uint8), 9),  # with transparency
        (np.full((2, 2, 3), 0.5), 127),
        (np.full((2, 2, 3), 300), 255),
        (np.full((4, 4, 3), 9, np.uint8)[::2, ::2], 9),  # not contiguous
    ],
)
def test_other_pictures_become_colours(frame: Any, first: int) -> None:
    pixels = np.ravel(Fitter(480, 10**6)(frame).pixels)
    assert pixels.dtype == np.uint8
    assert pixels.tolist() == [first] * 12


@pytest.mark.parametrize("frame", ["text", [], np.zeros((2, 2, 2)), np.zeros((0, 4, 3)), 5])
def test_what_is_no_picture_is_refused(frame: Any) -> None:
    with pytest.raises(ValueError, match="no picture"):
        Fitter(480, 10**6)(frame)
