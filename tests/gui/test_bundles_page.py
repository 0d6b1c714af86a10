"""The page of bundles: they are installed, canceled, tried again and removed in the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.bundles import Accelerator, VenvState
from mosaic.errors import TrainerUnreachableError
from mosaic.gui.application import Application
from mosaic.gui.bundles.model.card import BundleAction
from mosaic.gui.bundles.model.rows import Column
from mosaic.gui.bundles.page import BundlesPage
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.welcome.page import WelcomePage
from mosaic.paths import Home
from tests.gui.bundle_client import SampleDaemon
from tests.gui.conftest import WAIT_MS
from tests.gui.cut_off import cut_off
from tests.gui.keyboard_walk import nameless
from tests.unit.gui.bundle_samples import (
    DONE,
    LONGEST_TITLE,
    MB,
    SIX_PARTS,
    going_on,
    gone_wrong,
    info,
    installed,
    other_builds,
    shelf,
)

Key = Qt.Key
OpenWith = Callable[[SampleDaemon], Application]


@pytest.fixture
def daemon() -> SampleDaemon:
    daemon = SampleDaemon(shelf())
    daemon.builds = other_builds()
    return daemon


@pytest.fixture
def open_with(qapp: QApplication, tmp_path: Path) -> Iterator[OpenWith]:
    """Windows of one daemon."""
    opened: list[Application] = []

    def make(daemon: SampleDaemon) -> Application:
        home = Home(tmp_path / f"home{len(opened)}")
        made = Application(qapp, home, lambda: daemon, theme_name="dark")  # type: ignore[arg-type, return-value]
        opened.append(made)
        made.window.show()
        made.state.set_connection(Connection.ONLINE)
        return made

    yield make
    for application in opened:
        application.close()
        application.window.deleteLater()


@pytest.fixture
def application(daemon: SampleDaemon, open_with: OpenWith) -> Application:
    return open_with(daemon)


@pytest.fixture
def page(qtbot: QtBot, application: Application) -> BundlesPage:
    return opened_page(qtbot, application)


def opened_page(qtbot: QtBot, application: Application) -> BundlesPage:
    application.workbench.commands.trigger("view.page.bundles")
    page = application.window.stage.page(Page.BUNDLES)
    assert isinstance(page, BundlesPage)
    qtbot.waitUntil(lambda: bool(page.table.bundles.rows), timeout=WAIT_MS)
    return page


def state_of(page: BundlesPage, name: str) -> str:
    place = page.table.bundles.place(name)
    assert place is not None
    return str(page.table.bundles.index(place, Column.STATE).data())


def see(qtbot: QtBot, page: BundlesPage, name: str, words: str) -> None:
    qtbot.waitUntil(lambda: words in state_of(page, name), timeout=WAIT_MS)


def press(qtbot: QtBot, page: BundlesPage, action: BundleAction) -> None:
    qtbot.mouseClick(page.card.buttons[action], Qt.MouseButton.LeftButton)


def agree(qtbot: QtBot, page: BundlesPage) -> None:
    assert page.is_asking
    qtbot.mouseClick(page.sheet.yes, Qt.MouseButton.LeftButton)


def begin(qtbot: QtBot, page: BundlesPage, name: str) -> None:
    assert page.choose(name)
    press(qtbot, page, BundleAction.INSTALL)
    agree(qtbot, page)


def notices(application: Application) -> list[Notice]:
    told: list[Notice] = []
    application.state.said.connect(told.append)
    return told


def test_it_lists_what_there_is_and_why_one_wants_it(page: BundlesPage) -> None:
    assert [row.name for row in page.table.bundles.rows][:3] == ["base", "learner", "learner+atari"]
    assert "6 bundles" in page.subtitle.text()
    page.choose("old_scripts")
    assert "12 files of numpy" in page.card.problem.text()
    assert "Install it again" in page.card.advice.text()
    page.choose("ray")
    assert "no lock of ray" in page.card.problem.text() and page.card.possible == ()


def test_it_is_in_the_menu_and_escape_leads_back(
    qtbot: QtBot, application: Application, page: BundlesPage
) -> None:
    menu = application.window.menus["View"]
    assert any(action.objectName() == "view.page.bundles" for action in menu.actions())
    assert application.state.page is Page.BUNDLES
    page.table.setFocus()
    qtbot.keyClick(page.table, Key.Key_Escape)
    assert application.state.page.value == Page.WELCOME


def test_an_install_is_seen_until_it_is_done(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    begin(qtbot, page, "learner+atari")
    qtbot.waitUntil(lambda: bool(daemon.installs), timeout=WAIT_MS)
    (request,) = daemon.installs
    assert request.name == "learner+atari" and request.most_bytes == 212 * MB
    daemon.tell("learner+atari", going_on(0.61))
    see(qtbot, page, "learner+atari", "installing, 61 %")
    assert page.card.install.happening.text() == "Fetching torch 2.9.1"
    assert page.card.install.amounts.text().startswith("129 MB of 212 MB · 82.7 MB left")
    assert page.card.install.bar.value() == 610
    daemon.tell("learner+atari", DONE)
    see(qtbot, page, "learner+atari", "installed")
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert told[-1].text == "Single-file learners with Atari is installed"


def test_the_accelerator_is_chosen_with_its_size(
    qtbot: QtBot, page: BundlesPage, daemon: SampleDaemon
) -> None:
    page.choose("jax")
    bundles = page._bundles
    qtbot.waitUntil(lambda: bundles.has_variants("jax"), timeout=WAIT_MS)
    press(qtbot, page, BundleAction.INSTALL)
    builds = page.sheet.builds
    assert builds is not None and len(bundles.variants("jax")) == 3
    assert builds is not None and builds.value == "cpu" and page.sheet.yes.text().endswith("212 MB")
    qtbot.mouseClick(builds.button("cuda"), Qt.MouseButton.LeftButton)
    assert page.sheet.yes.text() == "Install 2.9 GB"
    agree(qtbot, page)
    qtbot.waitUntil(lambda: bool(daemon.installs), timeout=WAIT_MS)
    assert daemon.installs[0].accelerator is Accelerator.CUDA
    assert daemon.installs[0].most_bytes == 2_900 * MB


def test_nothing_is_fetched_by_somebody_who_says_no(
    qtbot: QtBot, page: BundlesPage, daemon: SampleDaemon
) -> None:
    page.choose("learner+atari")
    press(qtbot, page, BundleAction.INSTALL)
    qtbot.mouseClick(page.sheet.no, Qt.MouseButton.LeftButton)
    assert not page.is_asking and page.table.hasFocus()
    press(qtbot, page, BundleAction.INSTALL)
    page.choose("jax")
    assert not page.is_asking, "the question was about another one"
    assert not daemon.installs


def test_an_install_can_be_canceled(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    begin(qtbot, page, "learner+atari")
    daemon.tell("learner+atari", going_on(0.3))
    see(qtbot, page, "learner+atari", "30 %")
    press(qtbot, page, BundleAction.CANCEL)
    see(qtbot, page, "learner+atari", "not installed")
    assert daemon.canceled == ["learner+atari"] and "canceled" in told[-1].text


def test_what_failed_says_why_and_is_tried_again(
    qtbot: QtBot, page: BundlesPage, daemon: SampleDaemon
) -> None:
    begin(qtbot, page, "learner+atari")
    daemon.tell("learner+atari", going_on(0.3), gone_wrong())
    see(qtbot, page, "learner+atari", "install failed")
    assert "another hash" in page.card.problem.text()
    assert page.card.advice.text().startswith("Try again")
    press(qtbot, page, BundleAction.RETRY)
    qtbot.waitUntil(lambda: len(daemon.installs) == 2, timeout=WAIT_MS)
    assert daemon.installs[0] == daemon.installs[1], "no more than was agreed to"
    daemon.tell("learner+atari", DONE)
    see(qtbot, page, "learner+atari", "installed")


def test_another_attempt_that_fetches_more_is_asked_about(
    qtbot: QtBot, page: BundlesPage, daemon: SampleDaemon
) -> None:
    begin(qtbot, page, "learner+atari")
    daemon.tell("learner+atari", gone_wrong())
    see(qtbot, page, "learner+atari", "install failed")
    daemon.state("learner+atari", fetch_bytes=900 * MB)
    page._keeper.refresh()
    qtbot.waitUntil(lambda: "900 MB" in page.card.facts.text(), timeout=WAIT_MS)
    press(qtbot, page, BundleAction.RETRY)
    assert page.is_asking and page.sheet.yes.text() == "Install 900 MB"


def test_an_install_that_ends_while_the_page_is_closed_is_told(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    begin(qtbot, page, "learner+atari")
    application.state.show_page(Page.WELCOME)
    daemon.tell("learner+atari", going_on(0.3), gone_wrong())
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert "was not installed: torch 2.9.1 has another hash" in told[-1].text
    assert told[-1].action is not None
    told[-1].action()
    assert application.state.page is Page.BUNDLES and page.table.chosen == "learner+atari"
    assert state_of(page, "learner+atari") == "install failed"


def test_what_another_window_installs_is_seen_and_canceled_here(
    qtbot: QtBot, open_with: OpenWith, page: BundlesPage, daemon: SampleDaemon
) -> None:
    other = opened_page(qtbot, open_with(daemon))
    begin(qtbot, page, "learner+atari")
    daemon.tell("learner+atari", going_on(0.4))
    daemon.state("learner+atari", state=VenvState.INSTALLING, progress=going_on(0.4))
    see(qtbot, other, "learner+atari", "installing, 40 %")
    other.choose("learner+atari")
    press(qtbot, other, BundleAction.CANCEL)
    qtbot.waitUntil(lambda: daemon.canceled == ["learner+atari"], timeout=WAIT_MS)
    daemon.state("learner+atari", state=VenvState.ABSENT, progress=None)
    see(qtbot, page, "learner+atari", "not installed")
    see(qtbot, other, "learner+atari", "not installed")
    assert len(daemon.installs) == 1, "whoever looks on does not install"


def test_a_daemon_that_is_away_is_waited_for(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    begin(qtbot, page, "learner+atari")
    daemon.tell("learner+atari", going_on(0.4))
    see(qtbot, page, "learner+atari", "40 %")
    daemon.problem = TrainerUnreachableError("No daemon answers", hint="mosaic daemon start")
    application.state.set_connection(Connection.LOST, "killed")
    assert "daemon does not answer" in page.card.install.happening.text()
    assert not page.prune_button.isEnabled() and page.card.possible == ()
    assert not page.card.buttons[BundleAction.CANCEL].isEnabled()
    assert len(page.table.bundles.rows) == 6, "what was known is still shown"
    daemon.problem = None
    application.state.set_connection(Connection.ONLINE)
    daemon.tell("learner+atari", going_on(0.1, item="numpy"), going_on(0.5))
    see(qtbot, page, "learner+atari", "50 %")


def test_a_daemon_that_cannot_list_them_says_why(qtbot: QtBot, open_with: OpenWith) -> None:
    daemon = SampleDaemon()
    daemon.problem = TrainerUnreachableError("No daemon answers", hint="start one")
    application = open_with(daemon)
    application.state.show_bundles()
    page = application.window.stage.page(Page.BUNDLES)
    assert isinstance(page, BundlesPage)
    qtbot.waitUntil(lambda: application.state.bundles.problem != "", timeout=WAIT_MS)
    assert page.message.isVisible() and not page.table.isVisible()
    daemon.problem = None
    page._keeper.refresh()
    qtbot.waitUntil(lambda: application.state.bundles.is_listed, timeout=WAIT_MS)
    assert page.message.isVisible(), "there are none"


def test_what_a_package_got_wrong_is_told(qtbot: QtBot, open_with: OpenWith) -> None:
    daemon = SampleDaemon(shelf())
    daemon.problems = ["bundles.toml of odd_bundles, line 3: no kind of bundle is called planet"]
    page = opened_page(qtbot, open_with(daemon))
    qtbot.waitUntil(page.problems.isVisible, timeout=WAIT_MS)
    assert "odd_bundles, line 3" in page.problems.text


def test_the_welcome_page_leads_to_it(
    qtbot: QtBot, application: Application, daemon: SampleDaemon
) -> None:
    welcome = application.window.stage.page(Page.WELCOME)
    assert isinstance(welcome, WelcomePage)
    card = welcome.bundles
    qtbot.waitUntil(card.isVisible, timeout=WAIT_MS)
    assert card.summary.text() == "2 of 6 bundles are there; 1 broken"
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    assert application.state.page.value == Page.BUNDLES


def test_a_removal_is_confirmed_and_tells_what_it_freed(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    page.choose("learner")
    press(qtbot, page, BundleAction.REMOVE)
    assert page.sheet.no.hasFocus() and not daemon.removed
    agree(qtbot, page)
    see(qtbot, page, "learner", "not installed")
    assert told[-1].text == "Single-file learners removed, 500 MB freed"


def test_a_venv_in_use_stays_and_its_run_is_named(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    daemon.in_use["learner"] = "ppo-CartPole-v1"
    page.choose("learner")
    press(qtbot, page, BundleAction.REMOVE)
    agree(qtbot, page)
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert "in use by ppo-CartPole-v1" in told[-1].text and "Stop it first" in told[-1].text
    assert state_of(page, "learner") == "installed"


def test_pruning_is_confirmed(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    daemon.pruned = [installed("a", shared_bytes=0), installed("b", shared_bytes=0)]
    qtbot.mouseClick(page.prune_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.is_asking, timeout=WAIT_MS)
    assert page.sheet.no.hasFocus()
    agree(qtbot, page)
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert told[-1].text == "2 venvs removed, 1.3 GB freed"
    daemon.pruned = []
    page.ask_to_prune()
    qtbot.waitUntil(lambda: len(told) == 2, timeout=WAIT_MS)
    assert "nothing to remove" in told[-1].text


def test_what_is_verified_says_what_was_found(
    qtbot: QtBot, application: Application, page: BundlesPage, daemon: SampleDaemon
) -> None:
    told = notices(application)
    page.choose("learner")
    press(qtbot, page, BundleAction.VERIFY)
    assert page.card.possible == (), "one thing at a time"
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert "as it was installed" in told[-1].text
    daemon.state("learner", state=VenvState.BROKEN, problem="1 file is another")
    press(qtbot, page, BundleAction.VERIFY)
    see(qtbot, page, "learner", "broken")
    assert page.card.problem.text() == "1 file is another."


def test_all_of_it_by_keyboard(qtbot: QtBot, page: BundlesPage, daemon: SampleDaemon) -> None:
    page.window().activateWindow()
    page.table.setFocus()
    page.choose("learner")
    qtbot.keyClick(page.table, Key.Key_Down)
    assert page.table.chosen == "learner+atari"
    qtbot.keyClick(page.table, Key.Key_Return)
    assert page.is_asking and page.sheet.yes.hasFocus()
    qtbot.keyClick(page.sheet.yes, Key.Key_Escape)
    assert not page.is_asking and page.table.hasFocus()
    qtbot.keyClick(page.table, Key.Key_Return)
    qtbot.keyClick(page.sheet.yes, Key.Key_Return)
    qtbot.waitUntil(lambda: bool(daemon.installs), timeout=WAIT_MS)
    page.choose("learner")
    qtbot.keyClick(page.table, Key.Key_Delete)
    assert page.is_asking and page.sheet.no.hasFocus()
    qtbot.keyClick(page.sheet.no, Key.Key_Return)
    assert not page.is_asking and not daemon.removed


def test_everything_has_a_name(page: BundlesPage) -> None:
    assert nameless(page) == []
    page.choose("jax")
    page.perform(BundleAction.INSTALL)
    assert nameless(page) == []
    index = page.table.bundles.index(1, 0)
    told = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert (
        told == "Single-file learners. PPO, DQN and SAC on one machine. installed. 640 MB on disk"
    )


@pytest.mark.parametrize("size", [(1280, 800), (760, 700)])
def test_nothing_is_cut_off(qtbot: QtBot, open_with: OpenWith, size: tuple[int, int]) -> None:
    hostile = [
        info(SIX_PARTS, title=LONGEST_TITLE, fetch_bytes=10**13, disk_bytes=10**13),
        info("nothing", title="", about="", fetch_bytes=0, disk_bytes=0),
        installed("b" * 64, about=LONGEST_TITLE, problem=LONGEST_TITLE, hint=LONGEST_TITLE),
    ]
    application = open_with(SampleDaemon([*shelf(), *hostile]))
    page = opened_page(qtbot, application)
    application.window.resize(*size)
    qtbot.waitUntil(lambda: application.window.size().toTuple() == size, timeout=WAIT_MS)
    for name in [row.name for row in page.table.bundles.rows]:
        page.choose(name)
        for action in (None, *page.card.possible):
            if action in (BundleAction.INSTALL, BundleAction.REMOVE):
                page.perform(action)
            qtbot.wait(1)
            assert cut_off(page) == [], (name, action)
            page._close_sheet()


def test_rows_that_are_asked_for_come_to_the_front(
    qtbot: QtBot, application: Application, page: BundlesPage
) -> None:
    page.filter_field.setText("single-file")
    assert {row.name for row in page.table.bundles.rows} == {"learner", "learner+atari"}
    application.state.show_bundles("jax")
    assert page.filter_field.text() == "" and page.table.chosen == "jax"
    page.filter_field.setText("nothing like this")
    assert page.message.isVisible() and not page.table.isVisible()


def test_a_list_that_says_the_same_redraws_nothing(
    qtbot: QtBot, page: BundlesPage, daemon: SampleDaemon
) -> None:
    drawn: list[object] = []
    page.table.bundles.modelReset.connect(lambda: drawn.append("reset"))
    page.table.bundles.dataChanged.connect(lambda *_: drawn.append("changed"))
    page._keeper.refresh()
    daemon.state("jax", title="JAX and more")
    page._keeper.refresh()
    qtbot.waitUntil(lambda: bool(drawn), timeout=WAIT_MS)
    assert drawn == ["changed"]
