"""The centre of a run that is over: its best episode, its curve, what came of it, what is next."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_state import FailureKind, Outcome
from mosaic.gui.application import Application
from mosaic.gui.outcome.page import OutcomePage
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.launch_samples import filled_state
from tests.unit.gui.run_samples import failed, over

DONE = over(2)
FAILED = failed(3, FailureKind.EXIT_CODE, "It ended with exit code 3.")
SIZES = ((900, 700), (1280, 800), (2560, 1440))


def shown(application: Application, run_id: str) -> OutcomePage:
    application.state.select([run_id])
    application.state.show_page(Page.LIVE)
    page = application.window.stage.outcome
    assert application.window.stage.shown is page
    return page


def see_over(qtbot: QtBot, application: Application, run_id: str) -> None:
    def is_over() -> bool:
        record = application.state.runs.get(run_id)
        return record is not None and record.is_over

    qtbot.waitUntil(is_over, timeout=WAIT_MS)


@pytest.fixture
def full(lonely: Application) -> Application:
    sample = filled_state()
    lonely.state.set_catalogue(sample.algorithms, sample.environments)
    lonely.state.runs.load([DONE, FAILED])
    return lonely


def test_the_best_episode_of_a_finished_run_plays_beside_its_curve(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = daemon.submit(config={"episodes": 30})
    daemon.wait_over(run_id)
    best = next(daemon.client.episodes(run_id, 1, "best"))
    see_over(qtbot, application, run_id)
    page = shown(application, run_id)
    panel = page.best.panel
    qtbot.waitUntil(lambda: panel.image is not None and panel.player.step > 1, timeout=WAIT_MS)
    assert panel.player.is_playing and not panel.scrubber.isVisible()
    assert f"episode {best.episode_index}" in panel.transport.note.text()
    qtbot.waitUntil(lambda: bool(page.curve.plot.curves), timeout=WAIT_MS)
    assert len(page.curve.plot.curves[0].xs) == 30 and page.curve.isVisible()
    assert page.headline.text().startswith("Succeeded after ")
    qtbot.waitUntil(lambda: "best episode" in page.facts.text, timeout=WAIT_MS)
    assert "episodes 30" in page.facts.text
    qtbot.mouseClick(panel.transport.button("play"), Qt.MouseButton.LeftButton)
    assert not panel.player.is_playing
    qtbot.mouseClick(page.buttons[RunAction.REPLAY], Qt.MouseButton.LeftButton)
    assert application.state.page is Page.REPLAY
    assert application.state.replay is not None
    assert application.state.replay.episode == best.episode_index
    assert not page.best.source.is_simulating, "nobody sees it any more"


def test_a_run_without_episodes_has_no_empty_half(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = daemon.submit_script("exits_with", "0", run_name="quiet")
    daemon.wait_over(run_id)
    see_over(qtbot, application, run_id)
    page = shown(application, run_id)
    assert page.headline.isVisible()
    assert not page.best.isVisible() and not page.curve.isVisible()
    assert RunAction.REPLAY not in page.buttons


def test_another_run_is_shown_when_it_is_selected(full: Application) -> None:
    page = shown(full, DONE.run_id)
    assert page.headline.text() == "Succeeded after 1 min" and not page.failure_card.isVisible()
    full.state.select([FAILED.run_id])
    assert page.failure_card.isVisible()
    full.state.select([])
    assert full.window.stage.shown is full.window.stage.page(Page.LIVE)


def test_a_stopped_run_says_so(full: Application) -> None:
    stopped = over(4, Outcome.CANCELED, stop_reason="diverged", env_id="")
    full.state.runs.update([stopped])
    page = shown(full, stopped.run_id)
    assert page.headline.text() == "Stopped after 1 min: diverged"
    assert not page.solved.isVisible()


def test_a_failed_run_says_why_and_offers_a_way_out(full: Application) -> None:
    page = shown(full, FAILED.run_id)
    card = page.failure_card
    assert card.happened.text() == "It ended with exit code 3."
    assert card.advice.text()
    assert card.buttons[RunAction.RESUME].isVisible()
    assert RunAction.RESUME not in page.buttons, "it is offered once"
    tail = ("Traceback", "ModuleNotFoundError: No module named 'procgen'")
    full.state.set_details(dataclasses.replace(FAILED, stderr_tail=tail))
    assert "procgen" in card.advice.text()
    assert card.tail.isVisible() and card.tail.toPlainText().splitlines() == list(tail)
    card.copy_button.click()
    assert "procgen" in QGuiApplication.clipboard().text()


def test_show_log_opens_the_drawer_on_errors(full: Application) -> None:
    page = shown(full, FAILED.run_id)
    drawer = full.window.runs_panel.log_drawer
    assert not drawer.isVisible()
    page.failure_card.log_button.click()
    assert drawer.isVisible() and drawer.streams.value == "stderr"


@pytest.mark.parametrize("size", SIZES)
def test_nothing_lies_outside_of_the_page(
    full: Application, qtbot: QtBot, size: tuple[int, int]
) -> None:
    full.window.resize(*size)
    for run_id in (DONE.run_id, FAILED.run_id):
        page = shown(full, run_id)
        qtbot.waitUntil(page.isVisible, timeout=WAIT_MS)
        for part in (page.headline, page.best.panel.picture, page.curve, page.facts):
            if part.isVisible():
                place = part.rect().translated(part.mapTo(page, part.rect().topLeft()))
                assert page.rect().contains(place), part.objectName()
        for button in page.buttons.values():
            assert button.width() >= button.minimumSizeHint().width()
