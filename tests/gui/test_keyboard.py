"""Everything can be used without a mouse, and has a name for those who do not see it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

pytest.importorskip("torch", reason="the learner needs torch")

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from mosaic.gui.application import Application
from mosaic.gui.compare.page import ComparePage
from mosaic.gui.play.page import PlayPage
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.shell.folding import Side
from mosaic.gui.state.targets import Mode, Page, PlayTarget
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.keyboard_walk import describe, looks_same, nameless, unreachable, walk
from tests.gui.workflow_steps import Person, somebody, train_quickly, wait_trained

Key = Qt.Key
LOOKS = 3


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def run_id(daemon: DaemonHarness) -> str:
    return wait_trained(daemon, train_quickly(daemon))


@pytest.fixture
def person(qtbot: QtBot, run_id: str, application: Application) -> Person:
    return somebody(qtbot, application)


def check(person: Person, where: str, problems: list[str]) -> None:
    """Every widget is reached from the first one of the window, and has a name."""
    for _ in range(LOOKS):
        found = problems_now(person)
        if not found:
            return
        QApplication.processEvents()  # something may have come while the keys were pressed
    problems += [f"{where}: {problem}" for problem in found]


def problems_now(person: Person) -> list[str]:
    person.take_keyboard()
    first: QWidget = person.launch.modes.button(person.launch.modes.value)
    reached = walk(person.qtbot, person.window, first)
    assert len(reached) > 8, reached
    new = {_kind(item): item for item in reached if _kind(item) not in SEEN_WITH_KEYBOARD}
    unseen = {kind: item for kind, item in new.items() if looks_same(item)}
    SEEN_WITH_KEYBOARD.update(new.keys() - unseen.keys())
    return [
        *(f"nobody sees the keyboard in: {describe(item)}" for item in unseen.values()),
        *(f"not reached: {item}" for item in unreachable(person.window, reached)),
        *(f"no name: {item}" for item in nameless(person.window)),
    ]


def _kind(widget: QWidget) -> str:
    """Those of a kind are drawn alike: one of them is looked at."""
    role = str(widget.property("role") or "")
    return f"{type(widget).__name__} {role} {getattr(widget, 'isChecked', bool)()}"


SEEN_WITH_KEYBOARD: set[str] = set()


def told(problems: list[str]) -> str:
    return "\n".join(dict.fromkeys(problems))


def test_the_forms(person: Person, run_id: str) -> None:
    problems: list[str] = []
    for mode in Mode:
        person.click(person.launch.modes.button(mode.value))
        check(person, mode.value, problems)
    for worker in ("cleanrl", "baseline", "script"):
        person.click(person.launch.roster.row(worker))
        form = person.launch.schema_form
        assert form is not None
        for section in {row.section for row in form.form.fields if row.section}:
            person.open_section(section)
        check(person, worker, problems)
    person.click(person.launch.roster.row("cleanrl"))
    person.click(person.launch.operations.button("trained"))
    person.see(lambda: person.launch.form.policy is not None)
    for use in ("evaluate", "resume"):
        person.click(person.launch.uses.button(use))
        check(person, use, problems)
    assert not problems, told(problems)


def test_the_pages_of_the_centre(person: Person, run_id: str, daemon: DaemonHarness) -> None:
    problems: list[str] = []
    person.choose("View", "Welcome")
    check(person, "welcome", problems)
    person.select_run(run_id)
    person.choose("Run", "Show in the centre")
    check(person, "live", problems)
    person.choose("Run", "Replay")
    replay = person.page(Page.REPLAY, ReplayPage)
    person.see(lambda: replay.panel.image is not None)
    check(person, "replay", problems)
    other = daemon.submit(run_name="other")
    person.see_state(other, "succeeded")
    person.select_runs(run_id, other)
    person.choose("Compare", "Compare selected")
    compare = person.page(Page.COMPARE, ComparePage)
    person.see(lambda: compare.page.isVisible())
    check(person, "compare", problems)
    person.state.show_play(PlayTarget("CartPole-v1", Mode.HUMAN))
    play = person.page(Page.PLAY, PlayPage)
    person.see(lambda: play.is_playing)
    check(person, "play", problems)
    assert not problems, told(problems)


def test_the_tabs_of_a_run(person: Person, run_id: str) -> None:
    problems: list[str] = []
    person.select_run(run_id)
    panel = person.window.tabs_panel
    person.see_details()
    assert {"charts", "fastlane", "checkpoints", "config", "game"} <= set(panel.tab_ids)
    for number, tab_id in enumerate(panel.tab_ids):
        panel.show_nth(number)
        tab = panel.tab(tab_id)
        assert tab is not None
        person.see(tab.isVisible)
        check(person, tab_id, problems)
    assert not problems, told(problems)


def test_the_runs_and_their_logs(person: Person, run_id: str, daemon: DaemonHarness) -> None:
    problems: list[str] = []
    person.select_run(run_id)
    person.choose("View", "Logs")
    person.see(person.runs.log_drawer.isVisible)
    check(person, "logs", problems)
    failed = daemon.submit_script("exits_with", "3", run_name="failed")
    person.see_state(failed, "failed")
    person.select_run(failed)
    person.see(person.window.stage.outcome.failure_card.isVisible)
    check(person, "failure", problems)
    person.runs.filter_field.setFocus()
    person.qtbot.keyClicks(person.runs.filter_field, "nothing is called so")
    check(person, "filtered", problems)
    assert not problems, told(problems)


def test_the_cards_above_the_window(person: Person, run_id: str) -> None:
    problems: list[str] = []
    for command, card in (
        ("help.palette", person.window.palette_overlay),
        ("help.shortcuts", person.window.shortcuts_overlay),
        ("help.about", person.window.about_overlay),
    ):
        person.application.workbench.commands.trigger(command)
        assert card.isVisible()
        problems += [f"{command}: no name: {item}" for item in nameless(card)]
        person.press(Key.Key_Escape)
        assert not card.isVisible()
    assert not problems, told(problems)


def test_a_narrow_window(person: Person, run_id: str) -> None:
    person.window.resize(900, 700)
    person.see(lambda: person.window.folding.is_narrow)
    problems: list[str] = []
    for side in Side:
        person.click(person.window.folding.side.switch.button(side))
        person.take_keyboard()
        switch = person.window.folding.side.switch.button(side)
        reached = walk(person.qtbot, person.window, switch)
        problems += [f"not reached: {item}" for item in unreachable(person.window, reached)]
        problems += [f"no name: {item}" for item in nameless(person.window)]
    assert not problems, told(problems)


def test_arrow_keys_choose_within_a_group(person: Person) -> None:
    person.click(person.launch.modes.button("agent"))
    for key, mode in ((Key.Key_Left, Mode.HYBRID), (Key.Key_Left, Mode.HUMAN)):
        person.press(key)
        assert person.state.mode is mode
        assert person.launch.modes.button(mode.value).hasFocus()


def test_the_walk_finds_what_tab_leaves_out(person: Person) -> None:
    person.launch.footer.more.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    person.runs.filter_field.setAccessibleName("")
    problems: list[str] = []
    check(person, "spoiled", problems)
    assert len(problems) == 2
    assert "launch-more" in problems[0] and "runs-filter" in problems[1]
