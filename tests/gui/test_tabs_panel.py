"""The right panel: its bar, which tab is active when, and what is there without a run."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.application import Application
from mosaic.gui.shell import tabs_panel
from mosaic.gui.shell.tabs_panel import TabsPanel
from mosaic.gui.tabs.run_tab import RunTab, TabKind
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.run_samples import record


class ListeningTab(RunTab):
    """Writes down what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    def show_run(self, record: RunRecord) -> None:
        self.heard.append(record.run_name)

    def set_active(self, is_active: bool) -> None:
        self.heard.append(is_active)

    def close_tab(self) -> None:
        self.heard.append("closed")


def kind(tab_id: str, title: str = "", needs: str = "") -> TabKind:
    return TabKind(
        tab_id,
        title or tab_id,
        "pulse",
        lambda run: not needs or bool(run.manifest.get(needs)),
        lambda workbench: ListeningTab(),
    )


@pytest.fixture
def panel(lonely: Application, monkeypatch: pytest.MonkeyPatch) -> TabsPanel:
    kinds = (kind("one"), kind("two"), kind("rare", needs="rare"))
    monkeypatch.setattr(tabs_panel, "TAB_KINDS", kinds)
    return lonely.window.tabs_panel


def select(application: Application, run: RunRecord) -> None:
    application.state.select([run.run_id])
    application.state.set_details(run)


def heard(panel: TabsPanel, tab_id: str) -> list[Any]:
    tab = panel.tab(tab_id)
    assert isinstance(tab, ListeningTab)
    return tab.heard


def test_only_the_tab_in_front_is_active(lonely: Application, panel: TabsPanel) -> None:
    select(lonely, record())
    assert panel.tab_ids == ("one", "two")
    name = record().run_name
    assert heard(panel, "one") == [name, True]
    panel.show_nth(1)
    assert heard(panel, "one")[-1] is False
    assert heard(panel, "two") == [name, True]
    assert panel.current_id == "two"


def test_a_new_record_of_the_same_run_disturbs_nothing(
    lonely: Application, panel: TabsPanel
) -> None:
    select(lonely, record())
    lonely.state.set_details(record(revision=2))
    name = record().run_name
    assert heard(panel, "one") == [name, True, name]


def test_a_tab_appears_when_the_run_gets_what_it_shows(
    lonely: Application, panel: TabsPanel
) -> None:
    select(lonely, record())
    lonely.state.ask_tab("two")
    lonely.state.set_details(record(manifest={"rare": 1}))
    assert panel.tab_ids == ("one", "two", "rare")
    assert panel.current_id == "two"  # nothing is taken from under the person's eyes
    assert heard(panel, "two").count(True) == 1


def test_a_tab_that_is_asked_for_comes_to_the_front_once_it_is_there(
    lonely: Application, panel: TabsPanel
) -> None:
    select(lonely, record())
    lonely.state.ask_tab("rare")
    assert panel.current_id == "one"
    lonely.state.set_details(record(manifest={"rare": 1}))
    assert panel.current_id == "rare"


def test_the_chosen_tab_stays_from_run_to_run(lonely: Application, panel: TabsPanel) -> None:
    select(lonely, record(1, manifest={"rare": 1}))
    lonely.state.ask_tab("rare")
    select(lonely, record(2))
    assert panel.current_id == "one"
    select(lonely, record(3, manifest={"rare": 1}))
    assert panel.current_id == "rare"


def test_nothing_is_active_while_the_dock_is_hidden(lonely: Application, panel: TabsPanel) -> None:
    select(lonely, record())
    lonely.window.tabs_dock.hide()
    assert heard(panel, "one")[-1] is False
    lonely.window.tabs_dock.show()
    assert heard(panel, "one")[-1] is True


def test_closing_the_window_ends_what_tabs_have_started(
    lonely: Application, panel: TabsPanel
) -> None:
    select(lonely, record())
    lonely.window.close()
    assert heard(panel, "one")[-2:] == [False, "closed"]


def test_no_title_is_cut_off_and_the_rest_is_in_the_menu(
    qtbot: QtBot, lonely: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = ("Charts", "FastLane", "Checkpoints", "Live", "TensorBoard", "W&B", "Config")
    kinds = tuple(kind(title.lower(), title) for title in titles)
    monkeypatch.setattr(tabs_panel, "TAB_KINDS", kinds)
    panel = lonely.window.tabs_panel
    panel.setFixedWidth(372)
    select(lonely, record())
    bar = panel.bar
    qtbot.waitUntil(lambda: bar.width() < 372, timeout=WAIT_MS)
    assert bar.menu_button.isVisible() and len(bar.visible_ids) < len(titles)
    bar.choose("config")
    assert "config" in bar.visible_ids and panel.current_id == "config"
    last = bar._titles.tabRect(bar._titles.count() - 1)
    assert last.right() <= bar._titles.width()
    qtbot.mouseClick(bar.menu_button, Qt.MouseButton.LeftButton)
    names = [action.text().split("\t")[0] for action in bar._menu.actions()]
    assert names == [title.replace("&", "&&") for title in titles]
    next(action for action in bar._menu.actions() if action.data() == "w&b").trigger()
    bar._menu.close()
    assert panel.current_id == "w&b"


def test_without_a_run_the_chosen_environment_is_described(lonely: Application) -> None:
    state, page = lonely.state, lonely.window.tabs_panel.no_run_page
    state.set_catalogue(
        [],
        [
            EnvironmentInfo(
                "Acrobot-v1", "classic", "Two links.", "Box", "Discrete(3)", "discrete", "vector"
            )
        ],
    )
    state.choose_environment("Acrobot-v1")
    assert page.isVisible()
    assert page.game.title.text() == "Acrobot-v1"
    assert page.game.summary.text() == "Two links."
    state.choose_environment("Unknown-v0")
    assert "does not know" in page.game.summary.text()


def test_the_run_that_is_gone_leaves_the_empty_page(lonely: Application, panel: TabsPanel) -> None:
    select(lonely, record())
    lonely.state.select([])
    assert panel.no_run_page.isVisible()
    assert heard(panel, "one")[-1] is False
