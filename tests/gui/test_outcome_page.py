"""The centre of a run that is over: its best episode, its curve, what came of it, what is next."""

from __future__ import annotations

import dataclasses
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_state import FailureKind, Outcome
from mosaic.gui.application import Application
from mosaic.gui.outcome.page import OutcomePage
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.cut_off import cut_off
from tests.gui.held_answers import HeldAnswers
from tests.imported_runs import watched_config
from tests.unit.gui.launch_samples import filled_state
from tests.unit.gui.run_samples import failed, over

DONE = over(2)
FAILED = failed(3, FailureKind.EXIT_CODE, "It ended with exit code 3.")
SIZES = ((900, 700), (1280, 800), (2560, 1440))


MEASURES = """
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("logs") as writer:
    for step in range(5):
        writer.add_scalar("val_loss", 1.0 - step / 5, step)
"""
LINES = tuple(f'  File "train.py", line {number}, in <module> ' + "x" * 80 for number in range(20))
SHORT = "It ended with exit code 3."
LONG = "“python main.py” ended with exit code 1: FloatingPointError: " + "the loss became inf " * 12


def top(page: OutcomePage, part: QWidget) -> int:
    return part.mapTo(page, part.rect().topLeft()).y()


def bottom(page: OutcomePage, part: QWidget) -> int:
    return part.mapTo(page, part.rect().bottomLeft()).y()


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
    note = panel.transport.note
    assert note.text().startswith(f"episode {best.episode_index} · ") and "best" in note.toolTip()
    assert application.window.width() < 1280 or not note.is_cut
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


def test_a_run_without_episodes_shows_the_end_of_its_log(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    told = "\n".join(f"print('line {number}')" for number in range(30))
    run_id = daemon.submit(entry_point=sys.executable, arguments=["-c", told], run_name="quiet")
    daemon.wait_over(run_id)
    see_over(qtbot, application, run_id)
    page = shown(application, run_id)
    assert page.headline.isVisible()
    qtbot.waitUntil(page.log.isVisible, timeout=WAIT_MS)
    assert page.log.toPlainText().splitlines() == [f"line {number}" for number in range(10, 30)]
    assert not page.best.isVisible() and not page.curve.isVisible()
    assert RunAction.REPLAY not in page.buttons
    qtbot.waitUntil(lambda: "exit code 0" in page.facts.text, timeout=WAIT_MS)
    button = next(iter(page.buttons.values()))
    qtbot.waitUntil(lambda: bottom(page, page.log) < top(page, button), timeout=WAIT_MS)
    application.window.resize(1280, 1200)
    qtbot.waitUntil(lambda: page.height() - bottom(page, button) > 100, timeout=WAIT_MS)
    assert top(page, button) - bottom(page, page.log) < 100, "directly below what there is to see"


def test_a_run_without_episodes_shows_what_it_measured(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    pytest.importorskip("torch.utils.tensorboard")
    (tmp_path / "train.py").write_text(MEASURES)
    run_id = daemon.client.start_run(watched_config(tmp_path))
    daemon.wait_over(run_id)
    see_over(qtbot, application, run_id)
    page = shown(application, run_id)
    qtbot.waitUntil(lambda: bool(page.curve.plot.curves), timeout=WAIT_MS)
    assert page.curve.isVisible() and len(page.curve.plot.curves[0].xs) == 5
    qtbot.waitUntil(lambda: "val loss 0.2" in page.facts.text, timeout=WAIT_MS)
    assert not page.log.isVisible() and not page.best.isVisible()


def test_a_run_that_printed_nothing_has_no_empty_log(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = daemon.submit_script("exits_with", "0", run_name="silent")
    daemon.wait_over(run_id)
    see_over(qtbot, application, run_id)
    page = shown(application, run_id)
    qtbot.waitUntil(lambda: "exit code 0" in page.facts.text, timeout=WAIT_MS)
    assert not page.log.isVisible() and not page.log_title.isVisible()


def test_another_run_is_shown_when_it_is_selected(full: Application) -> None:
    page = shown(full, DONE.run_id)
    assert page.headline.text() == "Succeeded after 1 min" and not page.failure_card.isVisible()
    full.state.select([FAILED.run_id])
    assert page.failure_card.isVisible()
    full.state.select([])
    assert full.window.stage.shown is full.window.stage.page(Page.LIVE)


def test_answers_about_the_run_before_are_not_shown(
    full: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldAnswers()
    monkeypatch.setattr(full.bridge, "ask", held.ask)
    page = shown(full, DONE.run_id)
    page._pause.timeout.emit()
    asked = [page._measuring, page._reading]
    full.state.select([FAILED.run_id])
    assert [task is not None and task.is_canceled for task in asked] == [True, True]


def test_the_log_gives_way_to_a_curve_that_comes_first(
    full: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shown(full, DONE.run_id)
    held = HeldAnswers()
    monkeypatch.setattr(full.bridge, "ask", held.ask)
    page._on_metrics([])
    page._on_no_episode("")
    page._on_curve(True)
    held.answer_all(("the last line",))
    assert not page.log.isVisible()


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


@pytest.mark.parametrize("message", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("size", (*SIZES, (853, 533)))  # the last is 1280 × 800 drawn at 150 %
def test_a_failure_has_the_height_its_words_and_buttons_need(
    full: Application, qtbot: QtBot, size: tuple[int, int], message: str
) -> None:
    full.window.resize(*size)
    run = failed(5, FailureKind.EXIT_CODE, message)
    full.state.runs.update([run])
    page, card = shown(full, run.run_id), full.window.stage.outcome.failure_card
    full.state.set_details(dataclasses.replace(run, stderr_tail=LINES))

    def is_in_order() -> bool:
        parts = [card.happened, card.advice, card.tail, card.log_button, page.seen, page.facts]
        seen = [part for part in parts if part.isVisible()]
        return all(bottom(page, above) < top(page, below) for above, below in pairwise(seen))

    qtbot.waitUntil(lambda: card.isVisible() and is_in_order(), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not cut_off(page), timeout=WAIT_MS)
    assert is_in_order()
    assert card.tail.height() > 3 * card.tail.fontMetrics().lineSpacing()
    assert not page.seen.isVisible() or page.seen.height() >= page.seen.least_height
    assert not page.solved.isVisible(), "beside the point"


def test_of_a_failed_run_what_is_to_be_seen_gives_way_first(
    full: Application, qtbot: QtBot
) -> None:
    page = shown(full, FAILED.run_id)
    full.state.set_details(dataclasses.replace(FAILED, stderr_tail=LINES))
    full.window.resize(2560, 1440)
    qtbot.waitUntil(page.seen.isVisible, timeout=WAIT_MS)
    full.window.resize(900, 600)
    qtbot.waitUntil(lambda: not page.seen.isVisible(), timeout=WAIT_MS)
    full.state.select([DONE.run_id])
    qtbot.waitUntil(page.seen.isVisible, timeout=WAIT_MS)


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
