"""Runs that lack a bundle: offered in the form, installed on the way, and seen while they wait."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.bundles import BundleRule, InstallPhase, InstallProgress, VenvState
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.application import Application
from mosaic.gui.game_info.tab import GameView
from mosaic.gui.launch.panel import LaunchPanel
from mosaic.gui.live.model.situation import Offer
from mosaic.gui.live.page import LivePage
from mosaic.gui.play.page import PlayPage
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Mode, Page, PlayTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.paths import Home
from tests.gui.bundle_client import SampleDaemon
from tests.gui.conftest import WAIT_MS
from tests.gui.cut_off import cut_off
from tests.gui.keyboard_walk import nameless
from tests.gui.workflow_steps import texts
from tests.unit.gui.bundle_samples import (
    LONGEST_TITLE,
    MB,
    SIX_PARTS,
    going_on,
    gone_wrong,
    info,
    shelf,
)
from tests.unit.gui.launch_samples import filled_state, health, installed_workers
from tests.unit.gui.run_samples import record

RULES = (BundleRule("learner"), BundleRule("atari", "env_id", ("ALE/*",)))


def bundled_workers(*, is_ready: bool = True) -> list[WorkerInfo]:
    """The one that trains, with its packages in bundles."""
    found = []
    for worker in installed_workers():
        if worker.name == "cleanrl" and worker.capabilities is not None:
            able = dataclasses.replace(worker.capabilities, bundle_rules=RULES)
            checks = tuple(dataclasses.replace(item, ok=is_ready) for item in worker.readiness)
            worker = dataclasses.replace(worker, capabilities=able, readiness=checks)
        found.append(worker)
    return found


@pytest.fixture
def daemon() -> SampleDaemon:
    daemon = SampleDaemon(shelf())
    daemon.workers_found = bundled_workers()

    def needs(document: object) -> list[object]:
        lacking = [item for item in daemon.infos if item.name == "learner+atari"]
        wants = "ALE/" in str(document)
        return [item for item in lacking if wants and not item.is_usable]

    daemon.needs = needs  # type: ignore[assignment]
    return daemon


@pytest.fixture
def application(qapp: QApplication, tmp_path: Path, daemon: SampleDaemon) -> Iterator[Application]:
    made = Application(
        qapp,
        Home(tmp_path),
        lambda: daemon,  # type: ignore[arg-type, return-value]
        theme_name="dark",
    )
    made.window.show()
    sample, state = filled_state(), made.state
    state.set_connection(Connection.ONLINE)
    state.set_health(health())
    state.set_catalogue(sample.algorithms, sample.environments)
    state.set_workers(daemon.workers_found)
    yield made
    made.close()
    made.window.deleteLater()


@pytest.fixture
def panel(qtbot: QtBot, application: Application) -> LaunchPanel:
    qtbot.waitUntil(lambda: application.state.bundles.is_listed, timeout=WAIT_MS)
    return application.window.launch_panel


@pytest.fixture
def offered(qtbot: QtBot, application: Application, panel: LaunchPanel) -> LaunchPanel:
    """With the offer of what Pong needs."""
    application.state.choose_environment("ALE/Pong-v5")
    qtbot.waitUntil(panel.bundle_card.isVisible, timeout=WAIT_MS)
    return panel


def usable(daemon: SampleDaemon) -> set[str]:
    return {item.name for item in daemon.infos if item.is_usable}


def agreements(daemon: SampleDaemon) -> list[dict[str, object]]:
    return [item for item in daemon.submissions if not item["dry_run"]]


def test_what_a_run_lacks_is_offered_with_its_size(offered: LaunchPanel) -> None:
    card = offered.bundle_card
    assert card.text.text() == "ALE/Pong-v5 needs Single-file learners with Atari (212 MB)."
    assert card.button.text() == "Install and start"
    assert not offered.footer.button.isEnabled()
    assert "not installed yet" in offered.footer.status.text()
    assert offered.environment.problem_text == "", "pip is not what helps"


def test_a_click_agrees_to_that_much_and_no_more(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    qtbot.mouseClick(offered.bundle_card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(agreements(daemon)), timeout=WAIT_MS)
    assert agreements(daemon)[0]["install"] is True
    assert agreements(daemon)[0]["most_install_bytes"] == 212 * MB
    qtbot.waitUntil(lambda: application.state.leading_id == "01NEW", timeout=WAIT_MS)


def test_the_keys_that_start_do_not_agree_by_themselves(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    application.window.activateWindow()
    application.workbench.commands.trigger("run.launch")
    qtbot.waitUntil(offered.bundle_card.button.hasFocus, timeout=WAIT_MS)
    assert agreements(daemon) == []


def test_an_environment_that_needs_nothing_more_has_no_offer(
    qtbot: QtBot, application: Application, offered: LaunchPanel
) -> None:
    application.state.choose_environment("CartPole-v1")
    qtbot.waitUntil(offered.footer.button.isEnabled, timeout=WAIT_MS)
    assert not offered.bundle_card.isVisible()


def test_what_a_larger_bundle_holds_is_not_said_to_be_missing(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    """Pong was installed; CartPole needs less of the same."""
    state, card = application.state, offered.bundle_card
    lacking = [
        dataclasses.replace(item, install_command='pip install "x"') for item in state.environments
    ]
    state.set_catalogue(state.algorithms, lacking)
    state.choose_environment("CartPole-v1")
    daemon.state("learner", state=VenvState.ABSENT)
    daemon.needs = lambda _: [] if "learner+atari" in usable(daemon) else [info("learner")]
    application.workbench.bundles.refresh()
    qtbot.waitUntil(lambda: "Single-file learners (212 MB)" in card.text.text(), timeout=WAIT_MS)
    assert offered.roster.row("cleanrl").entry.word == "to install"
    view = GameView(application.workbench)
    qtbot.addWidget(view)
    view.show_environment("CartPole-v1")
    qtbot.waitUntil(lambda: "not installed yet" in view.missing.text, timeout=WAIT_MS)
    daemon.state("learner+atari", state=VenvState.INSTALLED)
    application.workbench.bundles.refresh()
    qtbot.waitUntil(lambda: view.missing.text == "", timeout=WAIT_MS)
    assert offered.roster.row("cleanrl").entry.word == "ready"
    qtbot.waitUntil(offered.footer.button.isEnabled, timeout=WAIT_MS)
    assert not card.isVisible()


def test_the_daemon_is_asked_once_for_each_thing_that_is_missing(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    asked = len(daemon.submissions)
    for steps in ("1000", "2000"):
        offered.form.form.set("total_timesteps", steps)
        qtbot.wait(400)
    assert len(daemon.submissions) == asked and offered.bundle_card.isVisible()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mosaic.gui.services.bundle_keeper._ROSTER_MS", 20)


def test_what_is_installed_in_a_terminal_is_known_though_nobody_looks(
    often: None, qtbot: QtBot, application: Application, daemon: SampleDaemon
) -> None:
    bundles = application.state.bundles
    qtbot.waitUntil(lambda: bundles.is_listed, timeout=WAIT_MS)
    assert not bundles.is_usable("learner+atari")
    daemon.state("learner+atari", state=VenvState.INSTALLED)
    qtbot.waitUntil(lambda: bundles.is_usable("learner+atari"), timeout=WAIT_MS)


def test_the_offer_goes_when_it_is_installed(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    keeper = application.workbench.bundles
    daemon.state("learner+atari", state=VenvState.INSTALLING, progress=going_on(0.61))
    keeper.refresh()
    text = offered.bundle_card.text
    qtbot.waitUntil(lambda: text.text().endswith(": 61 %."), timeout=WAIT_MS)
    button = offered.bundle_card.button
    assert button.text() == "Queue a run" and button.property("role") != "primary"
    daemon.state("learner+atari", state=VenvState.INSTALLED, progress=None)
    keeper.refresh()
    qtbot.waitUntil(offered.footer.button.isEnabled, timeout=WAIT_MS)
    assert not offered.bundle_card.isVisible()


def test_what_cannot_be_had_here_says_why(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    daemon.state(
        "learner+atari", state=VenvState.UNAVAILABLE, problem="There is no lock", hint="use 3.11"
    )
    application.workbench.bundles.refresh()
    card = offered.bundle_card
    qtbot.waitUntil(lambda: card.text.text() == "There is no lock.", timeout=WAIT_MS)
    assert card.advice.text() == "Use 3.11." and not card.button.isVisible()
    qtbot.mouseClick(card.details, Qt.MouseButton.LeftButton)
    assert application.state.page.value == Page.BUNDLES


def test_a_worker_that_lacks_only_its_bundle_can_be_chosen(
    qtbot: QtBot, application: Application, panel: LaunchPanel, daemon: SampleDaemon
) -> None:
    daemon.state("learner", state=VenvState.ABSENT)
    daemon.needs = lambda _: [item for item in daemon.infos if item.name == "learner"]
    application.workbench.bundles.refresh()
    application.state.set_workers(bundled_workers(is_ready=False))
    qtbot.waitUntil(lambda: panel.roster.row("cleanrl").entry.word == "to install", timeout=WAIT_MS)
    panel.roster.row("cleanrl").click()
    qtbot.waitUntil(panel.bundle_card.isVisible, timeout=WAIT_MS)
    assert "needs Single-file learners (212 MB)" in panel.bundle_card.text.text()
    qtbot.mouseClick(panel.bundle_card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(agreements(daemon)), timeout=WAIT_MS)


def test_what_was_removed_meanwhile_is_offered_when_it_is_missed(
    qtbot: QtBot, application: Application, panel: LaunchPanel, daemon: SampleDaemon
) -> None:
    """For whatever starts a run without the form."""
    told: list[Notice] = []
    application.state.said.connect(told.append)
    missing = info("learner")
    daemon.needs = lambda _: [missing]
    application.workbench.run_actions.submit([{"run_name": "again"}])
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    title = "Single-file learners"
    assert told[-1].text == f"{title} is not installed (at most 212 MB to fetch)"
    assert told[-1].action_text == "Install and start" and told[-1].action is not None
    told[-1].action()
    qtbot.waitUntil(lambda: len(agreements(daemon)) == 2, timeout=WAIT_MS)
    assert agreements(daemon)[1]["most_install_bytes"] == 212 * MB


def test_a_run_that_waits_for_its_install_says_so(
    qtbot: QtBot, application: Application, panel: LaunchPanel
) -> None:
    run = record(
        1,
        state=RunState.INIT,
        started_at=None,
        progress=Progress(),
        waiting="installing learner+atari: 61 %",
    )
    state = application.state
    state.runs.load([run], frozenset())
    state.select([run.run_id])
    state.show_page(Page.LIVE)
    page = application.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    message = page.message
    qtbot.waitUntil(lambda: "learner+atari: 61 %" in message.text.text(), timeout=WAIT_MS)
    assert message.title.text() == "Installing what it needs"
    model = application.window.runs_panel.model
    qtbot.waitUntil(lambda: model.place(run.run_id) is not None, timeout=WAIT_MS)
    cell = model.index(model.place(run.run_id) or 0, Column.PROGRESS)
    assert cell.data() == "installing learner+atari: 61 %"
    qtbot.mouseClick(message.offers.button(Offer.BUNDLES), Qt.MouseButton.LeftButton)
    assert state.page.value == Page.BUNDLES
    assert application.window.stage.shown is not None
    before = picture_of(application)
    state.runs.update([dataclasses.replace(run, waiting="installing learner+atari: 99 %")])
    qtbot.waitUntil(lambda: picture_of(application) != before, timeout=WAIT_MS)


def picture_of(application: Application) -> QImage:
    return application.window.runs_panel.table.grab().toImage()


def test_hostile_titles_leave_the_panel_as_it_is(
    qtbot: QtBot, application: Application, panel: LaunchPanel, daemon: SampleDaemon
) -> None:
    hostile = info(SIX_PARTS, title=LONGEST_TITLE, fetch_bytes=10**13)
    daemon.needs = lambda _: [hostile]
    application.state.choose_environment("ALE/Pong-v5")
    qtbot.waitUntil(panel.bundle_card.isVisible, timeout=WAIT_MS)
    assert panel.minimumSizeHint().width() <= 292
    qtbot.wait(50)
    assert cut_off(panel.bundle_card) == [] and nameless(panel.bundle_card) == []
    qtbot.mouseClick(panel.bundle_card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(agreements(daemon)), timeout=WAIT_MS)
    assert agreements(daemon)[0]["most_install_bytes"] == 10**13


def test_a_game_that_lacks_its_bundle_is_installed_and_played(
    qtbot: QtBot, application: Application, panel: LaunchPanel, daemon: SampleDaemon
) -> None:
    """By a click in the page itself, and without a command for a terminal."""
    state = application.state
    qtbot.waitUntil(lambda: state.bundles.info("learner") is not None, timeout=WAIT_MS)
    daemon.needs = lambda _: [item for item in daemon.infos if not item.is_usable][:1]
    lacking = next(item for item in daemon.infos if not item.is_usable)
    state.show_play(PlayTarget("CartPole-v1", Mode.HUMAN))
    page = application.window.stage.page(Page.PLAY)
    assert isinstance(page, PlayPage)
    message = page.message
    qtbot.waitUntil(lambda: message.first.text() == "Install and play", timeout=WAIT_MS)
    assert lacking.title in message.text.text() and "MB" in message.text.text()
    assert "`" not in message.text.text()
    daemon.tell(lacking.name, going_on(0.61))
    qtbot.mouseClick(message.first, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "61 %" in message.text.text(), timeout=WAIT_MS)
    assert daemon.installs[-1].most_bytes == lacking.fetch_bytes
    asked = len(daemon.submissions)
    daemon.needs = lambda _: []
    daemon.state(lacking.name, state=VenvState.INSTALLED, progress=None)
    daemon.tell(lacking.name, InstallProgress(InstallPhase.DONE, fraction=1.0))
    qtbot.waitUntil(lambda: len(daemon.submissions) > asked, timeout=WAIT_MS)


def test_a_game_whose_install_fails_says_why(
    qtbot: QtBot, application: Application, panel: LaunchPanel, daemon: SampleDaemon
) -> None:
    state = application.state
    qtbot.waitUntil(lambda: state.bundles.info("learner") is not None, timeout=WAIT_MS)
    daemon.needs = lambda _: [item for item in daemon.infos if not item.is_usable][:1]
    lacking = next(item for item in daemon.infos if not item.is_usable)
    state.show_play(PlayTarget("CartPole-v1", Mode.HUMAN))
    page = application.window.stage.page(Page.PLAY)
    assert isinstance(page, PlayPage)
    qtbot.waitUntil(lambda: page.message.first.text() == "Install and play", timeout=WAIT_MS)
    daemon.tell(lacking.name, gone_wrong())
    qtbot.mouseClick(page.message.first, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "another hash" in page.message.text.text(), timeout=WAIT_MS)
    assert page.message.first.text() == "Start again"


def test_what_is_installed_on_the_way_is_not_called_started(
    qtbot: QtBot, application: Application, offered: LaunchPanel, daemon: SampleDaemon
) -> None:
    told: list[Notice] = []
    application.state.said.connect(told.append)

    async def get_run(run_id: str) -> RunRecord:
        waiting = "installing learner+atari: 0 %"
        return record(1, run_id=run_id, state=RunState.INIT, waiting=waiting)

    daemon.get_run = get_run  # type: ignore[method-assign]
    qtbot.mouseClick(offered.bundle_card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert "starts as soon as all it needs is installed" in told[-1].text


def test_what_does_not_fit_follows_the_environment(
    qtbot: QtBot, application: Application, panel: LaunchPanel
) -> None:
    state = application.state
    panel.form.form.set("algo", "dqn")
    for env_id in ("Ant-v5", "HalfCheetah-v5"):
        state.choose_environment(env_id)
        assert panel.schema_form is not None
        row = panel.schema_form.row("algo")
        assert row is not None and env_id in texts(row)


def test_nobody_who_plays_is_told_to_type_a_command(
    qtbot: QtBot, application: Application, panel: LaunchPanel, daemon: SampleDaemon
) -> None:
    state = application.state
    lacking = [
        dataclasses.replace(item, install_command='pip install "x"') for item in state.environments
    ]
    state.set_catalogue(state.algorithms, lacking)
    qtbot.waitUntil(lambda: state.bundles.info("learner") is not None, timeout=WAIT_MS)
    state.set_mode(Mode.HUMAN)
    state.choose_environment("ALE/Pong-v5")
    assert panel.environment.problem_text == ""
