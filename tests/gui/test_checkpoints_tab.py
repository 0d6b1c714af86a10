"""The checkpoints tab: cards of a real run, their files, and what can be done with them."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

pytest.importorskip("torch")

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import ConfigError
from mosaic.gui.application import Application
from mosaic.gui.checkpoints.cards import CardView
from mosaic.gui.checkpoints.model.cards import Card, HashStatus
from mosaic.gui.checkpoints.tab import CardInspector, CheckpointsTab
from mosaic.gui.forms.field_editors import ChipEditor
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import FormTarget, Operation, Page
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.held_answers import HeldAnswers
from tests.unit.gui.run_samples import over

TRAINING_WAIT_S = 120


@pytest.fixture
def run(daemon: DaemonHarness) -> RunRecord:
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1024, "seed": 1}
    run_id = daemon.client.start_run(
        {
            "run_name": "ppo-short",
            "entry_point": "cleanrl",
            "arguments": [],
            "environment": {},
            "resources": {"cpus": 1, "memory_mb": 2048},
            "artifacts": {},
            "metadata": {"worker": {"config": {**config, "extras": {}}}},
        }
    )
    record = daemon.wait_over(run_id, timeout_s=TRAINING_WAIT_S)
    assert record.outcome == "succeeded" and record.checkpoint_uri
    return record


def opened(qtbot: QtBot, application: Application, run_id: str) -> CheckpointsTab:
    state = application.state
    qtbot.waitUntil(lambda: run_id in state.runs and bool(state.workers), timeout=WAIT_MS)
    state.ask_tab("checkpoints")
    state.select([run_id])
    panel = application.window.tabs_panel
    qtbot.waitUntil(lambda: panel.tab("checkpoints") is not None, timeout=WAIT_MS)
    tab = panel.tab("checkpoints")
    assert isinstance(tab, CheckpointsTab)
    qtbot.waitUntil(lambda: bool(tab.cards.views), timeout=WAIT_MS)
    return tab


def with_status(qtbot: QtBot, tab: CheckpointsTab, status: HashStatus) -> CardView:
    qtbot.waitUntil(lambda: tab.cards.views[0].status is status, timeout=WAIT_MS)
    return tab.cards.views[0]


def test_a_card_knows_its_file_and_asks_for_forms_and_the_stage(
    qtbot: QtBot, run: RunRecord, application: Application
) -> None:
    state = application.state
    tab = opened(qtbot, application, run.run_id)
    view = with_status(qtbot, tab, HashStatus.VERIFIED)
    assert view.card.path == Path(run.paths["run_directory"]) / run.checkpoint_uri
    assert view.title.text() == "step 1,024" and "kB" in view.about.text()
    qtbot.waitUntil(lambda: len(view.spark._values) > 1, timeout=WAIT_MS)

    asked: list[FormTarget] = []
    state.form_asked.connect(asked.append)
    qtbot.mouseClick(view.evaluate, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.resume, Qt.MouseButton.LeftButton)
    assert [target.operation for target in asked] == [Operation.EVALUATE, Operation.RESUME]
    assert asked[0].policy is not None and asked[0].policy.checkpoint == view.card.path
    tab._on_asked("copy", view.card)
    assert QGuiApplication.clipboard().text() == str(view.card.path)

    state.choose_environment("Acrobot-v1")
    assert not view.deploy.isEnabled()
    assert view.reason.text() == "Made for CartPole-v1, but Acrobot-v1 is chosen"
    qtbot.mouseClick(view.switch, Qt.MouseButton.LeftButton)
    assert state.env_id == "CartPole-v1" and view.deploy.isEnabled()
    qtbot.mouseClick(view.deploy, Qt.MouseButton.LeftButton)
    assert state.page is Page.PLAY and state.play is not None
    assert state.play.policy is not None and state.play.policy.checkpoint == view.card.path
    state.show_page(Page.WELCOME)


def test_a_training_is_begun_with_its_networks(
    qtbot: QtBot, daemon: DaemonHarness, run: RunRecord, application: Application
) -> None:
    state = application.state
    state.choose_environment("Acrobot-v1")
    view = with_status(qtbot, opened(qtbot, application, run.run_id), HashStatus.VERIFIED)
    assert view.warm_start.isVisible()
    view.warm_start.trigger()
    assert state.env_id == "CartPole-v1", "the networks fit no other environment"
    panel = application.window.launch_panel
    assert panel.form.operation is Operation.TRAIN
    assert panel.form.form.value("warm_start_path") == str(view.card.path)
    panel.form.form.set("total_timesteps", "1024")
    panel.start()
    qtbot.waitUntil(lambda: len(state.runs) == 2, timeout=WAIT_MS)
    begun = next(found for found in state.runs.newest_first() if found.run_id != run.run_id)
    record = daemon.wait_over(begun.run_id, timeout_s=TRAINING_WAIT_S)
    assert record.outcome == "succeeded"
    lineage = record.manifest["metadata"]["lineage"]
    assert lineage["kind"] == "warm_start" and lineage["parent_step"] == 1024


def test_a_warm_start_is_seen_checked_and_taken_away(
    qtbot: QtBot, daemon: DaemonHarness, run: RunRecord, application: Application
) -> None:
    state, panel = application.state, application.window.launch_panel
    view = with_status(qtbot, opened(qtbot, application, run.run_id), HashStatus.VERIFIED)
    view.warm_start.trigger()
    assert panel.schema_form is not None
    row = panel.schema_form.row("starts_from")
    assert row is not None and isinstance(row.editor, ChipEditor)
    assert row.editor.text == "starts from ppo · CartPole-v1 · best, final, step 1,024"
    assert row.isVisible() and panel.footer.button.isEnabled()

    state.choose_environment("Acrobot-v1")
    qtbot.waitUntil(lambda: not panel.footer.button.isEnabled(), timeout=WAIT_MS)
    assert "Acrobot-v1 are 6 numbers" in row.error_text
    assert "trained on CartPole-v1" in panel.footer.status.text()
    # The daemon says the same to those who have no form.
    [document] = panel.form.prepare()()
    with pytest.raises(ConfigError, match="trained on CartPole-v1") as caught:
        daemon.client.start_run(document)
    assert caught.value.details["field"].endswith("extras.warm_start_path")

    state.choose_environment("CartPole-v1")
    qtbot.waitUntil(panel.footer.button.isEnabled, timeout=WAIT_MS)
    assert row.error_text == ""
    state.choose_environment("Acrobot-v1")
    qtbot.waitUntil(lambda: not panel.footer.button.isEnabled(), timeout=WAIT_MS)
    qtbot.mouseClick(row.editor.cross, Qt.MouseButton.LeftButton)
    assert panel.form.form.value("warm_start_path") is None and "starts_from" not in panel.form.form
    assert panel.footer.button.isEnabled(), "it begins with random networks now"
    assert len(state.runs) == 1


def test_damaged_and_missing_files_cannot_be_used(
    qtbot: QtBot, run: RunRecord, application: Application
) -> None:
    path = Path(run.paths["run_directory"]) / run.checkpoint_uri
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"!")
    tab = opened(qtbot, application, run.run_id)
    view = with_status(qtbot, tab, HashStatus.DAMAGED)
    for button in (view.evaluate, view.deploy, view.resume):
        assert not button.isEnabled()
    assert view.reason.text() == "Its file is not what was saved"
    path.write_bytes(content)
    tab._on_asked("check", view.card)
    with_status(qtbot, tab, HashStatus.VERIFIED)
    assert view.evaluate.isEnabled()
    path.unlink()
    tab._on_asked("check", view.card)
    with_status(qtbot, tab, HashStatus.MISSING)
    assert not view.deploy.isEnabled()


def test_a_file_from_elsewhere_is_imported_and_listed_with_all_runs(
    qtbot: QtBot, run: RunRecord, application: Application, tmp_path: Path
) -> None:
    path = Path(run.paths["run_directory"]) / run.checkpoint_uri
    outside = tmp_path / "elsewhere" / "mine.pt"
    outside.parent.mkdir()
    shutil.copy(path, outside)
    (tmp_path / "notes.txt").write_text("not a checkpoint, only words")
    tab = opened(qtbot, application, run.run_id)
    said: list[Notice] = []
    application.state.said.connect(said.append)
    tab.import_file(tmp_path / "notes.txt")
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert "notes.txt is no checkpoint" in said[0].text
    tab.import_file(outside)
    qtbot.waitUntil(lambda: len(tab.cards.views) == 2, timeout=WAIT_MS)
    imported, own = tab.cards.views
    assert imported.title.text() == "mine" and own.card.is_leading
    qtbot.waitUntil(lambda: imported.status is HashStatus.VERIFIED, timeout=WAIT_MS)
    assert imported.card.worker == run.worker and imported.evaluate.isEnabled()


def test_a_list_from_before_an_import_does_not_hide_what_was_imported(
    lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, held = over(), HeldAnswers()
    lonely.state.runs.load([run])
    lonely.state.select([run.run_id])
    lonely.state.set_details(run)
    monkeypatch.setattr(lonely.bridge, "work", held.ask)
    lonely.state.ask_tab("checkpoints")
    tab = lonely.window.tabs_panel.tab("checkpoints")
    assert isinstance(tab, CheckpointsTab)
    before = tab._reading_imported
    card = Card(tmp_path / "mine.pt", "mine", "cleanrl", "CartPole-v1", "ppo")
    tab._on_import_done(card)
    assert before is not None and tab._reading_imported is not None
    held.answer(before, [])
    assert tab._imported == [card]
    held.answer(tab._reading_imported, [card])
    assert tab._imported == [card]


def test_the_list_of_all_runs_comes_too_late_for_who_went_back_to_one(
    lonely: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = over()
    lonely.state.runs.load([run])
    lonely.state.select([run.run_id])
    lonely.state.set_details(run)
    lonely.state.ask_tab("checkpoints")
    tab = lonely.window.tabs_panel.tab("checkpoints")
    assert isinstance(tab, CheckpointsTab)
    held = HeldAnswers()
    monkeypatch.setattr(lonely.bridge, "ask", held.ask)
    tab.show_all_runs()
    tab.choice.button("run").click()
    held.answer_all([])
    assert tab.empty._title.text() == "No checkpoint"


def test_a_run_that_is_deleted_leaves_the_list_of_all(
    qtbot: QtBot, daemon: DaemonHarness, run: RunRecord, application: Application
) -> None:
    tab = opened(qtbot, application, run.run_id)
    tab.show_all_runs()
    qtbot.waitUntil(lambda: tab.cards.views[0].title.text() == "ppo-short", timeout=WAIT_MS)
    daemon.client.delete_run(run.run_id)
    tab._refresh()
    qtbot.waitUntil(lambda: tab.cards.views == [], timeout=WAIT_MS)


def test_of_two_looks_at_a_file_the_later_one_counts(
    lonely: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldAnswers()
    monkeypatch.setattr(lonely.bridge, "work", held.ask)
    seen: list[HashStatus] = []
    card = Card(tmp_path / "mine.pt", "mine", "cleanrl", "CartPole-v1", "ppo")
    view = SimpleNamespace(show_status=seen.append)
    inspector = CardInspector(lonely.bridge, lambda key: cast(CardView, view), lambda view: None)
    inspector.check(card)
    inspector.check(card)
    (first, _), (second, _) = held.asked
    held.answer(second, HashStatus.DAMAGED)
    held.answer(first, HashStatus.VERIFIED)
    assert seen[-1] is HashStatus.DAMAGED
