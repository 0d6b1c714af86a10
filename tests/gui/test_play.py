"""Playing: real workers under a real daemon, keys pressed on the real window."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.front.catalogue import algorithms
from mosaic.front.play_config import is_played
from mosaic.front.training_config import Training, train_document
from mosaic.gui.application import Application
from mosaic.gui.play.play_view import PlayView
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Mode, Page, PlayTarget, PolicyTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.replay.simulation import Simulation
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS

Key = Qt.Key


def open_play(qtbot: QtBot, application: Application, target: PlayTarget) -> PlayView:
    """The page with a session that is played, and the keyboard."""
    state = application.state
    qtbot.waitUntil(lambda: bool(state.workers and state.environments), timeout=WAIT_MS)
    application.window.activateWindow()
    state.show_play(target)
    view = application.window.stage.page(Page.PLAY)
    assert isinstance(view, PlayView)
    qtbot.waitUntil(lambda: view.is_playing, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: view.game.picture.has_focus, timeout=WAIT_MS)
    return view


def hold(qtbot: QtBot, view: PlayView, key: Key, until: Callable[[], bool]) -> None:
    canvas = view.game.picture.canvas
    qtbot.keyPress(canvas, key)
    qtbot.waitUntil(until, timeout=WAIT_MS)
    qtbot.keyRelease(canvas, key)


def trained(daemon: DaemonHarness) -> PolicyTarget:
    algorithm = next(item for item in algorithms() if item.name == "ppo")
    training = Training(algorithm, "CartPole-v1", total_timesteps=2048, seed=1)
    run_id = daemon.client.start_run(train_document(training))
    assert daemon.wait_over(run_id, timeout_s=60).outcome == "succeeded"
    record = daemon.client.get_run(run_id)
    path = Path(record.paths["run_directory"]) / record.checkpoint_uri
    return PolicyTarget(path, record.worker, "CartPole-v1", "ppo", record)


def verdicts(daemon: DaemonHarness, run_id: str) -> list[str]:
    """Of all episodes of a run, simulated again."""
    found = []
    for episode in daemon.client.episodes(run_id):
        recording = daemon.client.recording(run_id, episode.episode_index)
        with Simulation(recording) as simulation:
            found.append(simulation.verify().sentence)
    return found
