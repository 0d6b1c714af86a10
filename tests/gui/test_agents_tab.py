"""The tab of agents: their files while they grow, hostile ones, and what a person tells them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mosaic.contracts.manifest import AgentsArtifact, AnalyticsManifest
from mosaic.contracts.run_record import RunRecord
from mosaic.files import atomic_write
from mosaic.gui.agents import talk_panel
from mosaic.gui.agents.tab import BELIEFS, GOALS, MAP, MESSAGES, AgentsTab
from mosaic.gui.application import Application
from mosaic.gui.tabs.model import Tone
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.agent_samples import map_data, values_data
from tests.unit.gui.run_samples import over, record

TRACE, VALUES = "agents.jsonl", "values.jsonl"
SUPPORT = {
    "goals": ["explore", "exploit", "subgoal", "give_up"],
    "cell_goal": "subgoal",
    "plan_roles": ["learner"],
    "plan_checker": "",
}


def run_in(folder: Path, *, is_over: bool = False, number: int = 1) -> RunRecord:
    """A run with these files, as the daemon would tell of it."""
    made = AnalyticsManifest("01", "sample", agents=AgentsArtifact(TRACE, "", VALUES))
    atomic_write(folder / "analytics.json", json.dumps(made.to_dict()).encode())
    return (over if is_over else record)(
        number,
        paths={"run_directory": str(folder)},
        manifest=made.to_dict(),
        capabilities={"agents": SUPPORT},
    )


def add(folder: Path, *lines: dict[str, Any] | str, name: str = TRACE) -> None:
    with (folder / name).open("a") as file:
        for line in lines:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")


def line(kind: str, agent: str = "learner", at: float | None = None, **fields: Any) -> Any:
    return {
        "timestamp": time.time() if at is None else at,
        "agent": agent,
        "kind": kind,
        **fields,
    }


def state(agent: str, *beliefs: str, goals: Any = ()) -> Any:
    return line(
        "state",
        agent,
        role=agent,
        beliefs=[[text, "self"] for text in beliefs],
        goals=[list(goal) for goal in goals],
        left_out=0,
    )


def show(application: Application, run: RunRecord) -> AgentsTab:
    application.state.select([run.run_id])
    application.state.set_details(run)
    application.state.ask_tab("agents")
    tab = application.window.tabs_panel.tab("agents")
    assert isinstance(tab, AgentsTab)
    return tab


def look_at(tab: AgentsTab, section: str) -> None:
    QTest.mouseClick(tab.which.button(section), Qt.MouseButton.LeftButton)


def believed(tab: AgentsTab) -> list[str]:
    return [row.cells[1] for row in tab.beliefs.rows]


def test_what_agents_believe_want_and_say_is_shown_while_it_grows(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    run = run_in(tmp_path)
    tab = show(lonely, run)
    qtbot.waitUntil(lambda: "No word" in tab.empty._title.text(), timeout=WAIT_MS)
    goals = [("choose", "otherwise_explore"), ("explore", "+!explore (line 91)")]
    add(
        tmp_path,
        state("learner", "confidence(0.5)", "demand(0.7)", goals=goals),
        state("coach", "patience(5)"),
        line("message", direction="out", peer="coach", performative="tell", text="stuck(100,0)"),
        line("note", text="the learner is stuck"),
    )
    qtbot.waitUntil(lambda: believed(tab) == ["confidence(0.5)", "demand(0.7)"], timeout=WAIT_MS)
    assert tab.headline.text() == "explore · plan otherwise_explore"
    assert tab.confidence.text() == "confidence 50 %"
    add(tmp_path, line("belief", added=True, text="wanted(x)", source="coach"))
    qtbot.waitUntil(lambda: "wanted(x)" in believed(tab), timeout=WAIT_MS)
    newest = tab.beliefs.rows[-1]
    assert (newest.tone, newest.cells[0]) == (Tone.GOOD, "+")
    look_at(tab, GOALS)
    assert [row.cells[1] for row in tab.goals.rows] == ["choose", "  › explore"]
    assert tab.happenings.rows[0].cells[2] == "the learner is stuck"
    look_at(tab, MESSAGES)
    assert tab.messages.rows[0].cells[1:] == ("to coach", "tell", "stuck(100,0)")
    tab.filter.setText("nothing has this")
    assert not tab.messages.rows
    tab.filter.clear()
    tab.agents.setCurrentIndex(1)
    look_at(tab, BELIEFS)
    assert believed(tab) == ["patience(5)"]


def test_tables_are_shown_as_they_were_at_any_time(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    add(tmp_path, state("learner"))
    add(
        tmp_path,
        map_data(),
        values_data([[1, 0, 0, 0]], episodes=100),
        values_data([[0, 2, 0, 0]], episodes=1200),
        name=VALUES,
    )
    tab = show(lonely, run_in(tmp_path))
    look_at(tab, MAP)
    page = tab.map_page
    qtbot.waitUntil(lambda: page.slider.maximum() == 1, timeout=WAIT_MS)
    assert page.when.text() == "after 1,200 episodes"
    assert page.when.toolTip() == "step 12,000"
    assert page.map.view is not None
    assert page.map.view.cells[0].moves == ("down",)
    page.slider.setValue(0)
    assert page.map.view.cells[0].moves == ("left",)
    # Whoever looks back is left there; whoever looks at the newest is taken along.
    add(tmp_path, values_data([[0, 0, 3, 0]], episodes=2000), name=VALUES)
    qtbot.waitUntil(lambda: page.slider.maximum() == 2, timeout=WAIT_MS)
    assert page.slider.value() == 0
    page.slider.setValue(2)
    add(tmp_path, values_data([[0, 0, 0, 4]], episodes=3000), name=VALUES)
    qtbot.waitUntil(lambda: page.slider.value() == 3, timeout=WAIT_MS)
    assert page.map.view.cells[0].moves == ("up",)


def test_a_run_that_is_over_shows_its_last_state_and_nobody_to_talk_to(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    add(tmp_path, state("learner", "a"), line("belief", added=True, text="b", source="self"))
    tab = show(lonely, run_in(tmp_path, is_over=True))
    qtbot.waitUntil(lambda: believed(tab) == ["a", "b"], timeout=WAIT_MS)
    assert all(row.tone is Tone.PLAIN for row in tab.beliefs.rows)
    assert not tab.talk.isVisible()


def test_another_run_starts_anew(qtbot: QtBot, lonely: Application, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for number, folder in enumerate((first, second), 1):
        folder.mkdir()
        add(folder, state(f"agent {number}", f"run({number})"))
    tab = show(lonely, run_in(first))
    qtbot.waitUntil(lambda: believed(tab) == ["run(1)"], timeout=WAIT_MS)
    show(lonely, run_in(second, number=2))
    qtbot.waitUntil(lambda: believed(tab) == ["run(2)"], timeout=WAIT_MS)
    assert tab.agents.count() == 1


def test_nothing_is_left_of_a_run_before_one_that_has_a_map_alone(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
    add(first, state("learner", "a"), line("note", text="hello"))
    add(second, map_data(), values_data([[1, 0, 0, 0]]), name=VALUES)
    tab = show(lonely, run_in(first))
    qtbot.waitUntil(lambda: believed(tab) == ["a"], timeout=WAIT_MS)
    look_at(tab, GOALS)
    show(lonely, run_in(second, number=2))
    qtbot.waitUntil(lambda: tab.map_page.map.view is not None, timeout=WAIT_MS)
    assert tab.is_content_shown
    assert believed(tab) == []
    assert not tab.happenings.rows
    assert not tab.headline.isVisible()


def test_files_are_read_only_while_the_tab_is_in_front(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    add(tmp_path, state("learner", "a"))
    tab = show(lonely, run_in(tmp_path))
    qtbot.waitUntil(lambda: believed(tab) == ["a"], timeout=WAIT_MS)
    lonely.state.ask_tab("config")
    qtbot.waitUntil(lambda: not tab.is_active, timeout=WAIT_MS)
    assert not tab._follower._timer.isActive()
    add(tmp_path, line("belief", added=True, text="b", source="self"))
    lonely.state.ask_tab("agents")
    qtbot.waitUntil(lambda: believed(tab) == ["a", "b"], timeout=WAIT_MS)


def test_hostile_files_end_in_sentences(qtbot: QtBot, lonely: Application, tmp_path: Path) -> None:
    markup = "<img src='http://x/'><b>bold</b>\u202e\x1b[2J\n&amp;"
    add(
        tmp_path,
        "garbage",
        "[" * 5000,
        '{"kind": "belief", "timestamp": 1e999, "agent": 3}',
        "x" * 3_000_000,
        line("belief", added=True, text=markup, source=markup, at=-1e300),
        line("belief", added=True, text="y" * 2_000_000, source="self"),
        *[state("learner", *(f"b{number}({round})" for number in range(300))) for round in (1, 2)],
        *[state(f"agent {number}", "a") for number in range(200)],
        line("belief", added=True, text=markup, source=markup, at=-1e300),
        line("skipped", count=10**400),
    )
    add(
        tmp_path,
        {**map_data(), "states": [[1]]},
        map_data(2, 3, cells=[["<b>"] * 3] * 2, states=[[-1, 10**30, 5, 5, 5, 5]]),
        '{"kind": "values", "values": [[NaN, Infinity, -1e999, 1e308], [null, "x"], 7]}',
        name=VALUES,
    )
    tab = show(lonely, run_in(tmp_path))
    qtbot.waitUntil(lambda: len(believed(tab)) == 301, timeout=WAIT_MS)
    assert believed(tab)[0].startswith("<img src='http://x/'><b>bold</b> ")
    assert tab.agents.count() == 32
    qtbot.waitUntil(lambda: "Only the first 32" in tab.problems.text(), timeout=WAIT_MS)
    for section in (GOALS, MESSAGES, MAP):
        look_at(tab, section)
        tab.grab()
    assert tab.map_page.map.view is not None
    for cell in range(6):
        assert tab.map_page.map.view.words(cell)


def test_a_manifest_that_leads_out_of_an_imported_run_is_refused(
    qtbot: QtBot, lonely: Application, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    made = AnalyticsManifest("01", "sample", agents=AgentsArtifact("../../etc/passwd", "", ""))
    atomic_write(tmp_path / "run" / "analytics.json", json.dumps(made.to_dict()).encode())
    run = over(
        paths={"run_directory": str(tmp_path / "run")},
        manifest=made.to_dict(),
        origin="imported",
    )
    tab = show(lonely, run)
    qtbot.waitUntil(lambda: tab.empty._title.text() != "Reading what the agents say…")
    assert not tab.is_content_shown


class Told:
    """What agents would have been told, and what they then answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands: list[dict[str, Any]] = []
        self.answer: dict[str, Any] | None = {"ok": True, "text": "the coach passes it on"}
        monkeypatch.setattr(talk_panel, "ask_async", self._ask)

    async def _ask(self, client: Any, run_id: str, command: dict[str, Any]) -> Any:
        self.commands.append(command)
        return self.answer


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


@pytest.fixture
def talking(qtbot: QtBot, lonely: Application, tmp_path: Path, told: Told) -> AgentsTab:
    add(tmp_path, state("learner", "a"), state("coach", "b"))
    add(tmp_path, map_data(targets=["", *map_data()["targets"][1:]]), name=VALUES)
    tab = show(lonely, run_in(tmp_path))
    qtbot.waitUntil(lambda: believed(tab) == ["a"], timeout=WAIT_MS)
    assert tab.talk.isVisible()
    return tab


def test_a_goal_is_set_by_its_button(qtbot: QtBot, talking: AgentsTab, told: Told) -> None:
    panel = talking.talk
    assert list(panel.goals) == ["explore", "exploit", "give_up"]
    qtbot.mouseClick(panel.goals["exploit"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: panel.answer.text() == "exploit: the coach passes it on", timeout=WAIT_MS
    )
    assert told.commands == [{"command": "goal", "kind": "exploit"}]
    told.answer = {"ok": False, "text": "nobody <b>listens</b>"}
    qtbot.mouseClick(panel.goals["give_up"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: panel.answer.text() == "× give_up: nobody <b>listens</b>", timeout=WAIT_MS
    )
    assert panel.answer.property("role") == "error"
    assert panel.answer.textFormat() is Qt.TextFormat.PlainText


def test_a_cell_of_the_map_is_a_goal_if_it_has_a_name(
    qtbot: QtBot, talking: AgentsTab, told: Told
) -> None:
    look_at(talking, MAP)
    canvas = talking.map_page.map.canvas
    qtbot.waitUntil(lambda: canvas.grid.side > 0, timeout=WAIT_MS)
    for cell in (0, 5):
        qtbot.mouseClick(
            canvas,
            Qt.MouseButton.LeftButton,
            pos=canvas.grid.rect(cell).center().toPoint(),
        )
    qtbot.waitUntil(lambda: len(told.commands) == 1, timeout=WAIT_MS)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(told.commands) == 2, timeout=WAIT_MS)
    assert [command["target"] for command in told.commands] == [
        "row 2, column 3",
        "row 2, column 2",
    ]


def test_a_belief_is_told_to_the_agent_that_is_looked_at(
    qtbot: QtBot, talking: AgentsTab, told: Told
) -> None:
    panel = talking.talk
    talking.agents.setCurrentIndex(1)
    QTest.keyClick(panel.line, Qt.Key.Key_Return)
    assert told.commands == []
    assert "Type a belief" in panel.answer.text()
    QTest.keyClicks(panel.line, "demand(0.9)")
    QTest.keyClick(panel.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.line.text() == "", timeout=WAIT_MS)
    panel.kind.setCurrentText("subgoal")
    told.answer = None
    QTest.keyClicks(panel.line, "state 6")
    qtbot.mouseClick(panel.send, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "not answered" in panel.answer.text(), timeout=WAIT_MS)
    assert told.commands == [
        {"command": "tell", "belief": "demand(0.9)", "to": "coach"},
        {"command": "goal", "kind": "subgoal", "target": "state 6"},
    ]


def test_a_run_that_ends_takes_no_more_goals(
    qtbot: QtBot, lonely: Application, talking: AgentsTab, tmp_path: Path
) -> None:
    lonely.state.set_details(run_in(tmp_path, is_over=True))
    qtbot.waitUntil(lambda: not talking.talk.isVisible(), timeout=WAIT_MS)
    assert talking.talk.cell_goal == ""
