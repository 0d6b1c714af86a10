"""The live page at natural speed, with a real daemon, a real training and the real helper."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.live.model.natural import NaturalPicture, ViewKind
from mosaic.gui.live.page import LivePage
from mosaic.gui.state.live_watch import LiveFrames, LiveViewer
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.live_segment import live_segment
from tests.unit.gui.run_samples import record
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
TRAINING_MS = 180_000
# Pictures that are shown or about to be: two in the window, one in each thread and in between.
A_FEW = 6
TRAINING = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 500_000_000,
    "seed": 1,
    "extras": {"algo_params": {"num_envs": 2}},
}


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def submitted(daemon: DaemonHarness, **parameters: object) -> str:
    given = {"algo_params": {"num_envs": 2, **parameters}}
    return daemon.submit(
        entry_point="cleanrl",
        resources={"cpus": 1, "memory_mb": 2048},
        metadata={"worker": {"config": {**TRAINING, "extras": given}}},
    )


def shown_live(qtbot: QtBot, application: Application, run_id: str) -> LivePage:
    state = application.state
    qtbot.waitUntil(lambda: run_id in state.runs, timeout=WAIT_MS)
    state.select([run_id])
    state.show_page(Page.LIVE)
    page = application.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    return page


@pytest.fixture
def page(qtbot: QtBot, daemon: DaemonHarness, application: Application) -> Iterator[LivePage]:
    """A training whose newest episode plays."""
    run_id = submitted(daemon)
    made = shown_live(qtbot, application, run_id)
    qtbot.waitUntil(lambda: made.watching.shown is not None, timeout=TRAINING_MS)
    yield made
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)


def test_consecutive_steps_of_the_newest_episode_while_the_run_draws_nothing(
    qtbot: QtBot, application: Application, page: LivePage
) -> None:
    assert page.view.value == ViewKind.NATURAL
    assert page.note.text() == "" and not page.bar.fps.isVisible()
    assert application.state.live.watcher is LiveViewer.NOBODY  # no lease: nothing is rendered
    source, taken, enough = page.watching.source, [], threading.Event()

    def take(frames: LiveFrames) -> None:
        taken.append(frames.tiles[0].frames)
        if len(taken) >= 60:
            enough.set()

    assert source is not None
    source.set_tap(take)
    qtbot.waitUntil(enough.is_set, timeout=TRAINING_MS)
    assert all(after == before + 1 for before, after in pairwise(taken))
    painted = page.canvas.painted_pictures
    qtbot.waitUntil(lambda: page.canvas.painted_pictures > painted + 60, timeout=TRAINING_MS)
    qtbot.waitUntil(lambda: page.bar.rate.text()[0].isdigit(), timeout=WAIT_MS)
    assert "pictures/s" in page.bar.rate.text()
    assert "episode" in page.hud.text and "return" in page.hud.text
    assert "ago" in page.hud.text or "now" in page.hud.text


def test_it_goes_on_with_a_newer_episode(qtbot: QtBot, page: LivePage) -> None:
    assert page.watching.shown is not None
    first = page.watching.shown.episode.episode_index

    def is_newer() -> bool:
        shown = page.watching.shown
        return shown is not None and shown.episode.episode_index > first

    qtbot.waitUntil(is_newer, timeout=TRAINING_MS)


def test_no_process_is_left_whoever_stops_watching(
    qtbot: QtBot, application: Application, page: LivePage
) -> None:
    def helper() -> int:
        qtbot.waitUntil(lambda: page.watching.helper_pid is not None, timeout=TRAINING_MS)
        pid = page.watching.helper_pid
        assert pid is not None
        return pid

    pid = helper()
    application.state.show_page(Page.WELCOME)
    qtbot.waitUntil(lambda: is_gone(pid), timeout=WAIT_MS)
    application.state.show_page(Page.LIVE)
    pid = helper()
    page.view.button(ViewKind.MOSAIC.value).click()
    qtbot.waitUntil(lambda: is_gone(pid), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "2 envs" in page.hud.text, timeout=WAIT_MS)
    page.view.button(ViewKind.NATURAL.value).click()
    pid = helper()
    application.state.select([])
    qtbot.waitUntil(lambda: is_gone(pid), timeout=WAIT_MS)
    application.state.select([application.state.runs.newest_first()[0].run_id])
    pid = helper()
    application.close()
    qtbot.waitUntil(lambda: is_gone(pid), timeout=WAIT_MS)


def test_pictures_that_were_drawn_ahead_are_let_go_with_whoever_watched(
    qtbot: QtBot, page: LivePage
) -> None:
    def pictures() -> int:
        return sum(type(each) is NaturalPicture for each in gc.get_objects())

    gc.collect()  # what other tests have left
    qtbot.waitUntil(lambda: pictures() > 5 * A_FEW, timeout=WAIT_MS)
    page.view.button(ViewKind.MOSAIC.value).click()
    assert pictures() <= A_FEW


def test_a_run_that_records_nothing_shows_its_samples_and_says_why(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = submitted(daemon, record_episodes=False)
    page = shown_live(qtbot, application, run_id)
    qtbot.waitUntil(
        lambda: page.note.text().startswith("Mosaic, since natural speed is not possible"),
        timeout=TRAINING_MS,
    )
    assert "were not recorded" in page.note.text()
    qtbot.waitUntil(lambda: "2 envs" in page.hud.text, timeout=WAIT_MS)
    assert page.watching.helper_pid is None and page.bar.grid.isVisible()
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)


def test_a_worker_that_cannot_replay_is_shown_as_samples(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    paths = {"run_directory": str(tmp_path)}
    run = record(os.getpid(), paths=paths, capabilities={"worker_type": "sample"})
    with live_segment(run.run_id, 4) as segment:
        lonely.state.runs.update([run])
        lonely.state.select([run.run_id])
        lonely.state.set_details(run)
        lonely.state.show_page(Page.LIVE)
        page = lonely.window.stage.page(Page.LIVE)
        assert isinstance(page, LivePage)
        segment.show_all(90)
        qtbot.waitUntil(lambda: "4 envs" in page.hud.text, timeout=WAIT_MS)
        assert "cannot play its episodes again" in page.note.text()
        assert page.note.isVisible()


def test_before_the_first_episode_is_over_it_is_said_that_samples_are_shown(
    lonely: Application, tmp_path: Path
) -> None:
    """An episode of HalfCheetah takes a thousand steps."""
    folder = tmp_path / "run"
    folder.mkdir()
    running = record(
        1,
        paths={"run_directory": str(folder)},
        capabilities={"replay_maker": "a:b"},
        progress=dataclasses.replace(record(1).progress, episodes=0, mean_return=None),
    )
    lonely.state.runs.load([running])
    lonely.state.select([running.run_id])
    lonely.state.set_details(running)
    lonely.state.show_page(Page.LIVE)
    page = lonely.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    assert page.note.isVisible()
    assert page.note.text().startswith("The first episode is still being played: samples")


def test_a_killed_window_leaves_no_process(daemon: DaemonHarness) -> None:
    run_id = submitted(daemon)
    command = [sys.executable, "-m", "tests.gui.natural_program", str(daemon.home.root), run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as window:
        try:
            assert window.stdout is not None
            pid = json.loads(window.stdout.readline())["helper"]
            assert not is_gone(pid)
        finally:
            os.kill(window.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid), WAIT_MS / 1000)
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)
