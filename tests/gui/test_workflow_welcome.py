"""The welcome page: each of its three examples works with one click."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.live.page import LivePage
from mosaic.gui.play.page import PlayPage
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.state.examples import Start
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import Mode, Page
from mosaic.gui.welcome.page import WelcomePage
from tests.gui.workflow_steps import Person, somebody


@pytest.fixture
def person(qtbot: QtBot, application: Application) -> Person:
    return somebody(qtbot, application)


def click_example(person: Person, start: Start) -> None:
    welcome = person.page(Page.WELCOME, WelcomePage)
    person.click_when_ready(welcome.cards[start].button)


def test_training_is_watched_until_it_has_solved_the_task(person: Person) -> None:
    pytest.importorskip("torch", reason="the learner needs torch")
    assert person.runs.empty.isVisible(), "the table of runs says what to do, too"
    click_example(person, Start.TRAIN)
    run_id = person.see_new_run(set())
    live = person.page(Page.LIVE, LivePage)
    person.see(lambda: live.canvas.painted_pictures > 0)
    solved = person.window.solved
    person.see(lambda: bool(solved.title.text()))
    assert solved.title.text().startswith("Solved at step ") and ", after " in solved.title.text()
    assert solved.detail.text() == "CartPole-v1: the mean return of 100 episodes reached 475"
    person.see_state(run_id, "succeeded")
    assert (person.record(run_id).progress.mean_return or 0) >= 475
    outcome = person.outcome()
    person.see(outcome.solved.isVisible)
    assert outcome.solved.text().startswith("✓ Solved at step ")
    assert not solved.isVisible(), "it is said once"

    person.click(outcome.buttons[RunAction.REPLAY])
    person.see(solved.isVisible)
    view = person.page(Page.REPLAY, ReplayPage)
    person.see(lambda: view.panel.image is not None)
    assert person.state.replay is not None and person.state.replay.run_id == run_id
    person.click(solved.change)
    person.see(lambda: person.launch.form.form.value("recipe") == "tuned")
    assert person.launch.form.form.value("total_timesteps") == 100_000
    person.click(solved.challenge)
    game = person.page(Page.PLAY, PlayPage)
    person.see(lambda: game.is_playing)
    assert person.state.env_id == "CartPole-v1" and person.state.mode is Mode.HUMAN
    assert not solved.isVisible()


def test_the_pilot_lands_in_the_replay(person: Person) -> None:
    pytest.importorskip("Box2D", reason="LunarLander needs Box2D")
    click_example(person, Start.WATCH)
    view = person.page(Page.REPLAY, ReplayPage)
    person.see(lambda: view.panel.image is not None)
    run_id = person.see_new_run(set())
    person.see_state(run_id, "succeeded")
    assert person.record(run_id).env_id == "LunarLander-v3"
    person.see(lambda: view.panel.player.step > 3)  # it plays by itself


def test_playing_begins_with_a_key(person: Person) -> None:
    click_example(person, Start.PLAY)
    view = person.page(Page.PLAY, PlayPage)
    person.see(lambda: view.is_playing and view.game.picture.has_focus)
    assert person.state.mode is Mode.HUMAN and person.launch.modes.value == "human"
    assert view.game.picture.keys.isVisible()
    person.press(Qt.Key.Key_Right)
    person.see(lambda: view.game.now.step > 0)
    person.press(Qt.Key.Key_Escape)
    person.press(Qt.Key.Key_Escape)
    person.see(lambda: view.session is None)
    person.see(lambda: view.message.second.text() == "Replay")
