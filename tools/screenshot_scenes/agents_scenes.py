"""Scenes of agents that deliberate: a run of theirs, and each section of its tab."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mosaic.gui.agents.tab import BELIEFS, GOALS, MAP, MESSAGES, AgentsTab
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.state.targets import Page, ReplayTarget
from screenshot_scenes.sample_home import SampleHome
from screenshot_scenes.stage import Stage

_BUNDLE = "spade_bdi_worker"
_BEGIN_S = 60.0
_PICTURE_S = 8.0  # until the centre shows an episode
_TARGET = 27  # row 4, column 4


def start_agents(home: SampleHome) -> str:
    """A training that goes on until it is stopped."""
    home.mosaic("bundles", "install", _BUNDLE)
    world = json.dumps({"map_name": "8x8", "is_slippery": False})
    words = ("--total-timesteps", "20M", "--set", f"env_kwargs={world}")
    return home.start("train", "q_learning", "FrozenLake-v1", *words)[0]


def shoot_agents(stage: Stage, home: SampleHome) -> None:
    run_id = start_agents(home)
    stage.until(lambda: stage.state.runs.get(run_id) is not None, "the run of the agents")
    stage.application.workbench.bundles.refresh()  # it was installed behind the window's back
    stage.state.show_page(Page.LIVE)
    stage.select(run_id)
    stage.until(lambda: "agents" in stage.window.tabs_panel.tab_ids, "the tab", _BEGIN_S)
    stage.show_tab("agents")
    tab = stage.window.tabs_panel.tab("agents")
    assert isinstance(tab, AgentsTab)
    stage.until(lambda: len(tab.beliefs.rows) > 5, "beliefs", _BEGIN_S)
    page = tab.map_page
    _look_at(tab, MAP)
    stage.until(lambda: page.slider.maximum() > 3, "values", _BEGIN_S)
    canvas = page.map.canvas
    at = canvas.grid.rect(_TARGET).center().toPoint()
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    stage.until(lambda: "subgoal" in tab.talk.answer.text(), "the answer")
    stage.spend(_PICTURE_S)
    for section in (BELIEFS, GOALS, MESSAGES, MAP):
        _look_at(tab, section)
        stage.shoot(f"agents-{section}", is_main=section == MAP, tab="agents", settle_s=1.0)
    home.mosaic("stop", run_id)
    stage.until(lambda: not tab.talk.isVisible(), "the end of the run")
    page.slider.setValue(page.slider.maximum() // 2)
    _look_at(tab, MAP)
    stage.shoot("agents-over", settle_s=1.0)
    _shoot_replay(stage, run_id)


def _shoot_replay(stage: Stage, run_id: str) -> None:
    """In the middle of an episode, beside what the learner wanted there."""
    stage.state.show_replay(ReplayTarget(run_id))
    page = stage.window.stage.page(Page.REPLAY)
    assert isinstance(page, ReplayPage)
    mind = page.side.choice.button("mind")
    stage.until(lambda: page.panel.image is not None and mind.isVisible(), "the replayed mind")
    page.panel.toggle()
    page.panel.seek(page.panel.player.steps // 2)
    QTest.mouseClick(mind, Qt.MouseButton.LeftButton)
    stage.shoot("agents-replay", settle_s=1.5)


def _look_at(tab: AgentsTab, section: str) -> None:
    QTest.mouseClick(tab.which.button(section), Qt.MouseButton.LeftButton)
