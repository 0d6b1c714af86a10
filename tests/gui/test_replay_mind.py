"""What agents wanted and believed, in the replay page: a recorded episode whose steps were told."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.replay.model.mind import ENDED, NOT_REPORTED
from mosaic.gui.replay.page import ReplayPage
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.test_replay_page import finished_run, shown

MAP = {
    "kind": "map",
    "rows": 4,
    "columns": 4,
    "cells": [["floor"] * 4] * 4,
    "actions": ["left", "down", "right", "up"],
    "moves": ["left", "down", "right", "up"],
    "layers": [""],
    "states": [list(range(16))],
    "targets": [f"state {state}" for state in range(16)],
}


def lake_run(daemon: DaemonHarness) -> str:
    return finished_run(daemon, env_id="FrozenLake-v1", episodes=2)


def tell_minds(daemon: DaemonHarness, run_id: str, minds: list[dict[str, Any]]) -> None:
    """As a worker that tells them would have, with the steps of the first episode."""
    store = daemon.home.run(run_id).telemetry
    with closing(sqlite3.connect(store)) as connection, connection:
        for step, told in enumerate(minds):
            connection.execute(
                "UPDATE steps SET info = ?, observation = ? "
                "WHERE episode_index = 0 AND step_index = ?",
                (json.dumps({"mind": told}), str(step), step),
            )


def leave_values(daemon: DaemonHarness, run_id: str, *steps: int) -> None:
    files = daemon.home.run(run_id)
    values = [
        {"kind": "values", "timestamp": 0, "step": step, "episodes": 0, "values": [[step] * 4] * 16}
        for step in steps
    ]
    lines = "".join(json.dumps(line) + "\n" for line in (MAP, *values))
    (files.directory / "values.jsonl").write_text(lines)
    manifest = json.loads(files.manifest.read_text())
    manifest["agents"] = {"values_path": "values.jsonl"}
    files.manifest.write_text(json.dumps(manifest))


def mind_button(view: ReplayPage) -> QPushButton:
    return view.side.choice.button("mind")


def minds_of(length: int) -> list[dict[str, Any]]:
    return [
        {
            "goal": "explore" if step < 1 else "subgoal <b>3</b>",
            "plan": f"plan_{step}",
            "confidence": step / length,
            "q_values": [0.0, 1.0, -1.0, float(step)],
            "beliefs": {"added": [f"seen({step})"], "removed": []},
        }
        for step in range(length)
    ]


@pytest.fixture
def told(qtbot: QtBot, daemon: DaemonHarness, application: Application) -> ReplayPage:
    run_id = lake_run(daemon)
    length = daemon.client.get_recording(run_id, 0).episode.steps
    tell_minds(daemon, run_id, minds_of(length))
    leave_values(daemon, run_id, 0)
    view = shown(qtbot, application, run_id, 0)
    qtbot.waitUntil(lambda: view.mind._mind is not None, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: view.mind._read.map is not None, timeout=WAIT_MS)
    view.panel.toggle()
    view.side.show_table("mind")
    qtbot.waitUntil(view.mind.isVisible, timeout=WAIT_MS)
    return view


def test_each_step_shows_what_the_agent_wanted_and_where_it_was(
    qtbot: QtBot, told: ReplayPage
) -> None:
    mind, length = told.mind, told.panel.main.length
    told.panel.seek(0)
    assert mind.goal.text() == "explore" and mind.facts()["Plan"].replace("\u200b", "") == "plan_0"
    assert [bar.name for bar in mind.bars.bars] == ["left", "down", "right", "up"]
    assert "down 1" in mind.bars.accessibleName()
    assert mind.map_words.text() == "Values as they were after 0 steps of the training"
    assert mind.map.view is not None
    last = length - 1  # nobody is told where it ended
    told.panel.seek(last)
    assert mind.map._walk is not None
    assert list(mind.map._walk.trail)[-1] == last
    told.panel.seek(1)
    assert list(mind.map._walk.trail) == [0, 1], "the way that led there, also for a jump"
    assert mind.goal.text() == "subgoal <b>3</b>", "shown as it is"
    assert mind.text.changes[0][0] == "+"
    told.panel.seek(length)
    assert mind.note.text() == ENDED and not mind.bars.bars


def test_the_goal_is_a_column_and_confidence_a_strip(qtbot: QtBot, told: ReplayPage) -> None:
    model = told.step_table.model
    goal = model.columnCount() - 1
    assert model.headerData(goal, told.step_table.table.horizontalHeader().orientation()) == "Goal"
    cells = [model.index(row, goal).data() for row in range(3)]
    assert cells[:2] == ["explore", "subgoal <b>3</b>"]
    strips = told.panel.strips.views
    assert list(strips) and list(strips["confidence"].strip.limits) == [0.0, 1.0]
    assert strips["value"].strip.text_at(0) == "1", "the best of what actions are worth"


def test_the_mind_has_its_place_in_narrow_and_in_wide_windows(
    qtbot: QtBot, application: Application, told: ReplayPage
) -> None:
    application.window.resize(900, 700)
    qtbot.waitUntil(lambda: not told.side._is_wide, timeout=WAIT_MS)
    assert not mind_button(told).isHidden()
    mind_button(told).click()
    qtbot.waitUntil(told.mind.isVisible, timeout=WAIT_MS)
    assert not told.step_table.isVisible()
    application.window.resize(2560, 1440)
    qtbot.waitUntil(lambda: bool(told.side._is_wide), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: told.mind.isVisible() and told.episodes.isVisible(), timeout=WAIT_MS)
    told.side.wide_choice.button("steps").click()
    qtbot.waitUntil(told.step_table.isVisible, timeout=WAIT_MS)
    assert not told.step_table.table.isColumnHidden(told.step_table.model.columnCount() - 1)


def test_an_episode_that_was_not_told_shows_its_map_alone(qtbot: QtBot, told: ReplayPage) -> None:
    told.show_episode(1)
    qtbot.waitUntil(lambda: told.mind.note.text() == NOT_REPORTED, timeout=WAIT_MS)
    assert "confidence" not in told.panel.strips.views
    assert not mind_button(told).isHidden() and not told.mind.bars.bars
    assert told.mind.map_words.text().startswith("Values as they were")


def test_runs_without_agents_that_tell_are_shown_as_ever(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, told: ReplayPage
) -> None:
    view = shown(qtbot, application, lake_run(daemon), 0)
    qtbot.waitUntil(mind_button(view).isHidden, timeout=WAIT_MS)
    goal = view.step_table.model.columnCount() - 1
    assert view.step_table.table.isColumnHidden(goal)
    assert list(view.panel.strips.views) and "confidence" not in view.panel.strips.views


@pytest.mark.parametrize("named", ["../../../etc/passwd", "/dev/zero", "nowhere.jsonl", "x" * 9000])
def test_a_manifest_that_names_something_else_is_no_harm(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, named: str
) -> None:
    run_id = lake_run(daemon)
    tell_minds(daemon, run_id, [{"goal": "explore"}])
    leave_values(daemon, run_id, 0)
    files = daemon.home.run(run_id)
    manifest = json.loads(files.manifest.read_text())
    manifest["agents"] = {"values_path": named}
    files.manifest.write_text(json.dumps(manifest))
    view = shown(qtbot, application, run_id, 0)
    qtbot.waitUntil(lambda: view.mind._mind is not None, timeout=WAIT_MS)
    assert view.mind._read.map is None and view.mind.map.isHidden()
    view.panel.toggle()
    view.panel.seek(0)
    view.side.show_table("mind")
    qtbot.waitUntil(view.mind.isVisible, timeout=WAIT_MS)
    assert view.mind.goal.text() == "explore"
