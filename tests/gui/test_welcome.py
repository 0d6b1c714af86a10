"""The welcome page: three examples that work, the doctor, the newest runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_record import Progress
from mosaic.front.solving import Solved
from mosaic.front.training_config import Training, train_document
from mosaic.gui.application import Application
from mosaic.gui.state.examples import Start
from mosaic.gui.state.targets import Mode, Page, PlayTarget, ReplayTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.welcome.model import CheckRow, CheckVerdict
from mosaic.gui.welcome.page import WelcomePage
from tests.gui.conftest import WAIT_MS
from tests.gui.held_answers import HeldAnswers
from tests.registry_samples import new_run
from tests.unit.gui.launch_samples import filled_state
from tests.unit.gui.run_samples import over, record


def welcome(application: Application) -> WelcomePage:
    page = application.window.stage.page(Page.WELCOME)
    assert isinstance(page, WelcomePage)
    return page


def wait_for_card(qtbot: QtBot, application: Application, start: Start) -> Callable[[], None]:
    card = welcome(application).cards[start]
    qtbot.waitUntil(card.button.isEnabled, timeout=WAIT_MS)
    return lambda: qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)


def test_training_starts_with_a_click(qtbot: QtBot, application: Application) -> None:
    pytest.importorskip("torch", reason="the learner needs torch")
    click = wait_for_card(qtbot, application, Start.TRAIN)
    click()
    state = application.state
    qtbot.waitUntil(lambda: bool(state.selection), timeout=WAIT_MS)
    assert state.page is Page.LIVE
    record = state.runs.get(state.leading_id)
    assert record is not None and record.env_id == "CartPole-v1"
    qtbot.waitUntil(lambda: state.runs.get(state.leading_id).state == "EXEC", timeout=WAIT_MS)  # type: ignore[union-attr]
    application.workbench.run_actions.stop([record.run_id])
    qtbot.waitUntil(lambda: state.runs.get(record.run_id).is_over, timeout=WAIT_MS)  # type: ignore[union-attr]


def test_the_scripted_pilot_is_watched_in_its_replay(
    qtbot: QtBot, application: Application
) -> None:
    pytest.importorskip("Box2D", reason="LunarLander needs Box2D")
    click = wait_for_card(qtbot, application, Start.WATCH)
    click()
    state = application.state
    qtbot.waitUntil(lambda: state.page is Page.REPLAY, timeout=WAIT_MS)
    assert state.replay is not None and state.replay.run_id == state.leading_id
    record = state.runs.get(state.leading_id)
    assert record is not None and record.env_id == "LunarLander-v3"


def test_playing_needs_no_daemon(qtbot: QtBot, lonely: Application) -> None:
    shown: list[PlayTarget | None] = []
    lonely.state.page_changed.disconnect()  # the play page itself is tested elsewhere
    lonely.state.page_changed.connect(lambda page: shown.append(lonely.state.play))
    card = welcome(lonely).cards[Start.PLAY]
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)  # anywhere on the card
    assert shown == [PlayTarget("CartPole-v1", Mode.HUMAN)]
    assert lonely.state.mode is Mode.HUMAN


def test_examples_that_cannot_start_say_why(lonely: Application) -> None:
    card = welcome(lonely).cards[Start.TRAIN]
    assert not card.button.isEnabled()
    assert card.obstacle.text() == "Waiting for the daemon."
    assert card.obstacle.isVisible()


def test_the_doctor_says_what_is_there(qtbot: QtBot, application: Application) -> None:
    application.workbench.commands.trigger("help.doctor")
    checks = welcome(application).checks
    assert checks.content.isVisible()
    qtbot.waitUntil(
        lambda: {"python", "home", "gpus"} <= {row.title for row in checks.rows}, timeout=WAIT_MS
    )
    assert any(row.title.startswith("worker ") for row in checks.rows)
    qtbot.mouseClick(checks.fold_button, Qt.MouseButton.LeftButton)
    assert not checks.content.isVisible()


def test_a_problem_opens_the_doctors_card_with_its_fix(
    qtbot: QtBot, lonely: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = CheckResult("home", False, "it is read-only", "make it writable", required=True)
    monkeypatch.setattr("mosaic.gui.welcome.page.check_machine", lambda home: [problem])
    lonely.state.show_page(Page.WELCOME)
    checks = welcome(lonely).checks
    qtbot.waitUntil(lambda: bool(checks.rows) and checks.rows[0].title == "home", timeout=WAIT_MS)
    assert checks.content.isVisible()
    assert checks.summary.text() == "1 problem to fix"


def test_recent_runs_are_a_click_away(qtbot: QtBot, lonely: Application) -> None:
    page = welcome(lonely)
    assert not page.recent.isVisible()
    record = new_run("my <b>run</b> & more").record
    lonely.state.runs.update([record])
    assert page.recent.isVisible()
    qtbot.mouseClick(page.recent.buttons[record.run_id], Qt.MouseButton.LeftButton)
    assert lonely.state.selection == (record.run_id,)
    assert lonely.state.page is Page.LIVE


def test_nothing_is_cut_off_in_the_narrowest_window(qtbot: QtBot, lonely: Application) -> None:
    page = welcome(lonely)
    lonely.state.runs.update([new_run("a-name-that-does-not-end-" * 8).record])
    page.checks.show_rows([CheckRow(CheckVerdict.WARNING, "gpus", "no GPU is seen " * 4)])
    lonely.window.resize(lonely.window.minimumSizeHint())
    qtbot.waitUntil(page.recent.isVisible, timeout=WAIT_MS)
    room = page.findChild(QScrollArea)
    assert room is not None and (content := room.widget()) is not None
    assert content.minimumSizeHint().width() <= room.viewport().width()


def test_the_end_of_a_run_is_looked_at_also_when_it_comes_before_an_answer(
    lonely: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, state, solved = filled_state(), lonely.state, lonely.window.solved
    state.set_catalogue(sample.algorithms, sample.environments)
    algorithm = next(item for item in sample.algorithms if item.name == "ppo")
    config = train_document(Training(algorithm, "CartPole-v1", total_timesteps=1000))
    progress = Progress(500, 1000, 200, None, 490.0, 500.0, 100.0)
    live = record(config=config, progress=progress)
    state.runs.load([live])
    state.show_page(Page.LIVE)
    held = HeldAnswers()
    monkeypatch.setattr(lonely.bridge, "ask", held.ask)
    state.select([live.run_id])
    state.set_details(live)
    state.set_details(over(config=config, progress=progress))
    for answer in (None, Solved(400, 1.0, 475.0)):  # while it learned, and in the end
        assert solved._asked is not None
        held.answer(solved._asked, answer)
    assert solved.isVisible()


def test_cards_wait_while_the_daemon_is_away(lonely: Application) -> None:
    lonely.state.set_connection(Connection.LOST, "gone")
    assert not welcome(lonely).cards[Start.WATCH].button.isEnabled()
    assert welcome(lonely).cards[Start.PLAY].button.isEnabled()


def test_a_run_that_is_solved_says_so_in_one_place(lonely: Application) -> None:
    state, banner = lonely.state, lonely.window.solved
    lonely.window.resize(1280, 800)
    running = record(1)
    state.runs.load([running])
    state.select((running.run_id,))
    state.show_page(Page.LIVE)
    banner._on_details_changed(running)
    banner._on_answer(running, Solved(58_112, 4.2, 475.0))
    assert banner.isVisible()
    assert banner.title.text() == "Solved at step 58,112, after 4.2 s"
    ended = over(1, revision=2)
    state.runs.update([ended])
    assert lonely.window.stage.shown is lonely.window.stage.outcome
    assert not banner.isVisible(), "the page of the run says it"
    state.show_replay(ReplayTarget(ended.run_id, 0))
    assert banner.isVisible()
