"""LiveView: frames and figures for who watches, nothing for nobody, pauses told in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker.environments.live_view import RECENT_EPISODES, LiveView, showing_pauses
from mosaic.fastlane.layout import EVALUATING, PAUSED
from mosaic.fastlane.segment import open_segment, segment_path
from mosaic.fastlane.settings import SINGLE, Settings
from mosaic.fastlane.viewer import PAUSED_NOW, View, Viewer, read_state
from tests.waiting import wait_until


class Pictures:
    """Environment number k is a square of shade k."""

    def __init__(self) -> None:
        self.rendered: list[int] = []
        self.error: Exception | None = None

    def of(self, index: int) -> Callable[[], Any]:
        def render() -> Any:
            self.rendered.append(index)
            if self.error is not None:
                raise self.error
            return np.full((4, 4, 3), index, np.uint8)

        return render


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return segment_path("01RUN", tmp_path)


@pytest.fixture
def pictures() -> Pictures:
    return Pictures()


@pytest.fixture
def notes() -> list[str]:
    return []


Opener = Callable[..., LiveView]


@pytest.fixture
def open_view(path: Path, pictures: Pictures, notes: list[str]) -> Iterator[Opener]:
    opened: list[LiveView] = []

    def open_one(count: int = 2, flags: int = 0, **settings: Any) -> LiveView:
        wanted = Settings(str(path), interval_s=0.0, budget=1.0)._replace(**settings)
        renders = [pictures.of(index) for index in range(count)]
        opened.append(LiveView(wanted, renders, notes.append, flags))
        return opened[-1]

    yield open_one
    for view in opened:
        view.close()


@pytest.fixture
def viewer(path: Path) -> Iterator[Viewer]:
    viewer = Viewer(path, slot_count=8)
    yield viewer
    viewer.close()


def watch(view: LiveView, viewer: Viewer, rewards: list[float]) -> View:
    """Steps as a training does, until the viewer has a picture."""

    def step() -> View | None:
        seen = viewer.poll()
        if view.is_due:
            view.show(rewards)
        return seen if seen.picture is not None else None

    seen = wait_until(step, what="a picture")
    assert seen is not None
    return seen


def test_without_a_viewer_nothing_is_ever_due(
    open_view: Opener, pictures: Pictures, path: Path
) -> None:
    view = open_view()
    assert not threading.Event().wait(0.5) and not view.is_due
    assert not pictures.rendered
    segment = open_segment(path)
    state = read_state(segment, 0)
    segment.close()
    assert state is not None and state.frames == 0


def test_viewer_sees_frames_and_figures(open_view: Opener, viewer: Viewer) -> None:
    view = open_view()
    view.steps = 70
    for number in range(RECENT_EPISODES + 1):
        view.add_episode(0, float(number))
    view.add_episode(1, 5.0)
    view.add_episode(7, 100.0)  # of an environment nobody can see
    watch(view, viewer, [0.25, -1.0])
    view.steps = 71
    seen = watch(view, viewer, [0.5, -2.0])
    assert seen.picture is not None
    assert (seen.picture.width, seen.picture.height) == (10, 4)
    assert set(seen.picture.pixels) == {0, 1, 96}, "96: the line between"
    first, second = (figures for figures in seen.metrics if figures is not None)
    assert (first.episodes, second.episodes) == (RECENT_EPISODES + 1, 1)
    assert first.rolling_return == np.mean(range(1, RECENT_EPISODES + 1))
    assert second.rolling_return == 5.0
    assert first.steps in (70, 71) and first.last_reward in (0.25, 0.5)


def test_single_mode_renders_the_chosen_one_only(
    open_view: Opener, viewer: Viewer, pictures: Pictures
) -> None:
    view = open_view(3, mode=SINGLE, slot=2)
    view.add_episode(2, 8.0)
    view.add_episode(0, 1.0)
    (figures,) = watch(view, viewer, [0.0, 0.0, 3.0]).metrics
    assert figures is not None
    assert (figures.last_reward, figures.rolling_return, figures.episodes) == (3.0, 8.0, 1)
    assert set(pictures.rendered) == {2}


def test_first_rendering_does_not_count_as_the_price_of_a_frame(
    open_view: Opener, viewer: Viewer, pictures: Pictures
) -> None:
    view = open_view(1)
    watch(view, viewer, [0.0])
    assert len(pictures.rendered) >= 2, "one to load drivers, one to be shown"


def test_what_cannot_be_rendered_is_said_once(
    open_view: Opener, viewer: Viewer, pictures: Pictures, notes: list[str]
) -> None:
    pictures.error = RuntimeError("no screen")
    view = open_view(3)

    def step() -> bool:
        viewer.poll()
        if view.is_due:
            view.show([0.0, 0.0, 0.0])
        return set(pictures.rendered) == {0, 1, 2}

    wait_until(step, what="three attempts")
    assert notes == ["no live view of environment 0: no screen"]


def test_memory_that_cannot_be_had_is_said_once(open_view: Opener, notes: list[str]) -> None:
    view = open_view(3, segment="/nowhere/mosaic.fastlane.01RUN")
    view.show_paused(True)
    assert len(notes) == 1 and notes[0].startswith("no live view: ")


def test_pause_is_shown_before_it_begins_and_taken_back_after(
    open_view: Opener, viewer: Viewer
) -> None:
    view = open_view(1, flags=EVALUATING)
    watch(view, viewer, [0.0])
    seen: list[View] = []

    def should_stop() -> bool:
        seen.append(viewer.poll())
        return True

    assert showing_pauses(should_stop, lambda: True, view.show_paused)()
    assert seen[0].status == PAUSED_NOW
    (figures,) = seen[0].metrics
    assert figures is not None and figures.flags == EVALUATING | PAUSED
    (figures,) = viewer.poll().metrics
    assert figures is not None and figures.flags == EVALUATING


def test_run_that_is_not_paused_is_only_asked() -> None:
    told: list[bool] = []
    ask = showing_pauses(lambda: False, lambda: False, told.append)
    assert not ask() and not told


def test_closed_view_leaves_no_thread_and_frees_its_slots(
    open_view: Opener, viewer: Viewer, notes: list[str]
) -> None:
    before = threading.active_count()
    open_view(4).close()
    assert threading.active_count() == before
    watch(open_view(4), viewer, [0.0] * 4)
    assert not notes
