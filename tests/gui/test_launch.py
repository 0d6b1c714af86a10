"""The left panel, with a real daemon where something is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_config import parse_run_config
from mosaic.gui.application import Application
from mosaic.gui.forms.field_editors import LineEditor
from mosaic.gui.launch.panel import LaunchPanel
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import FormTarget, Mode, Operation, Page, PolicyTarget
from mosaic.gui.state.workbench_state import Connection
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.held_answers import HeldAnswers
from tests.unit.gui.launch_samples import filled_state, health, installed_workers, worker


@pytest.fixture
def panel(lonely: Application) -> LaunchPanel:
    """A panel that believes in a daemon."""
    sample = filled_state()
    state = lonely.state
    state.set_connection(Connection.ONLINE)
    state.set_health(health())
    state.set_catalogue(sample.algorithms, sample.environments)
    state.set_workers(installed_workers())
    return lonely.window.launch_panel


@pytest.fixture
def joined(qtbot: QtBot, application: Application) -> LaunchPanel:
    panel = application.window.launch_panel
    qtbot.waitUntil(panel.footer.button.isEnabled, timeout=WAIT_MS)
    return panel


def notices(application: Application) -> list[Notice]:
    told: list[Notice] = []
    application.state.said.connect(told.append)
    return told


def test_it_fits_into_three_hundred_pixels(panel: LaunchPanel, qtbot: QtBot) -> None:
    for mode in Mode:
        panel.modes.button(mode.value).click()
        assert panel.minimumSizeHint().width() <= 292, mode
    for name in ("baseline", "script", "cleanrl"):
        panel.roster.row(name).click()
        assert panel.minimumSizeHint().width() <= 292, name
        inside = panel.footer.parentWidget()
        assert inside is not None


def test_training_is_hidden_until_an_agent_acts(panel: LaunchPanel, lonely: Application) -> None:
    panel.modes.button("human").click()
    assert lonely.state.mode is Mode.HUMAN
    assert panel.schema_form is None and not panel.operations.isVisible()
    assert panel.keys.isVisible() and panel.footer.button.text() == "Play"
    lonely.state.set_mode(Mode.AGENT)
    assert panel.modes.value == "agent" and panel.operations.isVisible()
    assert panel.footer.button.text() == "Train" and panel.footer.button.isEnabled()


def test_playing_is_asked_for(panel: LaunchPanel, lonely: Application) -> None:
    asked: list[str] = []
    lonely.state.page_changed.disconnect()  # the page itself is not tested here
    lonely.state.page_changed.connect(asked.append)
    panel.modes.button("human").click()
    panel.footer.button.click()
    assert asked == [Page.PLAY.value]
    assert lonely.state.play is not None and lonely.state.play.mode is Mode.HUMAN


def test_the_reason_stands_beside_the_button(panel: LaunchPanel, lonely: Application) -> None:
    assert "ready · CPU · 2 GB" in panel.footer.status.text()
    panel.form.form.set("total_timesteps", "-1")
    assert not panel.footer.button.isEnabled() and "minimum" in panel.footer.status.text()
    panel.form.form.reset("total_timesteps")
    assert panel.footer.button.isEnabled()
    lonely.state.set_connection(Connection.LOST)
    assert "daemon" in panel.footer.status.text()


def test_environments_can_be_searched_and_typed(
    panel: LaunchPanel, lonely: Application, qtbot: QtBot
) -> None:
    edit = panel.environment.ids.lineEdit()
    assert edit is not None
    edit.selectAll()
    qtbot.keyClicks(edit, "mountaincarc")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert lonely.state.env_id == "MountainCarContinuous-v0"
    assert panel.form.form.value("algo") == "ppo_continuous_action"
    edit.selectAll()
    qtbot.keyClicks(edit, "my.module:Mine-v0")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert lonely.state.env_id == "my.module:Mine-v0"
    assert panel.environment.families.currentText() == "Custom id…"
    lonely.state.choose_environment("ALE/Pong-v5")
    assert panel.environment.families.currentText() == "Atari"
    assert panel.environment.ids.currentText() == "ALE/Pong-v5"


def test_an_environment_is_taken_from_the_list_below_the_text(
    panel: LaunchPanel, lonely: Application, qtbot: QtBot
) -> None:
    edit, completer = panel.environment.ids.lineEdit(), panel.environment.ids.completer()
    assert edit is not None and completer is not None
    popup = completer.popup()
    assert popup is not None
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "-v")
    qtbot.waitUntil(popup.isVisible, timeout=WAIT_MS)
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, Qt.Key.Key_Return)
    assert lonely.state.env_id == "Acrobot-v1"


def test_a_custom_id_must_be_given_before_anything_starts(
    panel: LaunchPanel, lonely: Application, qtbot: QtBot
) -> None:
    panel.environment.families.picked.emit("Custom id…")
    assert not panel.footer.button.isEnabled() and "missing" in panel.footer.status.text()
    edit = panel.environment.ids.lineEdit()
    assert edit is not None
    qtbot.keyClicks(edit, "Mine-v0")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert lonely.state.env_id == "Mine-v0" and panel.footer.button.isEnabled()


def test_a_bad_id_is_told_under_the_field(panel: LaunchPanel, lonely: Application) -> None:
    lonely.state.choose_environment("Cart Pole")
    assert "spaces" in panel.environment.problem_text
    assert not panel.footer.button.isEnabled()
    lonely.state.choose_environment("CartPole-v1")
    assert panel.environment.problem_text == ""


def test_a_misfit_is_told_under_the_algorithm(panel: LaunchPanel, lonely: Application) -> None:
    lonely.state.choose_environment("Acrobot-v1")
    panel.form.form.set("algo", "sac_continuous_action")
    assert panel.schema_form is not None
    row = panel.schema_form.row("algo")
    assert row is not None and "Acrobot-v1 has discrete actions" in row.error_text


def test_a_worker_that_is_not_ready_shows_what_to_do(
    panel: LaunchPanel, lonely: Application
) -> None:
    lonely.state.set_workers([worker("cleanrl", is_ready=False)])
    assert "not ready" in panel.roster.row("cleanrl").accessibleName()
    assert "pip install" in panel.footer.status.text()
    lonely.state.set_workers([])
    assert not panel.footer.button.isEnabled()


def test_the_two_operations_keep_their_values(panel: LaunchPanel) -> None:
    panel.form.form.set("seeds", "1..5")
    panel.operations.button("trained").click()
    assert panel.form.operation is Operation.EVALUATE and panel.policies.isVisible()
    panel.form.form.set("eval_episodes", "9")
    panel.operations.button("new").click()
    assert panel.form.form.entry("seeds") == "1..5" and not panel.policies.isVisible()
    panel.operations.button("trained").click()
    assert panel.form.form.entry("eval_episodes") == "9"


def test_forms_are_opened_for_others(
    panel: LaunchPanel, lonely: Application, tmp_path: Path
) -> None:
    lonely.state.set_mode(Mode.HUMAN)
    policy = PolicyTarget(tmp_path / "checkpoint", "cleanrl", "CartPole-v1", "ppo")
    lonely.state.ask_form(FormTarget(Operation.EVALUATE, policy, {"eval_episodes": 5}))
    assert lonely.state.mode is Mode.AGENT and panel.form.policy == policy
    assert panel.form.form.value("eval_episodes") == 5
    assert panel.footer.button.text() == "Evaluate" and panel.footer.button.isEnabled()
    told = notices(lonely)
    lonely.state.ask_form(FormTarget(Operation.TRAIN, values={"algo": "dqn", "size": 1}))
    assert panel.form.form.value("algo") == "dqn" and "size" in told[-1].text


def test_the_command_is_copied_without_secrets(panel: LaunchPanel) -> None:
    panel.form.form.set("track_wandb", True)
    panel.form.form.set("wandb_api_key", "hush")
    panel.footer.menu.aboutToShow.emit()
    action = next(item for item in panel.footer.menu.actions() if item.text() == "Copy command")
    action.trigger()
    text = QApplication.clipboard().text()
    assert text.startswith("mosaic train ppo CartPole-v1") and "hush" not in text


def test_presets_are_saved_loaded_and_deleted(
    panel: LaunchPanel, lonely: Application, qtbot: QtBot
) -> None:
    told = notices(lonely)
    panel.form.form.set("seeds", "1..3")
    panel.form.form.set("wandb_api_key", "hush")
    panel.preset_row.ask()
    qtbot.keyClick(panel.preset_row.line, Qt.Key.Key_Return)
    assert panel.preset_row.isVisible()  # it has no name yet
    qtbot.keyClicks(panel.preset_row.line, "three")
    qtbot.keyClick(panel.preset_row.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "three" in panel.launcher.presets(panel.form), timeout=WAIT_MS)
    file = lonely.workbench.home.root / "gui" / "presets" / "train.json"
    assert "hush" not in file.read_text()
    panel.form.form.reset_all()
    panel.footer.menu.aboutToShow.emit()
    panel._on_preset_chosen("three")
    assert panel.form.form.entry("seeds") == "1..3"
    panel.launcher.delete_preset(panel.form, "three")
    qtbot.waitUntil(lambda: not panel.launcher.presets(panel.form), timeout=WAIT_MS)
    assert told[-1].action is not None
    told[-1].action()
    qtbot.waitUntil(lambda: "three" in panel.launcher.presets(panel.form), timeout=WAIT_MS)


def test_a_damaged_preset_file_is_told_and_kept(
    panel: LaunchPanel, lonely: Application, qtbot: QtBot
) -> None:
    file = lonely.workbench.home.root / "gui" / "presets" / "evaluate.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{damaged")
    told = notices(lonely)
    panel.operations.button("trained").click()
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert "cannot be read" in told[0].text
    panel.launcher.save_preset(panel.form, "x")
    qtbot.waitUntil(lambda: len(told) > 1, timeout=WAIT_MS)
    assert file.read_text() == "{damaged"


def test_a_preset_of_wrong_types_loads_what_it_can(
    panel: LaunchPanel, lonely: Application, qtbot: QtBot
) -> None:
    file = lonely.workbench.home.root / "gui" / "presets" / "resume.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"odd": {"total_timesteps": [], "run_name": "good", "x": None}}))
    panel.operations.button("trained").click()
    panel.uses.button("resume").click()
    qtbot.waitUntil(lambda: "odd" in panel.launcher.presets(panel.form), timeout=WAIT_MS)
    told = notices(lonely)
    panel._on_preset_chosen("odd")
    assert panel.form.form.value("run_name") == "good" and "total_timesteps" in told[-1].text


def test_a_script_is_shown_before_it_can_be_started(
    panel: LaunchPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    panel.roster.row("script").click()
    assert not panel.footer.button.isEnabled() and not panel.operations.isVisible()
    panel.form.form.set("cwd", str(tmp_path))
    panel.form.form.set("command", "python -c 'print(42)'")
    qtbot.waitUntil(lambda: "print(42)" in panel.preview.text, timeout=WAIT_MS)
    assert panel.preview.isVisible() and panel.footer.button.text() == "Run script"


def test_the_preview_is_of_what_was_entered_last(
    panel: LaunchPanel, lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.roster.row("script").click()
    panel.form.form.set("cwd", str(tmp_path))
    held = HeldAnswers()
    monkeypatch.setattr(lonely.bridge, "work", held.ask)
    for command in ("echo first", "echo second"):
        panel.form.form.set("command", command)
        panel.preview._timer.timeout.emit()
    (first, _), (second, _) = held.asked
    held.answer(second, ["second"])
    held.answer(first, ["first"])
    assert panel.preview.text == "second"


def test_training_starts_and_can_be_started_again(
    joined: LaunchPanel, application: Application, qtbot: QtBot
) -> None:
    state = application.state
    joined.roster.row("baseline").click()
    joined.form.form.set("total_timesteps", "50")
    qtbot.keyClick(joined, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: len(state.runs) == 1, timeout=WAIT_MS)
    qtbot.waitUntil(joined.footer.button.isEnabled, timeout=WAIT_MS)
    [first] = state.runs.newest_first()
    assert first.worker == "baseline" and state.selection == (first.run_id,)
    memory = application.workbench.home.root / "gui" / "last_training.json"
    qtbot.waitUntil(memory.exists, timeout=WAIT_MS)
    application.workbench.commands.trigger("run.train_again")
    qtbot.waitUntil(lambda: len(state.runs) == 2, timeout=WAIT_MS)


def test_a_dry_run_says_what_would_happen(joined: LaunchPanel, qtbot: QtBot) -> None:
    joined.roster.row("baseline").click()
    joined.footer.menu.aboutToShow.emit()
    joined.footer.menu.actions()[0].trigger()
    assert not joined.footer.button.isEnabled()
    qtbot.waitUntil(joined.dry_run.isVisible, timeout=WAIT_MS)
    assert any("worker config" in text for text in joined.dry_run.texts())
    assert joined.footer.button.isEnabled()


def test_what_the_daemon_refuses_is_told_at_the_field(
    joined: LaunchPanel, application: Application, qtbot: QtBot
) -> None:
    joined.roster.row("baseline").click()
    # The schema allows it; that it would be stored in plain text, the daemon does not.
    joined.form.form.set("env_kwargs", json.dumps({"api_key": "abc"}))
    joined.start()
    assert joined.footer.button.text() == "Run…" and not joined.footer.button.isEnabled()
    qtbot.waitUntil(lambda: not joined.launcher.is_busy, timeout=WAIT_MS)
    assert joined.schema_form is not None and len(application.state.runs) == 0
    row = joined.schema_form.row("env_kwargs")
    assert row is not None and row.isVisible() and row.error_text
    assert row.error_text in joined.footer.status.text()
    joined.form.form.reset("env_kwargs")
    assert row.error_text == "" and "ready" in joined.footer.status.text()


def test_several_seeds_are_several_runs(
    joined: LaunchPanel, application: Application, qtbot: QtBot, daemon: DaemonHarness
) -> None:
    joined.roster.row("cleanrl").click()
    joined.form.form.set("total_timesteps", "512")
    joined.form.form.set("seeds", "1..2")
    documents = joined.form.prepare()()
    assert len({parse_run_config(item).group for item in documents}) == 1
    joined.start()
    # News of the runs may come before the answer to who started them.
    qtbot.waitUntil(lambda: len(application.state.selection) == 2, timeout=WAIT_MS)
    assert len(application.state.runs) == 2
    for run_id in application.state.selection:
        daemon.client.wait(run_id, timeout=60)


def test_nothing_trained_yet_is_said(
    joined: LaunchPanel, application: Application, qtbot: QtBot
) -> None:
    told = notices(application)
    application.workbench.commands.trigger("run.train_again")
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert "Nothing was trained" in told[0].text and joined.footer.button.isEnabled()


def test_a_worker_that_is_not_installed_says_what_it_needs(
    panel: LaunchPanel, lonely: Application
) -> None:
    row = panel.roster.row("llm_multi_step_worker")
    assert row.isVisible() and "not installed" in row.accessibleName()
    row.click()
    assert panel.absent.isVisible() and "OpenAI" in panel.absent.texts()
    assert not panel.footer.button.isEnabled()
    assert panel.footer.status.text() == "LLM Multi-Step Worker is not installed"
    assert not panel.environment.isVisible() and panel.schema_form is None
    panel.roster.row("cleanrl").click()
    assert not panel.absent.isVisible() and panel.footer.button.isEnabled()
    assert panel.schema_form is not None and panel.schema_form.isVisible()


def test_short_numbers_are_shown_in_full(panel: LaunchPanel, qtbot: QtBot) -> None:
    assert panel.schema_form is not None
    row = panel.schema_form.row("total_timesteps")
    assert row is not None and isinstance(row.editor, LineEditor)
    row.editor.setFocus()
    row.editor.selectAll()
    qtbot.keyClicks(row.editor, "1.2M")
    qtbot.keyClick(row.editor, Qt.Key.Key_Return)
    assert row.editor.text() == "1,200,000" and panel.footer.button.isEnabled()
    row.editor.selectAll()
    qtbot.keyClicks(row.editor, "lots")
    qtbot.keyClick(row.editor, Qt.Key.Key_Return)
    assert row.editor.text() == "lots" and "not a number" in row.error_text


def test_a_recipe_is_chosen_and_seen_in_the_fields(panel: LaunchPanel, qtbot: QtBot) -> None:
    assert panel.schema_form is not None
    panel.form.form.set("recipe", "tuned")
    panel.schema_form.section("Hyperparameters").open()
    row = panel.schema_form.row("learning_rate")
    assert row is not None and isinstance(row.editor, LineEditor) and row.editor.text() == "0.001"
    header = panel.schema_form.section("Hyperparameters").header
    assert header is not None and "11 from the recipe" in header.accessibleName()
    panel.form.form.set("learning_rate", "0.01")
    assert "10 from the recipe, 1 changed" in header.accessibleName()
