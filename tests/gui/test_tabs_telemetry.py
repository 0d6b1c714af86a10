"""The live telemetry and the config of real runs."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.run_config.tab import JSON, ConfigTab
from mosaic.gui.state.targets import FormTarget, Operation, Page
from mosaic.gui.telemetry.tab import EPISODES, TelemetryTab
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.run_samples import over, record


def submit(daemon: DaemonHarness, **settings: Any) -> str:
    return daemon.submit(
        entry_point="baseline",
        arguments=[],
        metadata={"worker": {"config": {"env_id": "CartPole-v1", "seed": 1, **settings}}},
    )


def open_tab(qtbot: QtBot, application: Application, run_id: str, tab_id: str) -> Any:
    state, panel = application.state, application.window.tabs_panel
    qtbot.waitUntil(lambda: run_id in state.runs, timeout=WAIT_MS)
    state.select([run_id])
    state.ask_tab(tab_id)
    qtbot.waitUntil(lambda: panel.current_id == tab_id, timeout=WAIT_MS)
    return panel.tab(tab_id)


def test_steps_arrive_live_and_the_view_can_be_held(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = submit(daemon, total_timesteps=100_000, max_steps_per_second=200.0)
    tab = open_tab(qtbot, application, run_id, "telemetry")
    assert isinstance(tab, TelemetryTab)
    qtbot.waitUntil(lambda: len(tab.steps_table.rows) > 20, timeout=WAIT_MS)
    assert tab.which.isVisible() and not tab.banner.isVisible()
    tab.hold_button.click()
    held = tab.steps_table.rows[0].key
    seen = tab.status.text()
    qtbot.waitUntil(lambda: tab._view.steps_seen > 200, timeout=WAIT_MS)
    assert tab.steps_table.rows[0].key == held and tab.status.text() == seen
    tab.hold_button.click()
    assert tab.steps_table.rows[0].key != held
    tab.which.button(EPISODES).click()
    qtbot.waitUntil(lambda: len(tab.episodes_table.rows) > 2, timeout=WAIT_MS)
    application.window.tabs_panel.show_tab("config")
    assert tab._following is None  # nobody looks: nothing is streamed


def test_a_run_that_is_over_offers_its_episodes_for_replay(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = submit(daemon, episodes=12)
    daemon.wait_over(run_id)
    tab = open_tab(qtbot, application, run_id, "telemetry")
    qtbot.waitUntil(lambda: len(tab.episodes_table.rows) == 12, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not tab.which.isVisible(), timeout=WAIT_MS)
    table = tab.episodes_table
    assert table.rows[0].cells[0] == "11"
    table.setFocus()
    table.selectRow(2)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    state = application.state
    assert state.page is Page.REPLAY
    assert state.replay is not None
    assert (state.replay.run_id, state.replay.episode) == (run_id, 9)


def test_an_analytics_run_says_what_it_does_not_have(lonely: Application) -> None:
    run = record(capabilities={"lane": "analytics", "metadata": {"name": "Quick"}})
    lonely.state.select([run.run_id])
    lonely.state.set_details(run)
    lonely.state.ask_tab("telemetry")
    tab = lonely.window.tabs_panel.tab("telemetry")
    assert isinstance(tab, TelemetryTab)
    assert "step-by-step live telemetry is not available, because" in tab.banner.text
    asked: list[str] = []
    lonely.state.tab_asked.connect(asked.append)
    tab.banner.button.click()
    assert asked == ["charts"]


def test_the_config_is_shown_searched_copied_and_filled_into_the_form(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = submit(daemon, episodes=2)
    daemon.wait_over(run_id)
    tab = open_tab(qtbot, application, run_id, "config")
    assert isinstance(tab, ConfigTab)
    qtbot.waitUntil(lambda: bool(tab.tree.shown_settings()), timeout=WAIT_MS)
    assert ("episodes", "2") in tab.tree.shown_settings()
    assert any(name == "Python" for name, _ in tab.tree.shown_settings())
    qtbot.keyClicks(tab.search, "episodes")
    assert [name for name, _ in tab.tree.shown_settings()] == ["episodes"]
    tab.search.clear()
    tab.which.button(JSON).click()
    assert '"entry_point"' in tab.json.toPlainText()
    tab.copy_button.click()
    assert '"entry_point"' in QGuiApplication.clipboard().text()
    asked: list[FormTarget] = []
    application.state.form_asked.connect(asked.append)
    tab.edit_button.click()
    assert asked[0].operation is Operation.TRAIN and asked[0].values["episodes"] == 2


def test_lineage_leads_to_the_parent_and_the_children(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    settings = {"worker": {"config": {"env_id": "CartPole-v1", "episodes": 1}}}
    parent = daemon.submit(entry_point="baseline", arguments=[], metadata=settings)
    child = daemon.submit(
        entry_point="baseline",
        arguments=[],
        metadata={**settings, "lineage": {"parent_run": parent}},
    )
    daemon.wait_over(child)
    tab = open_tab(qtbot, application, child, "config")
    qtbot.waitUntil(lambda: len(tab.lineage.links()) == 1, timeout=WAIT_MS)
    tab.lineage.links()[0].click()
    assert application.state.selection == (parent,)
    toward_child = f"Select run {child}"
    qtbot.waitUntil(
        lambda: toward_child in [link.toolTip() for link in tab.lineage.links()], timeout=WAIT_MS
    )


def test_a_config_that_cannot_be_read_is_a_sentence(lonely: Application) -> None:
    lonely.state.select([over().run_id])
    lonely.state.set_details(over(config={}))
    lonely.state.ask_tab("config")
    tab = lonely.window.tabs_panel.tab("config")
    assert isinstance(tab, ConfigTab)
    assert not tab.is_content_shown
