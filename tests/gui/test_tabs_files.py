"""Tabs about what a run has left in files: videos, studies, event files, W&B logs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip
from pytestqt.qtbot import QtBot

from mosaic.analytics.media import Picture
from mosaic.analytics.optuna import pictures as study_pictures
from mosaic.contracts.manifest import AnalyticsManifest, TensorBoardArtifact, WandbArtifact
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.tensorboard_records import ScalarRecords, file_start
from mosaic.files import atomic_write
from mosaic.gui.application import Application
from mosaic.gui.tensorboard.model import BoardState
from mosaic.gui.tensorboard.tab import TensorBoardTab
from mosaic.gui.trials.tab import TrialsTab
from mosaic.gui.videos.model import VideoFile
from mosaic.gui.videos.tab import VideosTab
from mosaic.gui.wandb import sync_box
from mosaic.gui.wandb.tab import WandbTab
from tests.gui.conftest import WAIT_MS
from tests.gui.held_answers import HeldAnswers
from tests.unit.gui.run_samples import over, record
from tests.unit.gui.video_samples import write_video


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a desktop would have been asked to open."""
    found: list[str] = []

    def open_url(url: Any) -> bool:
        found.append(url.toString())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    return found


def run_in(folder: Path, is_over: bool = True, **manifest: Any) -> RunRecord:
    """A run with these files, as the daemon would tell of it."""
    made = AnalyticsManifest("01", "sample", **manifest)
    atomic_write(folder / "analytics.json", json.dumps(made.to_dict()).encode())
    make = over if is_over else record
    return make(paths={"run_directory": str(folder)}, manifest=made.to_dict())


def show(application: Application, run: RunRecord, tab_id: str) -> Any:
    application.state.select([run.run_id])
    application.state.set_details(run)
    application.state.ask_tab(tab_id)
    return application.window.tabs_panel.tab(tab_id)


def test_videos_are_listed_and_played(
    qtbot: QtBot, lonely: Application, tmp_path: Path, opened: list[str]
) -> None:
    write_video(tmp_path / "episode-1.mp4", frames=20, fps=20)
    os.utime(tmp_path / "episode-1.mp4", (1000, 1000))
    write_video(tmp_path / "episode-2.mp4", frames=20, fps=20)
    run = run_in(tmp_path, videos=("episode-1.mp4", "episode-2.mp4"))
    tab = show(lonely, run, "videos")
    assert isinstance(tab, VideosTab)
    qtbot.waitUntil(lambda: tab.list.count() == 2, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "1.0 s" in tab.list.item(1).text(), timeout=WAIT_MS)
    assert tab.list.item(0).text().startswith("Episode 2")
    player = tab.player
    qtbot.waitUntil(lambda: player.picture.image is not None, timeout=WAIT_MS)
    assert not player.is_playing
    player.speed.setCurrentIndex(player.speed.count() - 1)
    qtbot.mouseClick(player.play_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: player.position_s >= 0.9 and not player.is_playing, timeout=WAIT_MS)
    player.slider.setValue(500)
    assert player.time.text() == "0:00 / 0:01"
    tab.open_button.click()
    assert opened == [f"file://{tmp_path}/episode-2.mp4"]


def test_a_damaged_video_is_a_sentence_and_the_others_play(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"not a video")
    tab = show(lonely, run_in(tmp_path, videos=("bad.mp4",)), "videos")
    qtbot.waitUntil(lambda: "cannot be played" in tab.banner.text, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "Damaged" in tab.list.item(0).text(), timeout=WAIT_MS)


def test_without_pyav_the_tab_says_what_to_install(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(tmp_path / "v.mp4")
    monkeypatch.setitem(sys.modules, "av", None)
    tab = show(lonely, run_in(tmp_path, videos=("v.mp4",)), "videos")
    qtbot.waitUntil(lambda: "mosaic-rl[video]" in tab.banner.text, timeout=WAIT_MS)
    assert tab.list.count() == 1


def test_playing_stops_when_another_tab_is_in_front(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    write_video(tmp_path / "v.mp4", frames=100)
    tab = show(lonely, run_in(tmp_path, videos=("v.mp4",)), "videos")
    qtbot.waitUntil(lambda: tab.player.picture.image is not None, timeout=WAIT_MS)
    tab.player.toggle()
    assert tab.player.is_playing
    lonely.state.ask_tab("config")
    assert not tab.player.is_playing


def test_videos_are_looked_for_again_when_the_tab_was_left_too_early(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(tmp_path / "v.mp4")
    work, held = lonely.bridge.work, HeldAnswers()
    monkeypatch.setattr(lonely.bridge, "work", held.ask)
    tab = show(lonely, run_in(tmp_path, videos=("v.mp4",)), "videos")
    lonely.state.ask_tab("config")  # before the list is here
    lonely.state.ask_tab("videos")
    assert tab._listing is not None
    held.answer(tab._listing, [VideoFile(tmp_path / "v.mp4", 1, 0.0)])
    assert tab.list.count() == 1
    lonely.state.ask_tab("config")  # before the video is open
    monkeypatch.setattr(lonely.bridge, "work", work)
    lonely.state.ask_tab("videos")
    qtbot.waitUntil(lambda: tab.player.picture.image is not None, timeout=WAIT_MS)


def test_trials_are_sorted_by_their_headings(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", direction="minimize")
    for value in (3.0, 1.0, 2.0):
        trial = study.ask()
        trial.suggest_float("lr", 0, 1)
        study.tell(trial, value)
    tab = show(lonely, run_in(tmp_path, optuna_db_path="study.db"), "trials")
    assert isinstance(tab, TrialsTab)
    qtbot.waitUntil(lambda: len(tab.table.rows) == 3, timeout=WAIT_MS)
    assert [row.cells[0] for row in tab.table.rows] == ["1", "2", "0"]
    assert tab.best.text().startswith("Best: trial 1, 1 with lr")
    tab.table.horizontalHeader().sectionClicked.emit(0)
    assert [row.cells[0] for row in tab.table.rows] == ["0", "1", "2"]
    tab.table.horizontalHeader().sectionClicked.emit(0)
    assert [row.cells[0] for row in tab.table.rows] == ["2", "1", "0"]
    assert not tab._timer.isActive()  # the run is over


def test_a_study_is_read_once_more_when_its_run_has_ended(
    lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.db").touch()
    held = HeldAnswers()
    run = run_in(tmp_path, is_over=False, optuna_db_path="study.db")
    ended = run_in(tmp_path, optuna_db_path="study.db")
    show(lonely, run, "config")
    monkeypatch.setattr(lonely.bridge, "work", held.ask)
    lonely.state.ask_tab("trials")
    lonely.state.set_details(ended)
    before = len(held.asked)
    held.answer_all([])  # what was there before it ended
    assert len(held.asked) == before + 1


def test_a_study_is_drawn_and_drawn_again_with_more_trials(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    optuna = pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", direction="maximize")

    def objective(trial: Any) -> float:
        layers = trial.suggest_int("layers", 1, 4)
        kind = trial.suggest_categorical("kind", ["relu", "tanh"])
        rate = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
        return float(rate + layers + (kind == "relu"))

    study.optimize(objective, n_trials=3)
    tab = show(lonely, run_in(tmp_path, is_over=False, optuna_db_path="study.db"), "trials")
    assert isinstance(tab, TrialsTab)
    pictures = tab.pictures
    qtbot.waitUntil(lambda: not pictures.image.isNull(), timeout=2 * WAIT_MS)
    first, canvas = pictures.image, pictures.canvas
    for trial in study.trials:
        spot = canvas.spot(trial.number).toPoint()
        QTest.mouseMove(canvas, spot + QPoint(2, 2))
        qtbot.waitUntil(
            lambda number=trial.number: (  # type: ignore[misc]
                canvas.hovered is not None and canvas.hovered.number == number
            ),
            timeout=WAIT_MS,
        )
        assert QToolTip.text().startswith(f"<qt>Trial {trial.number}: ")
        assert "layers" in QToolTip.text()
        left, top = canvas._places[trial.number]
        seen_there = first.pixelColor(int(left * first.width()), int(top * first.height()))
        assert seen_there.name() != canvas._theme.palette.plot, "a point is drawn there"
    QTest.mouseMove(canvas, QPoint(2, 2))
    qtbot.waitUntil(lambda: canvas.hovered is None, timeout=WAIT_MS)
    study.optimize(objective, n_trials=9)
    qtbot.waitUntil(
        lambda: pictures.image != first and not pictures.is_drawing, timeout=2 * WAIT_MS
    )
    seen = [pictures.image]
    for kind in ("importance", "parallel"):
        pictures.which.button(kind).click()
        qtbot.waitUntil(
            lambda: not pictures.is_drawing and pictures.image != seen[-1], timeout=2 * WAIT_MS
        )
        assert not pictures.image.isNull(), pictures.remark.text()
        seen.append(pictures.image)
    lonely.workbench.theme.choose("light")
    qtbot.waitUntil(
        lambda: not pictures.is_drawing and pictures.image != seen[-1], timeout=2 * WAIT_MS
    )
    assert pictures.image.pixelColor(1, 1).lightness() > 200
    lonely.workbench.theme.choose("dark")
    tab.set_active(False)


def test_a_study_without_its_library_says_what_to_install(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optuna = pytest.importorskip("optuna")
    monkeypatch.setattr(study_pictures, "_PACKAGES", ("a_package_nobody_has",))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    tab = show(lonely, run_in(tmp_path, optuna_db_path="study.db"), "trials")
    assert isinstance(tab, TrialsTab)
    qtbot.waitUntil(lambda: "mosaic-rl[optuna]" in tab.pictures.remark.text(), timeout=WAIT_MS)
    tab.pictures.which.button("importance").click()
    assert "4 complete trials" in tab.pictures.remark.text()
    assert len(tab.table.rows) == 2


def test_a_study_that_is_not_there_yet_is_a_sentence(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    tab = show(lonely, run_in(tmp_path, is_over=False, optuna_db_path="study.db"), "trials")
    qtbot.waitUntil(lambda: tab.empty._title.text() == "The study has no file yet", timeout=WAIT_MS)


def with_event_files(folder: Path) -> RunRecord:
    (folder / "tensorboard").mkdir()
    samples = [("loss", value, step, 1000.0) for step, value in enumerate((2.0, 1.0, 0.5))]
    data = file_start() + ScalarRecords().pack(samples)
    (folder / "tensorboard" / "events.out.tfevents.1.host").write_bytes(data)
    return run_in(folder, tensorboard=TensorBoardArtifact(enabled=True))


def test_histograms_and_pictures_of_a_writer_are_shown(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    board = pytest.importorskip("torch.utils.tensorboard")
    writer = board.SummaryWriter(str(tmp_path / "tensorboard"))
    for step in range(0, 100, 10):
        writer.add_histogram("weights", np.random.default_rng(step).normal(step, 5, 500), step)
        writer.add_image("view", np.full((3, 8, 12), step / 100, dtype=np.float32), step)
    writer.close()
    run = run_in(tmp_path, tensorboard=TensorBoardArtifact(enabled=True))
    tab = show(lonely, run, "tensorboard")
    assert isinstance(tab, TensorBoardTab)
    panel = tab.media
    qtbot.waitUntil(lambda: panel.isVisible(), timeout=WAIT_MS)
    texts = [panel.choice.itemText(row) for row in range(panel.choice.count())]
    assert texts == ["weights (histogram)", "view (picture)"]
    heat = panel.histograms.heat
    assert heat is not None and heat.steps.tolist() == list(range(0, 100, 10))
    assert panel.histograms.reading.text() == "10 histograms up to step 90"
    panel.choice.setCurrentIndex(1)
    panel.choice.activated.emit(1)
    canvas = panel.pictures.canvas
    qtbot.waitUntil(lambda: not canvas.image.isNull(), timeout=WAIT_MS)
    assert canvas.image.size().toTuple() == (12, 8)
    assert panel.pictures.reading.text() == "step 90 · 10 of 10"
    bright = canvas.image.pixelColor(2, 2).lightness()
    panel.pictures.slider.setValue(0)
    qtbot.waitUntil(lambda: canvas.image.pixelColor(2, 2).lightness() < bright, timeout=WAIT_MS)
    assert panel.pictures.reading.text() == "step 0 · 1 of 10"
    panel.pictures.show_pictures((Picture(1, b"no picture at all"),))
    qtbot.waitUntil(lambda: "no picture" in panel.pictures.reading.text(), timeout=WAIT_MS)


def test_the_tab_leaves_no_tensorboard_behind(
    qtbot: QtBot, lonely: Application, tmp_path: Path, opened: list[str]
) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    run = with_event_files(tmp_path)
    tab = show(lonely, run, "tensorboard")
    assert isinstance(tab, TensorBoardTab)
    qtbot.waitUntil(lambda: len(tab.table.rows) == 1, timeout=WAIT_MS)
    assert tab.table.rows[0].cells == ("loss", "3", "0.5")
    assert "1 event file" in tab.facts.value("Logged")
    tab.open_button.click()
    assert tab.board_state is BoardState.STARTING
    qtbot.waitUntil(lambda: tab.board_state is BoardState.RUNNING, timeout=2 * WAIT_MS)
    assert opened and opened[0].startswith("http://127.0.0.1:")
    server = tab.board._server
    assert server is not None and server.pid is not None
    pid = server.pid
    lonely.window.close()
    assert not Path(f"/proc/{pid}").exists()


def test_a_tensorboard_that_fails_says_why(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mosaic.analytics.tensorboard import server as tensorboard_server

    def missing() -> str:
        raise tensorboard_server.tensorboard_missing("/usr/bin/python")

    monkeypatch.setattr(tensorboard_server, "interpreter_with_tensorboard", missing)
    tab = show(lonely, with_event_files(tmp_path), "tensorboard")
    qtbot.waitUntil(lambda: tab.is_content_shown, timeout=WAIT_MS)
    tab.open_button.click()
    qtbot.waitUntil(lambda: tab.board_state is BoardState.FAILED, timeout=WAIT_MS)
    assert "mosaic-rl[tensorboard]" in tab.status.text()
    assert tab.open_button.isEnabled()


def with_wandb_log(folder: Path) -> RunRecord:
    from tests.unit.analytics.wandb.test_reader import log_bytes, whole_run

    inner = folder / "wandb" / "offline-run-20260101_000000-abc"
    inner.mkdir(parents=True)
    (inner / "run-abc.wandb").write_bytes(log_bytes(whole_run()))
    return run_in(folder, wandb=WandbArtifact(enabled=True, project="p"))


def test_an_offline_run_is_shown_and_synced(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setattr(sync_box, "_check", lambda: None)
    tab = show(lonely, with_wandb_log(tmp_path), "wandb")
    assert isinstance(tab, WandbTab)
    qtbot.waitUntil(lambda: tab.is_content_shown, timeout=WAIT_MS)
    assert tab.facts.value("Mode") == "offline" and tab.facts.value("Name") == "brave name"
    assert not tab.open_button.isVisible()  # it has no address
    assert [row.cells[0] for row in tab.tables["history"].rows] == ["a.b", "loss"]
    tab.sync_box.command = (sys.executable, "-c", "import sys; print('uploading', sys.argv[1])")
    tab.sync_button.click()
    assert not tab.sync_button.isEnabled()
    qtbot.waitUntil(lambda: tab.sync_box.status.text() == "Synced.", timeout=WAIT_MS)
    assert "uploading" in tab.sync_box.output.toPlainText()
    assert tab.sync_button.isEnabled()
    tab.sync_box.command = (sys.executable, "-c", "raise SystemExit(3)")
    tab.sync_button.click()
    qtbot.waitUntil(lambda: "status 3" in tab.sync_box.status.text(), timeout=WAIT_MS)


def test_a_sync_that_cannot_work_says_what_is_missing(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    tab = show(lonely, with_wandb_log(tmp_path), "wandb")
    qtbot.waitUntil(lambda: tab.is_content_shown, timeout=WAIT_MS)
    tab.sync_button.click()
    qtbot.waitUntil(lambda: "no W&B key" in tab.sync_box.status.text(), timeout=WAIT_MS)


def test_a_sync_does_not_outlive_the_window(
    qtbot: QtBot, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setattr(sync_box, "_check", lambda: None)
    tab = show(lonely, with_wandb_log(tmp_path), "wandb")
    qtbot.waitUntil(lambda: tab.is_content_shown, timeout=WAIT_MS)
    program = "import time; print('on', flush=True); time.sleep(600)"
    tab.sync_box.command = (sys.executable, "-c", program)
    tab.sync_button.click()
    qtbot.waitUntil(lambda: "on" in tab.sync_box.output.toPlainText(), timeout=WAIT_MS)
    pid = tab.sync_box._process.processId()
    lonely.window.close()  # which would take longer than a test may if it waited
    assert not Path(f"/proc/{pid}").exists()


def test_files_of_another_machine_are_a_sentence(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    run = run_in(tmp_path, tensorboard=TensorBoardArtifact(enabled=True))
    away = over(manifest=run.manifest, paths={"run_directory": "/nowhere/at/all"})
    tab = show(lonely, away, "tensorboard")
    qtbot.waitUntil(lambda: "not on this machine" in tab.empty._title.text(), timeout=WAIT_MS)
