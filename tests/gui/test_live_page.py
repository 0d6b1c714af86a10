"""The live page and the FastLane tab: what they show of runs, and that nobody watches unseen."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.slot_writer import Metrics
from mosaic.gui.application import Application
from mosaic.gui.live.model.situation import LiveContent, Offer
from mosaic.gui.live.page import LivePage
from mosaic.gui.live.tab import FastLaneTab
from mosaic.gui.state.live_watch import LiveViewer
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.conftest import WAIT_MS
from tests.gui.live_segment import LiveSegment, live_segment
from tests.unit.gui.run_samples import over, record
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path: Path) -> RunRecord:
    folder = tmp_path / "run"
    folder.mkdir()
    paths = {"run_directory": str(folder)}
    # Tests in other processes have segments too: each has a name of its own.
    return record(os.getpid(), paths=paths, capabilities={"worker_type": "sample"})


@pytest.fixture
def segment(run: RunRecord) -> Iterator[LiveSegment]:
    with live_segment(run.run_id, 8) as made:
        yield made


def show(application: Application, run: RunRecord) -> LivePage:
    state = application.state
    state.runs.update([run])
    state.select([run.run_id])
    state.set_details(run)
    state.show_page(Page.LIVE)
    page = application.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    return page


def change(application: Application, run: RunRecord, **changes: object) -> None:
    changed = dataclasses.replace(run, revision=run.revision + 1, **changes)  # type: ignore[arg-type]
    application.state.runs.update([changed])
    application.state.set_details(changed)


@pytest.fixture
def page(qtbot: QtBot, lonely: Application, run: RunRecord, segment: LiveSegment) -> LivePage:
    """Eight environments, all of them seen."""
    made = show(lonely, run)
    segment.show_all(50, Metrics(1000, 10, 1.0, 42.0, 100.0))
    qtbot.waitUntil(lambda: made.situation.content is LiveContent.PICTURES, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "8 envs" in made.hud.text, timeout=WAIT_MS)
    return made


def notices(application: Application) -> list[Notice]:
    said: list[Notice] = []
    application.state.said.connect(said.append)
    return said


def test_eight_environments_are_watched_with_the_numbers_of_their_run(
    page: LivePage, run: RunRecord
) -> None:
    words = " ".join(page.hud.text.split())
    assert f"step {run.progress.steps:,}" in words
    assert f"mean(100) {run.progress.mean_return:.1f}" in words
    assert page.canvas.veil == ""
    assert not page.canvas.box(7).isEmpty()


def test_nobody_watches_a_page_that_is_left(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment
) -> None:
    assert segment.is_watched
    lonely.state.show_page(Page.WELCOME)
    assert not segment.is_watched
    lonely.state.show_page(Page.LIVE)
    qtbot.waitUntil(lambda: segment.is_watched, timeout=WAIT_MS)


def test_nobody_watches_a_minimized_window(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment
) -> None:
    lonely.window.showMinimized()
    qtbot.waitUntil(lambda: not segment.is_watched, timeout=WAIT_MS)
    lonely.window.showNormal()
    qtbot.waitUntil(lambda: segment.is_watched, timeout=WAIT_MS)


def test_fewer_tiles_are_fewer_watched_slots(
    qtbot: QtBot, page: LivePage, segment: LiveSegment
) -> None:
    page.bar.grid.button("4").click()
    qtbot.waitUntil(lambda: segment.segment.lease().slot_count == 4, timeout=WAIT_MS)
    segment.show_all(60)
    qtbot.waitUntil(lambda: page.canvas.box(4).isEmpty(), timeout=WAIT_MS)
    assert not page.canvas.box(3).isEmpty()


def test_a_run_that_ends_gives_way_to_its_outcome(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment, run: RunRecord
) -> None:
    heading = page._name.mapTo(lonely.window.stage, page._name.rect().topLeft())
    size = lonely.window.stage.size()
    change(lonely, over(os.getpid(), paths=run.paths, capabilities=run.capabilities))
    outcome = lonely.window.stage.outcome
    assert lonely.window.stage.shown is outcome and not page.isVisible()
    assert outcome.best.panel.image is not None, "the last picture stays until another is there"
    qtbot.waitUntil(lambda: not segment.is_watched, timeout=WAIT_MS)
    now = outcome._name.mapTo(lonely.window.stage, outcome._name.rect().topLeft())
    assert now.x() == heading.x() and lonely.window.stage.size() == size


def test_a_pause_is_a_veil(lonely: Application, page: LivePage, run: RunRecord) -> None:
    change(lonely, run, state=RunState.PAUSE)
    assert page.canvas.veil == "paused"


def test_garbage_is_a_sentence_and_charts_are_offered(
    qtbot: QtBot, page: LivePage, segment: LiveSegment
) -> None:
    segment.replace_by(b"garbage")
    qtbot.waitUntil(lambda: page.situation.content is LiveContent.MESSAGE, timeout=WAIT_MS)
    assert page.message.title.text() == "Its frames cannot be read"
    assert page.message.offers.offers == (Offer.CHARTS,)


def test_a_run_elsewhere_is_a_sentence(qtbot: QtBot, lonely: Application, tmp_path: Path) -> None:
    page = show(lonely, record(paths={"run_directory": str(tmp_path / "not here")}))
    qtbot.waitUntil(lambda: "another machine" in page.message.title.text(), timeout=WAIT_MS)
    assert lonely.state.live.watcher is LiveViewer.NOBODY


def test_without_a_run_the_newest_is_offered(lonely: Application) -> None:
    lonely.state.runs.update([record(1), record(2)])
    lonely.state.show_page(Page.LIVE)
    page = lonely.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    page.message.offers.button(Offer.NEWEST).click()
    assert lonely.state.leading_id == record(2).run_id


def test_the_batch_of_an_evaluation_is_read_from_its_file(
    qtbot: QtBot, page: LivePage, segment: LiveSegment, run: RunRecord
) -> None:
    entry = {
        "batch_index": 3,
        "episodes": 50,
        "avg_return": 112.3,
        "min_return": 90.1,
        "max_return": 142.6,
    }
    path = Path(run.paths["run_directory"]) / "eval_summary.json"
    path.write_text('{"history": [')
    segment.show_all(60, Metrics(flags=EVALUATING))
    qtbot.waitUntil(lambda: "(Eval)" in page.hud.text, timeout=WAIT_MS)
    path.write_text(json.dumps({"history": [entry]}))
    line = "eval batch 3 · 50 episodes · mean 112.3 · min 90.1 · max 142.6"
    qtbot.waitUntil(lambda: line in page.hud.text, timeout=WAIT_MS)


def test_a_snapshot_is_saved_with_the_run(
    qtbot: QtBot, lonely: Application, page: LivePage, run: RunRecord
) -> None:
    said = notices(lonely)
    page.bar.snapshot.click()
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    (path,) = (Path(run.paths["run_directory"]) / "snapshots").iterdir()
    image = QImage(str(path))
    assert (image.width(), image.height()) == (4 * 30 + 3 * 4, 2 * 20 + 4)
    assert path.name in said[0].text and said[0].action_text == "Open"


def test_a_folder_that_cannot_be_written_is_a_sentence(
    qtbot: QtBot, lonely: Application, page: LivePage, run: RunRecord
) -> None:
    (Path(run.paths["run_directory"]) / "snapshots").write_text("in the way")
    said = notices(lonely)
    page.bar.snapshot.click()
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert said[0].text.startswith("The snapshot cannot be saved")


def record_some(qtbot: QtBot, page: LivePage, segment: LiveSegment) -> None:
    page.bar.record.click()
    qtbot.waitUntil(lambda: page.clips.is_recording, timeout=WAIT_MS)
    shades = iter(range(60, 250))

    def is_recorded() -> bool:
        segment.show_all(next(shades))
        return page.bar.recording.text() not in ("", "REC 0 s")

    qtbot.waitUntil(is_recorded, timeout=WAIT_MS)


def test_a_clip_is_saved_and_listed(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment, run: RunRecord
) -> None:
    pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    said = notices(lonely)
    record_some(qtbot, page, segment)
    page.bar.record.click()
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    folder = Path(run.paths["run_directory"])
    assert said[0].text.startswith("1 clip with ")
    assert (folder / "videos" / "clip-0001.mp4").stat().st_size > 0
    assert json.loads((folder / "analytics.json").read_text())["videos"] == ["videos/clip-0001.mp4"]
    assert page.bar.recording.text() == "" and not page.bar.record.isChecked()


def test_a_clip_is_saved_when_the_window_closes(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment, run: RunRecord
) -> None:
    pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    record_some(qtbot, page, segment)
    lonely.close()
    folder = Path(run.paths["run_directory"])
    assert json.loads((folder / "analytics.json").read_text())["videos"] == ["videos/clip-0001.mp4"]


def test_without_an_encoder_recording_says_what_to_install(
    qtbot: QtBot,
    lonely: Application,
    page: LivePage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = notices(lonely)
    page.bar.record.click()
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert 'pip install "mosaic-rl[video]"' in said[0].text.lower()
    assert not page.bar.record.isChecked() and page.bar.recording.text() == ""


def test_space_pauses_only_a_run_that_can_be_paused(
    qtbot: QtBot,
    lonely: Application,
    page: LivePage,
    run: RunRecord,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, list[str]]] = []
    actions = lonely.workbench.run_actions
    monkeypatch.setattr(actions, "pause", lambda runs: asked.append(("pause", runs)))
    monkeypatch.setattr(actions, "unpause", lambda runs: asked.append(("unpause", runs)))
    QTest.keyClick(page.canvas, Qt.Key.Key_Space)
    assert not asked and not page.bar.pause.isEnabled()
    able = dataclasses.replace(run, capabilities={"supports_pause_resume": True})
    change(lonely, able)
    QTest.keyClick(page.canvas, Qt.Key.Key_Space)
    change(lonely, able, state=RunState.PAUSE)
    page.bar.pause.click()
    assert asked == [("pause", [run.run_id]), ("unpause", [run.run_id])]


# The FastLane tab


def fastlane_tab(qtbot: QtBot, application: Application) -> FastLaneTab:
    application.state.ask_tab("fastlane")
    tab = application.window.tabs_panel.tab("fastlane")
    assert isinstance(tab, FastLaneTab)
    qtbot.waitUntil(tab.isVisible, timeout=WAIT_MS)
    return tab


def test_the_tab_tells_how_the_centre_watches(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment
) -> None:
    tab = fastlane_tab(qtbot, lonely)
    qtbot.waitUntil(lambda: len(tab.table.rows) == 8, timeout=WAIT_MS)
    assert tab.facts.value("Environments") == "8 of 8"
    assert tab.facts.value("Segment") == str(segment.path)
    assert not tab.preview.isVisible() and not tab.button.isEnabled()
    assert lonely.state.live.watcher is LiveViewer.CENTRE


def test_the_tab_watches_by_itself_while_the_centre_does_not(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment
) -> None:
    tab = fastlane_tab(qtbot, lonely)
    lonely.state.show_page(Page.WELCOME)
    qtbot.waitUntil(lambda: segment.is_watched and tab.preview.isVisible(), timeout=WAIT_MS)
    tab.button.click()
    assert not segment.is_watched and tab.word.text() == "not watched"
    tab.button.click()
    qtbot.waitUntil(lambda: segment.is_watched, timeout=WAIT_MS)
    lonely.state.show_page(Page.LIVE)
    qtbot.waitUntil(lambda: not tab.preview.isVisible(), timeout=WAIT_MS)
    assert lonely.state.live.watcher is LiveViewer.CENTRE


def test_a_tab_behind_another_one_watches_nothing(
    qtbot: QtBot, lonely: Application, page: LivePage, segment: LiveSegment
) -> None:
    fastlane_tab(qtbot, lonely)
    lonely.state.show_page(Page.WELCOME)
    qtbot.waitUntil(lambda: segment.is_watched, timeout=WAIT_MS)
    lonely.state.ask_tab("config")
    qtbot.waitUntil(lambda: not segment.is_watched, timeout=WAIT_MS)


# With a real run


@pytest.fixture
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon(PYTHONPATH=str(ROOT)) as harness:
        yield harness


def test_a_run_whose_process_is_killed_ends_on_the_page(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    words = ["-m", "tests.integration.showing_program", "60", "40", "8"]
    variables = {
        "PYTHONPATH": str(ROOT),
        "CLEANRL_FASTLANE_GRID_LIMIT": "8",
        "CLEANRL_FASTLANE_INTERVAL_MS": "5",
    }
    run_id = daemon.submit(entry_point=sys.executable, arguments=words, environment=variables)
    wait_until(segment_path(run_id).exists, WAIT_MS / 1000, "the run's segment")
    qtbot.waitUntil(lambda: run_id in application.state.runs, timeout=WAIT_MS)
    application.state.select([run_id])
    application.state.show_page(Page.LIVE)
    page = application.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    qtbot.waitUntil(lambda: "8 envs" in page.hud.text, timeout=WAIT_MS)
    painted = page.canvas.painted_pictures
    qtbot.waitUntil(lambda: page.canvas.painted_pictures > painted + 80, timeout=WAIT_MS)
    os.kill(application.state.live.frames.tiles[0].pid, signal.SIGKILL)
    card = application.window.stage.outcome.failure_card
    qtbot.waitUntil(card.isVisible, timeout=WAIT_MS)
    assert not page.isVisible()
    assert application.state.live.watcher is LiveViewer.NOBODY
