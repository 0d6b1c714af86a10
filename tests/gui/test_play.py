"""Playing: real workers under a real daemon, keys pressed on the real window."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.front.catalogue import algorithms
from mosaic.front.policy_config import is_play_session
from mosaic.front.training_config import Training, train_document
from mosaic.gui.application import Application
from mosaic.gui.play.game_panel import GamePanel
from mosaic.gui.play.page import PlayPage
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Mode, Page, PlayTarget, PolicyTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.replay.simulation import verify
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.workflow_steps import LEARNER_S

Key = Qt.Key


def open_play(qtbot: QtBot, application: Application, target: PlayTarget) -> PlayPage:
    """The page with a session that is played, and the keyboard."""
    state = application.state
    qtbot.waitUntil(lambda: bool(state.workers and state.environments), timeout=WAIT_MS)
    application.window.activateWindow()
    state.show_play(target)
    view = application.window.stage.page(Page.PLAY)
    assert isinstance(view, PlayPage)
    qtbot.waitUntil(lambda: view.is_playing, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: view.game.picture.has_focus, timeout=WAIT_MS)
    return view


def hold(qtbot: QtBot, view: PlayPage, key: Key, until: Callable[[], bool]) -> None:
    canvas = view.game.picture.canvas
    qtbot.keyPress(canvas, key)
    qtbot.waitUntil(until, timeout=WAIT_MS)
    qtbot.keyRelease(canvas, key)


def trained(daemon: DaemonHarness) -> PolicyTarget:
    algorithm = next(item for item in algorithms() if item.name == "ppo")
    training = Training(algorithm, "CartPole-v1", total_timesteps=2048, seed=1)
    run_id = daemon.client.start_run(train_document(training))
    assert daemon.wait_over(run_id, timeout_s=LEARNER_S).outcome == "succeeded"
    record = daemon.client.get_run(run_id)
    path = Path(record.paths["run_directory"]) / record.checkpoint_uri
    return PolicyTarget(path, record.worker, "CartPole-v1", "ppo", record)


def verdicts(daemon: DaemonHarness, run_id: str) -> list[str]:
    """Of all episodes of a run, simulated again."""
    found = []
    for episode in daemon.client.episodes(run_id):
        recording = daemon.client.get_recording(run_id, episode.episode_index)
        found.append(verify(recording).sentence)
    return found


def test_a_person_plays_and_the_episodes_can_be_replayed(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.HUMAN))
    game, canvas = view.game, view.game.picture.canvas
    assert view.session is not None
    run_id = view.session.run_id
    assert application.state.leading_id == run_id and application.state.page is Page.PLAY
    assert game.picture.text == "Press ← or → to begin"
    keys = game.picture.keys
    assert keys.isVisible() and keys.height() < 80
    # Below the picture, and not over the cart; the picture keeps its size when they are gone.
    assert keys.geometry().top() >= canvas.geometry().bottom()
    size = canvas.size()
    keys.put_away()
    QCoreApplication.processEvents()
    assert canvas.size() == size
    qtbot.keyPress(canvas, Key.Key_Right)
    qtbot.waitUntil(lambda: game.now.step >= 3, timeout=WAIT_MS)
    qtbot.keyRelease(canvas, Key.Key_Right)
    assert game.now.is_human
    qtbot.waitUntil(lambda: game.now.is_over, timeout=WAIT_MS)
    assert game.picture.text.startswith("Episode over")
    first = game.now.step
    qtbot.keyClick(canvas, Key.Key_R)
    qtbot.waitUntil(lambda: game.now.episode == 1 and game.now.step == 0, timeout=WAIT_MS)
    hold(qtbot, view, Key.Key_Left, lambda: game.now.step >= 3)
    qtbot.keyClick(canvas, Key.Key_Escape)
    assert "again ends" in game.picture.text
    qtbot.keyClick(canvas, Key.Key_Escape)
    assert view.session is None and view.message.second.text() == "Replay"
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded" and record.run_name == "play-CartPole-v1"
    assert is_play_session(daemon.client.get_run(run_id))
    episodes = list(daemon.client.episodes(run_id))
    assert len(episodes) == 2 and episodes[0].steps == first
    steps = list(daemon.client.steps(run_id, 0))
    assert steps[0].action == 1 and steps[0].info == {"controller": "human"}
    assert verdicts(daemon, run_id) == ["identical", "identical"]


def has_reached(game: GamePanel, step: int) -> bool:
    return game.now.step == step


def test_turn_based_games_wait_for_each_key(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = open_play(qtbot, application, PlayTarget("FrozenLake-v1", Mode.HUMAN, seed=3))
    game, canvas = view.game, view.game.picture.canvas
    for count in (1, 2):
        qtbot.keyClick(canvas, Key.Key_Left)
        qtbot.waitUntil(partial(has_reached, game, count), timeout=WAIT_MS)
    assert view.session is not None
    run_id = view.session.run_id
    qtbot.mouseClick(game.end_button, Qt.MouseButton.LeftButton)
    daemon.wait_over(run_id)
    assert [step.action for step in daemon.client.steps(run_id, 0)] == [0, 0]
    assert verdicts(daemon, run_id) == ["identical"]


def test_taking_over_and_handing_back(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    policy = trained(daemon)
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.HYBRID, policy))
    game, canvas = view.game, view.game.picture.canvas
    qtbot.waitUntil(lambda: game.now.step >= 2, timeout=WAIT_MS)
    assert not game.now.is_human and game.hud.text.startswith("policy acts")
    qtbot.keyClick(canvas, Key.Key_T)
    qtbot.waitUntil(lambda: game.now.is_human, timeout=WAIT_MS)
    step = game.now.step
    assert game.bar.hands.text() == "Hand back"
    assert game.bar.hands.toolTip() == "Hand back (T)"
    # The person has really acted before it is paused.
    qtbot.waitUntil(lambda: game.now.step > step or game.now.is_over, timeout=WAIT_MS)
    qtbot.keyClick(canvas, Key.Key_Space)
    qtbot.waitUntil(lambda: game.now.is_paused, timeout=WAIT_MS)
    step = game.now.step
    qtbot.keyClick(canvas, Key.Key_T)
    qtbot.waitUntil(lambda: not game.now.is_human, timeout=WAIT_MS)
    qtbot.keyClick(canvas, Key.Key_Period)
    qtbot.waitUntil(lambda: game.now.step > step or game.now.is_over, timeout=WAIT_MS)
    assert view.session is not None
    run_id = view.session.run_id
    application.state.show_page(Page.LIVE)
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded", "leaving the page ends the session"
    acted = {item.info["controller"] for item in daemon.client.steps(run_id, 0)}
    assert acted == {"human", "policy"}
    assert set(verdicts(daemon, run_id)) == {"identical"}


def test_a_policy_that_cannot_be_loaded_leaves_the_session_as_it_is(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.HUMAN))
    session = view.session
    assert session is not None
    said: list[Notice] = []
    application.state.said.connect(said.append)
    broken = tmp_path / "broken.cleanrl_model"
    broken.write_bytes(b"no model")
    worker = next(
        item.name
        for item in application.state.workers
        if item.capabilities is not None and item.capabilities.supports_play
    )
    policy = PolicyTarget(broken, worker, "CartPole-v1", "ppo")
    application.state.show_play(PlayTarget("CartPole-v1", Mode.AGENT, policy))
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert "is no model file" in said[0].text
    assert view.session is session and view.is_playing
    hold(qtbot, view, Key.Key_Right, lambda: view.game.now.step > 0)


def test_playback_and_its_buttons(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    policy = trained(daemon)
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.AGENT, policy))
    game = view.game
    assert game.bar.restarting.isChecked() and game.bar.hands.isHidden()
    for action in ("pause", "faster"):
        button = game.bar.findChild(QToolButton, f"play-{action}")
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: game.now.is_paused, timeout=WAIT_MS)
    assert game.picture.has_focus, "a click leaves the keyboard with the game"
    qtbot.mouseClick(game.bar.findChild(QToolButton, "play-pause"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: game.now.episode >= 1, timeout=WAIT_MS)
    game.bar.restarting.click()
    qtbot.waitUntil(lambda: game.picture.text.endswith("[R] again"), timeout=WAIT_MS)


def test_a_worker_that_dies_is_said_and_can_be_started_again(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.HUMAN))
    assert view.session is not None
    os.kill(view.session.frames.tiles[0].pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: view.session is None, timeout=WAIT_MS)
    assert view.message.text.text() and view.message.first.text() == "Start again"
    qtbot.mouseClick(view.message.first, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: view.is_playing, timeout=WAIT_MS)


def test_without_a_daemon_the_keys_say_so_and_the_picture_goes_on(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    policy = trained(daemon)
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.AGENT, policy))
    daemon.kill()
    application.state.set_connection(Connection.LOST)
    assert "keys do nothing" in view.game.banner.text
    before = view.game.picture.canvas.painted_pictures
    qtbot.waitUntil(lambda: view.game.picture.canvas.painted_pictures > before + 5, timeout=WAIT_MS)
    assert view.is_playing
    daemon.start()
    qtbot.waitUntil(lambda: not view.game.banner.text, timeout=WAIT_MS)


def test_closing_the_window_ends_the_session(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.HUMAN))
    assert view.session is not None
    run_id = view.session.run_id
    application.close()
    assert daemon.wait_over(run_id).outcome == "succeeded"


def test_a_session_that_is_kept_goes_on_without_the_page(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = open_play(qtbot, application, PlayTarget("CartPole-v1", Mode.HUMAN))
    session = view.session
    assert session is not None
    view.game.bar.keeping.click()
    application.state.show_page(Page.WELCOME)
    assert view.session is session
    application.state.show_page(Page.PLAY)
    qtbot.waitUntil(lambda: view.game.picture.has_focus, timeout=WAIT_MS)
    hold(qtbot, view, Key.Key_Right, lambda: view.game.now.step > 0)
    assert not daemon.client.get_run(session.run_id).is_over
    view.game.bar.keeping.click()


def test_keys_are_released_when_the_game_loses_the_keyboard(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = open_play(qtbot, application, PlayTarget("MountainCar-v0", Mode.HUMAN))
    game, canvas = view.game, view.game.picture.canvas
    assert view.session is not None
    run_id = view.session.run_id
    qtbot.keyPress(canvas, Key.Key_Right)
    qtbot.waitUntil(lambda: game.now.step >= 2, timeout=WAIT_MS)
    game.end_button.setFocus()
    assert game.picture.text == "Click here to play"

    def is_idle_again() -> bool:
        actions = [step.action for step in daemon.client.steps(run_id, 0)]
        return 2 in actions and actions[-1] == 1

    qtbot.waitUntil(is_idle_again, timeout=WAIT_MS)
    qtbot.mouseClick(game.end_button, Qt.MouseButton.LeftButton)
    daemon.wait_over(run_id)


def test_what_cannot_be_played_offers_something_else(
    qtbot: QtBot, application: Application
) -> None:
    state = application.state
    qtbot.waitUntil(lambda: bool(state.workers and state.environments), timeout=WAIT_MS)
    state.show_play(PlayTarget("HalfCheetah-v5", Mode.HUMAN))
    view = application.window.stage.page(Page.PLAY)
    assert isinstance(view, PlayPage)
    assert view.message.title.text() == "Not with a keyboard"
    offer = view.message.findChild(QPushButton, "play-first-choice")
    assert offer is not None and offer.text() == "Watch a policy instead"
    asked: list[str] = []
    state.tab_asked.connect(asked.append)
    qtbot.mouseClick(offer, Qt.MouseButton.LeftButton)
    assert asked == ["checkpoints"] and state.env_id == "HalfCheetah-v5"


def test_a_missing_package_is_said_with_what_to_do(
    qtbot: QtBot, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mosaic.errors import DependencyError

    async def refuse(client: AsyncTrainerClient, *_: object, **given: object) -> None:
        raise DependencyError("torch is not installed", hint='pip install "mosaic-rl[cleanrl]"')

    monkeypatch.setattr(AsyncTrainerClient, "submit", refuse)
    state = application.state
    qtbot.waitUntil(lambda: bool(state.workers and state.environments), timeout=WAIT_MS)
    state.show_play(PlayTarget("CartPole-v1", Mode.HUMAN))
    view = application.window.stage.page(Page.PLAY)
    assert isinstance(view, PlayPage)
    qtbot.waitUntil(lambda: view.message.first.text() == "Start again", timeout=WAIT_MS)
    assert 'ip install "mosaic-rl[cleanrl]"' in view.message.text.text()
