"""The scenes, in an order that lets one run serve several of them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea

from mosaic.gui.compare.page import ComparePage
from mosaic.gui.live.page import LivePage
from mosaic.gui.play.page import PlayPage
from mosaic.gui.replay.model.beside import BesideChoice
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.state.targets import (
    FormTarget,
    Mode,
    Operation,
    Page,
    PlayTarget,
    ReplayTarget,
)
from mosaic.gui.state.workbench_state import Connection
from screenshot_scenes.sample_home import SampleHome
from screenshot_scenes.sample_runs import (
    SampleRuns,
    start_evaluation,
    start_live,
    start_queued,
)
from screenshot_scenes.stage import Stage

_TABS_OF_TRACKED = ("checkpoints", "videos", "tensorboard", "wandb", "config", "game")


def shoot_empty(stage: Stage) -> None:
    """A home without runs."""
    stage.state.show_page(Page.WELCOME)
    stage.shoot("welcome", is_main=True, settle_s=1.0)


def shoot_finished(stage: Stage, runs: SampleRuns) -> None:
    stage.select(runs.finished)
    stage.state.show_page(Page.LIVE)
    stage.wait_for_curves()
    best = stage.window.stage.outcome.best
    stage.until(lambda: best.panel.player.step > 5, "the best episode")
    stage.shoot("finished", is_main=True, settle_s=0.8)
    stage.select(runs.finished, *runs.ppo[1:], *runs.dqn)
    stage.shoot("charts", settle_s=1.5)
    stage.state.compare([*runs.ppo, *runs.dqn])
    page = stage.window.stage.page(Page.COMPARE)
    assert isinstance(page, ComparePage)
    stage.until(page.export_button.isEnabled, "the comparison")
    stage.shoot("compare", is_main=True, settle_s=0.8)


def shoot_tabs(stage: Stage, runs: SampleRuns) -> None:
    stage.state.show_page(Page.LIVE)
    stage.select(runs.tracked)
    for tab_id in _TABS_OF_TRACKED:
        stage.show_tab(tab_id)
        stage.shoot(f"tab-{tab_id}", settle_s=1.5)
    stage.select(runs.study)
    stage.show_tab("trials")
    stage.wait_for_study()
    stage.shoot("tab-trials", settle_s=1.2)


def shoot_failed(stage: Stage, runs: SampleRuns) -> None:
    stage.state.show_page(Page.LIVE)
    stage.select(runs.failed)
    stage.wait_for_curves()
    stage.shoot("failed", is_main=True, settle_s=0.8)
    stage.window.runs_panel.show_logs(True)
    stage.shoot("logs", settle_s=1.0)
    stage.window.runs_panel.show_logs(False)


def shoot_replay(stage: Stage, runs: SampleRuns) -> None:
    stage.select(runs.finished)
    stage.show_tab("charts")
    stage.state.show_replay(ReplayTarget(runs.finished))
    page = stage.window.stage.page(Page.REPLAY)
    assert isinstance(page, ReplayPage)
    stage.until(lambda: page.panel.image is not None, "the replayed picture")
    seen = page.panel.strips.views["observation"]
    stage.until(lambda: seen.strip.text_at(60), "the observations")
    page.panel.toggle()
    page.panel.seek(60)
    stage.spend(1.0)
    page.verify()
    stage.until(stage.window.snackbar.isVisible, "the verdict")
    stage.window.snackbar.dismiss()
    stage.shoot("replay", is_main=True, settle_s=0.8)
    page.show_beside(BesideChoice("Best episode", "this run", runs.finished, None, "best"))
    beside = page.panel.beside
    stage.until(lambda: beside.picture.image is not None, "the episode beside it")
    stage.shoot("beside", settle_s=1.5)
    page.panel.close_beside()


def shoot_play(stage: Stage, runs: SampleRuns) -> None:
    page = stage.window.stage.page(Page.PLAY)
    assert isinstance(page, PlayPage)
    stage.state.set_mode(Mode.HUMAN)
    stage.state.show_play(PlayTarget("CartPole-v1", Mode.HUMAN))
    stage.until(lambda: page.is_playing, "the game")
    canvas = page.game.picture.canvas
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left):
        QTest.keyPress(canvas, key)
        stage.spend(0.08)
        QTest.keyRelease(canvas, key)
    QTest.keyClick(canvas, Qt.Key.Key_Space)
    stage.show_tab("game")
    page.game.picture.show_keys()
    stage.shoot("play", is_main=True)
    page.game.ended.emit()
    stage.state.set_mode(Mode.HYBRID)
    stage.window.launch_panel.policies.choose(runs.finished)
    launch = stage.window.launch_panel.launch
    stage.until(lambda: launch.play_policy is not None, "the policy")
    target = launch.play_target()
    if target is not None:
        stage.state.show_play(target)
        stage.until(lambda: page.is_playing, "the policy's game")
        stage.spend(1.0)
        stage.shoot("hybrid", keeps_focus=True)
        page.game.ended.emit()
    stage.state.set_mode(Mode.AGENT)


def shoot_forms(stage: Stage, runs: SampleRuns) -> None:
    panel, state = stage.window.launch_panel, stage.state
    state.select([])
    state.show_page(Page.WELCOME)
    state.ask_form(FormTarget(Operation.TRAIN, values={"algo": "ppo", "env_id": "CartPole-v1"}))
    assert panel.schema_form is not None
    row = panel.schema_form.reveal("learning_rate")
    assert row is not None
    area = panel.findChild(QScrollArea)
    assert area is not None
    stage.spend(0.1)  # a section has no height before it is laid out
    area.ensureWidgetVisible(row, 0, 160)
    stage.shoot("form-hyperparameters")
    panel.form.form.set("learning_rate", "-1")
    row.editor.setFocus()
    stage.shoot("form-invalid", keeps_focus=True)
    panel.form.form.reset_all()
    header = panel.schema_form.section("Hyperparameters").header
    assert header is not None
    header.click()
    panel.launcher.dry_run(panel.form)
    stage.until(panel.dry_run.isVisible, "the dry run")
    stage.hide_machine(panel.dry_run)
    stage.shoot("form-dry-run")
    panel.dry_run.hide()
    stage.application.workbench.run_actions.evaluate(runs.finished)
    stage.until(lambda: panel.form.policy is not None, "the policy in the form")
    stage.shoot("form-evaluate")
    values = {"command": "python reinforce.py --seed 1"}
    state.ask_form(FormTarget(Operation.SCRIPT, values=values))
    stage.shoot("form-script", keeps_focus=True)
    state.ask_form(FormTarget(Operation.TRAIN, values={"algo": "ppo"}))


def shoot_live(stage: Stage, home: SampleHome, runs: SampleRuns) -> None:
    live = start_live(home)
    start_queued(home)
    stage.until(lambda: stage.state.runs.get(live) is not None, "the live run")
    stage.select(live)
    stage.state.show_page(Page.LIVE)
    stage.show_tab("charts")
    page = stage.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    stage.until(lambda: page.watching.shown is not None, "an episode at natural speed", 60)
    stage.spend(5)
    stage.shoot("natural-speed", settle_s=1.0)
    page.view.button("mosaic").click()
    stage.until(lambda: len(page.canvas._tiles) == 8, "eight pictures")
    stage.spend(5)
    stage.shoot("running", is_main=True, settle_s=1.0)
    page.canvas.enlarge(3)
    stage.shoot("tile")
    page.canvas.enlarge(None)
    stage.show_tab("fastlane")
    stage.shoot("tab-fastlane", settle_s=1.2)
    stage.show_tab("telemetry")
    stage.shoot("tab-live", settle_s=1.2)
    stage.show_tab("charts")
    page.toggle_pause()
    stage.until(lambda: page.canvas.veil == "paused", "the pause", 5)
    stage.window.snackbar.dismiss()
    stage.shoot("paused")
    evaluation = start_evaluation(home, runs.finished)
    stage.until(lambda: stage.state.runs.get(evaluation) is not None, "the evaluation")
    stage.select(evaluation)
    stage.until(lambda: "(Eval)" in page.hud.text, "its pictures")
    stage.wait_for_curves()
    stage.shoot("evaluation", settle_s=2.0)


def shoot_window(stage: Stage, runs: SampleRuns) -> None:
    window = stage.window
    stage.select(runs.finished)
    stage.state.show_page(Page.LIVE)
    stage.show_tab("charts")
    stage.run("help.palette")
    window.palette_overlay.field.setFocus()
    QTest.keyClicks(window.palette_overlay.field, "lun")
    stage.shoot("palette", keeps_focus=True)
    window.palette_overlay.dismiss()
    stage.run("help.shortcuts")
    stage.shoot("shortcuts")
    window.shortcuts_overlay.dismiss()
    window.runs_panel.filter_field.setText("dqn")
    stage.shoot("filtered")
    window.runs_panel.filter_field.clear()
    stage.application.workbench.run_actions.delete([runs.dqn[2]])
    stage.until(window.snackbar.isVisible, "the snackbar")
    stage.shoot("undo")
    window.snackbar.dismiss()


def shoot_lost(stage: Stage, home: SampleHome) -> None:
    """Last: nothing works afterwards."""
    home.mosaic("daemon", "stop")
    stage.until(lambda: stage.state.connection is Connection.LOST, "the end of the daemon")
    stage.shoot("daemon-lost", settle_s=0.8)


WITH_RUNS = (
    shoot_finished,
    shoot_tabs,
    shoot_failed,
    shoot_replay,
    shoot_play,
    shoot_forms,
    shoot_window,
)
