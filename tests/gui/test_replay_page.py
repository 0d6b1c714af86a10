"""The replay page: episodes played again in the window, against a real daemon and simulator."""

from __future__ import annotations

import dataclasses
import gc
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from mosaic.contracts.recording_file import EpisodeEnd, recording_name
from mosaic.contracts.run_files import RunFiles
from mosaic.gui.application import Application
from mosaic.gui.replay.controls import StepStrip
from mosaic.gui.replay.model.beside import BesideChoice
from mosaic.gui.replay.model.episode import COLUMNS
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.replay.simulation_thread import StepDrawn
from mosaic.gui.replay.told_steps import ToldSteps
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.replay.simulation import Simulation
from mosaic.worker.recording import RecordingFacts, RecordingWriter
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.held_answers import HeldAnswers


def finished_run(daemon: DaemonHarness, **config: Any) -> str:
    run_id = daemon.submit(config={"episodes": 3, **config})
    assert daemon.wait_over(run_id).outcome == "succeeded"
    return run_id


def opened(qtbot: QtBot, application: Application, run_id: str, episode: int | None) -> ReplayPage:
    qtbot.waitUntil(lambda: run_id in application.state.runs, timeout=WAIT_MS)
    application.state.show_replay(ReplayTarget(run_id, episode))
    view = application.window.stage.page(Page.REPLAY)
    assert isinstance(view, ReplayPage)
    return view


def shown(
    qtbot: QtBot, application: Application, run_id: str, episode: int | None = None
) -> ReplayPage:
    view = opened(qtbot, application, run_id, episode)
    qtbot.waitUntil(lambda: view.panel.image is not None, timeout=WAIT_MS)
    return view


def place(view: ReplayPage) -> str:
    return str(view.panel.hud.place.text())


def notices(application: Application) -> list[Notice]:
    said: list[Notice] = []
    application.state.said.connect(said.append)
    return said


def test_the_last_episode_plays_to_its_end(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon)
    view = shown(qtbot, application, run_id)
    steps = view.panel.player.steps
    assert view.panel.player.is_playing, "a replay opens playing"
    assert view.episodes.model.rowCount() == 3
    view.panel.choose_speed(16.0)
    qtbot.waitUntil(
        lambda: not view.panel.player.is_playing and place(view) == f"step {steps} / {steps}",
        timeout=WAIT_MS,
    )
    qtbot.waitUntil(lambda: view.panel.hud.badge.text() == "identical so far", timeout=WAIT_MS)
    assert view.step_table.table.currentIndex().row() == steps


def test_keys_step_and_a_click_in_the_table_goes_there(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = shown(qtbot, application, finished_run(daemon))
    view.panel.toggle()
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: place(view).startswith("step 0 "), timeout=WAIT_MS)
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_Period)
    assert view.panel.player.step == 1
    qtbot.waitUntil(lambda: view.panel.hud.reward.text() == "reward 1", timeout=WAIT_MS)
    assert view.panel.player.step == 1
    qtbot.keyClick(view.step_table.table, Qt.Key.Key_Period)
    assert view.panel.player.step == 2
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_Comma)
    assert view.panel.player.step == 1
    view.step_table.table.selectRow(7)
    assert view.panel.player.step == 7 and view.panel.scrubber.value() == 7
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_End)
    assert view.panel.player.is_at_end


def test_a_late_picture_moves_nobody_back(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = shown(qtbot, application, finished_run(daemon))
    panel, drawn = view.panel, list[StepDrawn]()
    view.source.drawn.connect(drawn.append)
    panel.toggle()
    panel.seek(0)
    qtbot.waitUntil(lambda: bool(drawn) and drawn[-1].wanted == 0, timeout=WAIT_MS)
    panel.seek(5)
    panel.show_picture(drawn[-1])  # of step 0, asked for before the move
    assert panel.player.step == 5 == panel.scrubber.value()


def test_an_episode_that_was_left_keeps_no_pictures(
    request: pytest.FixtureRequest,
    qtbot: QtBot,
    daemon: DaemonHarness,
    application: Application,
) -> None:
    def simulations() -> int:
        return sum(type(each) is Simulation for each in gc.get_objects())

    gc.collect()
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    gc.set_threshold(2**30)  # nobody looks for cycles meanwhile: they would stay for a minute
    view = opened(qtbot, application, finished_run(daemon), None)
    observed = list[object]()
    view.source.observed.connect(observed.append)
    qtbot.waitUntil(lambda: view.panel.image is not None, timeout=WAIT_MS)
    view.source.observe()  # what the agent saw is simulated beside the pictures
    qtbot.waitUntil(lambda: bool(observed) and simulations() > 0, timeout=WAIT_MS)
    view.source.end()
    qtbot.waitUntil(lambda: simulations() == 0, timeout=WAIT_MS)


def test_the_extremes_of_the_reward_are_one_click_away(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon, env_id="Pendulum-v1", episodes=1)
    view = shown(qtbot, application, run_id)
    steps = view.panel.steps
    assert steps is not None and steps.lowest is not None and steps.highest is not None
    qtbot.mouseClick(view.panel.transport.lowest, Qt.MouseButton.LeftButton)
    assert view.panel.player.step == steps.lowest
    qtbot.mouseClick(view.panel.transport.highest, Qt.MouseButton.LeftButton)
    assert view.panel.player.step == steps.highest
    assert steps.rewards[steps.lowest - 1] == min(steps.rewards)


def test_an_episode_is_verified_beside_the_picture(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = shown(qtbot, application, finished_run(daemon, episodes=1), 0)
    said = notices(application)
    qtbot.mouseClick(view.verify_button, Qt.MouseButton.LeftButton)
    assert not view.verify_button.isEnabled()
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert said[0].text.startswith("Identical: ")
    assert view.panel.hud.badge.text() == "identical" and view.verify_button.isEnabled()


def test_a_step_is_written_as_a_picture_and_the_episode_as_a_video(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    pytest.importorskip("av")
    view = shown(qtbot, application, finished_run(daemon, episodes=1))
    said = notices(application)
    view.export_picture(tmp_path / "step.png")
    view.export_video(tmp_path / "episode.mp4")
    qtbot.waitUntil(
        lambda: sum(notice.text.startswith("Written: ") for notice in said) == 2, timeout=WAIT_MS
    )
    assert (tmp_path / "step.png").stat().st_size > 100
    assert (tmp_path / "episode.mp4").stat().st_size > 100
    said.clear()
    view.export_picture(tmp_path / "nowhere" / "step.png")
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert "cannot be written" in said[0].text


def test_long_lists_come_a_page_at_a_time_and_jumps_find_the_best(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon, env_id="FrozenLake-v1", episodes=450)
    view = shown(qtbot, application, run_id)
    model = view.episodes.model
    assert model.rowCount() == 200 and view.episodes.count.text() == "200 of 450 episodes"
    model.fetchMore(QModelIndex())
    qtbot.waitUntil(lambda: model.rowCount() == 400, timeout=WAIT_MS)
    model.fetchMore(QModelIndex())
    qtbot.waitUntil(lambda: model.rowCount() == 450, timeout=WAIT_MS)
    assert not model.canFetchMore(QModelIndex())
    best = next(daemon.client.episodes(run_id, 1, "best")).episode_index
    view.episodes.jump("best")
    qtbot.waitUntil(
        lambda: view.panel.main.heading.text().startswith(f"Episode {best} · "), timeout=WAIT_MS
    )


def leave_clip(files: RunFiles) -> None:
    (files.directory / "clip.mp4").write_bytes(b"moving pictures")
    manifest = json.loads(files.manifest.read_text())
    files.manifest.write_text(json.dumps({**manifest, "videos": ["clip.mp4"]}))


def test_what_cannot_be_simulated_says_why_and_keeps_its_numbers(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon, episodes=1)
    leave_clip(daemon.home.run(run_id))
    view = shown(qtbot, application, run_id, 0)
    recording = daemon.client.get_recording(run_id, 0)
    elsewhere = dataclasses.replace(recording, python="/nowhere/python")
    view.source.show_recording(elsewhere)
    title = view.panel.message._title
    qtbot.waitUntil(lambda: "cannot be simulated" in title.text(), timeout=WAIT_MS)
    assert "/nowhere/python is not on this machine" in view.panel.message._text.text()
    assert view.step_table.model.rowCount() == recording.episode.steps + 1
    assert not view.panel.transport.button("play").isEnabled()
    # What its run has to show instead is known as soon as the run's record is here.
    qtbot.waitUntil(view.panel.offers.isVisible, timeout=WAIT_MS)


def test_a_run_that_is_deleted_while_it_plays_leaves_no_simulator(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon)
    view = shown(qtbot, application, run_id)
    application.state.runs.remove([run_id])
    assert view.panel.message._title.text() == "The run was deleted"
    assert not view.panel.player.is_playing and not view.source.is_simulating


def test_a_run_without_finished_episodes_says_so(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = daemon.submit(config={"episodes": 1, "max_steps_per_second": 0.05})
    daemon.wait_for(run_id, "EXEC")
    view = opened(qtbot, application, run_id, None)
    title = view.panel.message._title
    qtbot.waitUntil(lambda: title.text() == "No finished episode yet", timeout=WAIT_MS)


def test_another_page_ends_the_simulator(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = shown(qtbot, application, finished_run(daemon))
    application.state.show_page(Page.WELCOME)
    assert not view.source.is_simulating and not view.panel._timer.isActive()
    application.state.show_page(Page.REPLAY)
    qtbot.waitUntil(lambda: view.panel.image is not None, timeout=WAIT_MS)


def test_strips_lie_below_the_scrubber_and_a_click_goes_there(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = shown(qtbot, application, finished_run(daemon, env_id="Pendulum-v1", episodes=1))
    view.panel.toggle()
    strips = view.panel.strips
    assert list(strips.views) == ["reward", "action", "observation"]
    seen = strips.views["observation"]
    qtbot.waitUntil(lambda: bool(np.isfinite(seen.strip.values).all()), timeout=WAIT_MS)
    assert seen.strip.values.shape == (view.panel.player.steps + 1, 3)
    reward = strips.views["reward"]
    for strip in strips.views.values():
        qtbot.waitUntil(strip.isVisible, timeout=WAIT_MS)
        assert strip.width() == view.panel.scrubber.width()
    at = QPoint(round(reward.place_of(150)), 5)
    qtbot.mouseClick(reward, Qt.MouseButton.LeftButton, pos=at)
    assert view.panel.player.step == 150 and view.panel.scrubber.value() == 150
    assert abs(view.panel.scrubber._place_of(150) - at.x()) <= 1, "what is aligned is the same step"
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_S)
    assert not strips.isVisible()


def record_values(daemon: DaemonHarness, run_id: str) -> list[float]:
    """As a worker that knows them does, beside the first episode of the run."""
    told = daemon.client.get_recording(run_id, 0)
    steps = len(told.rewards)
    expected = [step / 2 for step in range(steps)]
    path = daemon.home.run(run_id).recordings / recording_name(1)
    facts = RecordingFacts(told.env_id, told.settings, 1, "|u1", (), 1)
    writer = RecordingWriter(path, facts, limit_bytes=10**6)
    writer.write_episode(
        0,
        EpisodeEnd(0, 0, steps, steps, sum(told.rewards), True, False),
        told.start,
        bytes(told.actions_json),
        np.array(told.rewards, np.float32).tobytes(),
        np.array(expected, np.float32).tobytes(),
    )
    writer.close()
    return expected


def test_what_the_agent_expected_is_a_strip_where_it_is_told(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    view = shown(qtbot, application, finished_run(daemon, episodes=1))
    assert "value" not in view.panel.strips.views
    view.panel.strips.show_values({0: 1.5, 1: 2.5})
    assert view.panel.strips.views["value"].strip.text_at(1) == "2.5"


def test_what_the_agent_expected_is_a_strip_where_it_is_recorded(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon, episodes=2)
    expected = record_values(daemon, run_id)
    view = shown(qtbot, application, run_id, 0)
    values = view.panel.strips.views["value"]
    qtbot.waitUntil(values.isVisible, timeout=WAIT_MS)
    *known, last = values.strip.values[:, 0].tolist()
    assert known == expected
    assert np.isnan(last), "nothing was expected of the state in which it ended"
    table = view.step_table.table
    (column,) = (at for at, name in enumerate(COLUMNS) if name == "Value")
    assert not table.isColumnHidden(column)
    assert table.model().index(3, column).data() == "1.5"
    view.show_episode(1)
    qtbot.waitUntil(lambda: view.step_table.model.rowCount() > 1, timeout=WAIT_MS)
    assert table.isColumnHidden(column), "nobody told what was expected in this one"


def test_what_the_agent_expected_waits_for_the_strips_it_stands_among(
    qtbot: QtBot,
    daemon: DaemonHarness,
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = shown(qtbot, application, finished_run(daemon, episodes=1))
    recording, steps = view.source.recording, view.panel.steps
    assert recording is not None and steps is not None
    held = HeldAnswers()
    monkeypatch.setattr(application.bridge, "ask", held.ask)
    for found, news in ((view.source.read, recording), (view.source.steps_read, steps)):
        found.emit(news)
        held.answer_all(ToldSteps({0: 1.5, 1: 2.5}, None))
    assert "value" in view.panel.strips.views


def test_keys_walk_along_the_best_and_the_worst(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished_run(daemon, episodes=20)
    best = [row.episode_index for row in daemon.client.episodes(run_id, 3, "best")]
    worst = next(daemon.client.episodes(run_id, 1, "worst")).episode_index
    view = shown(qtbot, application, run_id, best[1])

    def sees(episode: int) -> None:
        heading = view.panel.main.heading
        qtbot.waitUntil(lambda: heading.text().startswith(f"Episode {episode} · "), timeout=WAIT_MS)

    for expected in best:
        qtbot.keyClick(view.panel.picture, Qt.Key.Key_B)
        sees(expected)
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_B, Qt.KeyboardModifier.ShiftModifier)
    sees(best[1])
    arrow = view.findChild(QToolButton, "next-worst")
    assert isinstance(arrow, QToolButton)
    arrow.click()
    sees(worst)


def test_two_episodes_of_two_runs_play_in_step(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    first = finished_run(daemon, episodes=3)
    other = daemon.submit(run_name="swing", config={"episodes": 1, "env_id": "Pendulum-v1"})
    daemon.wait_over(other)
    view = shown(qtbot, application, first)
    qtbot.waitUntil(
        lambda: "swing" in {choice.note for choice in view._beside_choices("swing")},
        timeout=WAIT_MS,
    )
    application.window.activateWindow()
    qtbot.waitUntil(application.window.isActiveWindow, timeout=WAIT_MS)
    qtbot.mouseClick(view.beside_button, Qt.MouseButton.LeftButton)
    assert view.chooser.isVisible() and view.chooser.field.hasFocus()
    qtbot.keyClicks(view.chooser.field, "swing")
    assert [choice.run_id for choice in view.chooser.shown] == [other]
    qtbot.keyClick(view.chooser.field, Qt.Key.Key_Return)
    beside = view.panel.beside
    qtbot.waitUntil(lambda: beside.picture.image is not None, timeout=WAIT_MS)
    assert beside.heading.text().startswith("swing · Episode 0 · ")
    assert view.panel.player.steps == max(beside.length, view.panel.main.length) == 200
    assert not view.side.left.isVisible(), "two pictures have the room of the tables"
    view.panel.seek(7)
    for hud in (view.panel.hud, beside.hud):
        qtbot.waitUntil(partial(_stands_at, hud, 7), timeout=WAIT_MS)
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: beside.hud.place.text() == "step 200 / 200", timeout=WAIT_MS)
    short = view.panel.main.length
    qtbot.waitUntil(partial(_stands_at, view.panel.hud, short), timeout=WAIT_MS)  # and waits there
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_Escape)
    assert not view.panel.has_beside and application.state.page is Page.REPLAY
    assert not view.beside_source.is_simulating
    qtbot.keyClick(view.panel.picture, Qt.Key.Key_Escape)
    assert application.state.page is not Page.REPLAY


def test_beside_it_is_what_was_chosen_last(
    qtbot: QtBot,
    daemon: DaemonHarness,
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = finished_run(daemon)
    best = next(daemon.client.episodes(run_id, 1, "best"))
    other = (best.episode_index + 1) % 3
    view, held = shown(qtbot, application, run_id), HeldAnswers()
    with monkeypatch.context() as patch:
        patch.setattr(application.bridge, "ask", held.ask)
        view.show_beside(BesideChoice("Best", "slow", run_id, None, "best"))
    view.show_beside(BesideChoice("Another", "chosen", run_id, other))
    held.answer_all(best)
    qtbot.waitUntil(lambda: view.beside_source.recording is not None, timeout=WAIT_MS)
    assert view.beside_source.recording is not None
    assert view.beside_source.recording.episode.episode_index == other


def _stands_at(hud: StepStrip, step: int) -> bool:
    return str(hud.place.text()).startswith(f"step {step} ")


@pytest.mark.parametrize("size", [(900, 700), (1280, 800), (2560, 1440)])
def test_the_whole_picture_is_seen(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, size: tuple[int, int]
) -> None:
    name = " and ".join(["a name too long for any heading"] * 3)
    run_id = daemon.submit(run_name=name, config={"episodes": 1})
    daemon.wait_over(run_id)
    view = shown(qtbot, application, run_id)
    application.window.resize(*size)
    qtbot.waitUntil(view.panel.strips.isVisible, timeout=WAIT_MS)
    for part in (view.panel.picture, view.panel.transport, view._title, view.panel.main.heading):
        found = part.rect().translated(part.mapTo(view, QPoint()))
        assert view.rect().contains(found), part.objectName()
