"""Bundles in the window with a real daemon, from tiny wheels: no command is typed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mosaic.cli.main import main
from mosaic.contracts.run_state import Outcome
from mosaic.gui.application import Application
from mosaic.gui.bundles.model.card import BundleAction
from mosaic.gui.bundles.model.rows import Column
from mosaic.gui.bundles.page import BundlesPage
from mosaic.gui.runs.model.columns import Column as RunColumn
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.conftest import WAIT_MS
from tests.support.tiny_bundles import WORKER, write_bundles, write_worker
from tests.support.tiny_wheels import make_wheel
from tests.support.wheel_index import WheelIndex

BALLAST = 400_000


@pytest.fixture
def index(tmp_path: Path) -> Iterator[WheelIndex]:
    with WheelIndex(tmp_path / "wheels") as index:
        yield index


@pytest.fixture
def daemon(tmp_path: Path, index: WheelIndex) -> Iterator[DaemonHarness]:
    alpha = make_wheel(index.folder, "alpha", ballast=BALLAST)
    mazes = make_wheel(index.folder, "mazes")
    installed = tmp_path / "site"
    write_bundles(installed, {"learner": [alpha], "learner+games": [alpha, mazes]})
    settings = {"PIP_INDEX_URL": index.url, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    settings["PIP_CONFIG_FILE"] = os.devnull
    settings["UV_CACHE_DIR"] = str(tmp_path / "uv-cache")
    with running_daemon(PYTHONPATH=str(installed), **settings) as harness:
        folder = write_worker(tmp_path / "worker")
        assert main(["--home", str(harness.home.root), "workers", "add", str(folder)]) == 0
        yield harness


def opened_page(qtbot: QtBot, application: Application) -> BundlesPage:
    application.workbench.commands.trigger("view.page.bundles")
    page = application.window.stage.page(Page.BUNDLES)
    assert isinstance(page, BundlesPage)
    see(qtbot, page, "learner", "not installed")
    return page


def see(qtbot: QtBot, page: BundlesPage, name: str, words: str) -> None:
    def is_seen() -> bool:
        place = page.table.bundles.place(name)
        return place is not None and words in page.table.bundles.index(place, Column.STATE).data()

    qtbot.waitUntil(is_seen, timeout=WAIT_MS)


def begin(qtbot: QtBot, page: BundlesPage, name: str) -> None:
    assert page.choose(name)
    qtbot.mouseClick(page.card.buttons[BundleAction.INSTALL], Qt.MouseButton.LeftButton)
    qtbot.mouseClick(page.sheet.yes, Qt.MouseButton.LeftButton)


def press(qtbot: QtBot, page: BundlesPage, action: BundleAction) -> None:
    qtbot.waitUntil(page.card.buttons[action].isVisible, timeout=WAIT_MS)
    qtbot.mouseClick(page.card.buttons[action], Qt.MouseButton.LeftButton)


def test_a_run_is_started_with_what_it_needs(
    qtbot: QtBot, application: Application, daemon: DaemonHarness, index: WheelIndex
) -> None:
    panel, state = application.window.launch_panel, application.state
    qtbot.waitUntil(lambda: state.worker(WORKER) is not None, timeout=WAIT_MS)
    panel.roster.row(WORKER).click()
    panel.form.form.set("game", "maze1")
    qtbot.waitUntil(panel.bundle_card.isVisible, timeout=WAIT_MS)
    qtbot.waitUntil(
        lambda: "needs Tiny learner + Tiny games" in panel.bundle_card.text.text(), timeout=WAIT_MS
    )
    index.goes_on.clear()
    qtbot.mouseClick(panel.bundle_card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(state.runs.newest_first()), timeout=WAIT_MS)
    run_id = state.leading_id or state.runs.newest_first()[0].run_id
    model = application.window.runs_panel.model

    def told() -> str:
        place = model.place(run_id)
        return "" if place is None else str(model.index(place, RunColumn.PROGRESS).data())

    qtbot.waitUntil(lambda: told().startswith("installing learner+games: "), timeout=WAIT_MS)
    index.goes_on.set()
    qtbot.waitUntil(lambda: bool((run := state.runs.get(run_id)) and run.is_over), timeout=WAIT_MS)
    record = state.runs.get(run_id)
    assert record is not None and record.outcome is Outcome.SUCCEEDED, record
    qtbot.waitUntil(panel.footer.button.isEnabled, timeout=WAIT_MS)
    assert not panel.bundle_card.isVisible(), "the next one needs nothing"


def test_it_is_installed_verified_and_removed(
    qtbot: QtBot, application: Application, daemon: DaemonHarness
) -> None:
    page = opened_page(qtbot, application)
    told: list[Notice] = []
    application.state.said.connect(told.append)
    begin(qtbot, page, "learner")
    see(qtbot, page, "learner", "installed")
    press(qtbot, page, BundleAction.VERIFY)
    qtbot.waitUntil(
        lambda: any("as it was installed" in item.text for item in told), timeout=WAIT_MS
    )
    press(qtbot, page, BundleAction.REMOVE)
    qtbot.mouseClick(page.sheet.yes, Qt.MouseButton.LeftButton)
    see(qtbot, page, "learner", "not installed")
    assert not any(daemon.home.venvs.glob("learner-*"))


def test_an_index_that_is_down_fails_with_a_sentence_and_is_tried_again(
    qtbot: QtBot, application: Application, daemon: DaemonHarness, index: WheelIndex
) -> None:
    page = opened_page(qtbot, application)
    (wheel,) = index.folder.glob("alpha-*.whl")
    aside = wheel.rename(wheel.with_suffix(".away"))
    begin(qtbot, page, "learner")
    see(qtbot, page, "learner", "install failed")
    assert "alpha" in page.card.problem.text() and page.card.advice.text()
    aside.rename(wheel)
    press(qtbot, page, BundleAction.RETRY)
    see(qtbot, page, "learner", "installed")


def test_a_daemon_killed_during_an_install_begins_again_with_it(
    qtbot: QtBot, application: Application, daemon: DaemonHarness, index: WheelIndex
) -> None:
    page = opened_page(qtbot, application)
    index.goes_on.clear()
    begin(qtbot, page, "learner")
    qtbot.waitUntil(index.has_sent_half.is_set, timeout=WAIT_MS)
    see(qtbot, page, "learner", "installing")
    daemon.kill()
    qtbot.waitUntil(lambda: application.state.connection is not Connection.ONLINE, timeout=WAIT_MS)
    assert "does not answer" in page.card.install.happening.text()
    application.state.show_page(Page.WELCOME)  # whether or not somebody looks
    index.goes_on.set()
    daemon.start()
    bundles = application.state.bundles
    qtbot.waitUntil(lambda: bundles.is_usable("learner"), timeout=WAIT_MS)
    assert [path.suffix for path in daemon.home.venvs.glob("*.tmp")] == []


def test_two_windows_see_one_install(
    qtbot: QtBot,
    application: Application,
    open_application: Callable[[Home], Application],
    daemon: DaemonHarness,
    index: WheelIndex,
) -> None:
    other = open_application(daemon.home)
    other.start()
    first, second = opened_page(qtbot, application), opened_page(qtbot, other)
    index.goes_on.clear()
    begin(qtbot, first, "learner")
    see(qtbot, second, "learner", "installing")
    second.choose("learner")
    press(qtbot, second, BundleAction.CANCEL)
    for page in (first, second):
        see(qtbot, page, "learner", "not installed")
    index.goes_on.set()
    begin(qtbot, second, "learner")
    for page in (first, second):
        see(qtbot, page, "learner", "installed")
