"""From the form to a trained policy: train, watch, stop, and go on."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

pytest.importorskip("torch", reason="the learner needs torch")

from PySide6.QtCore import Qt

from mosaic.gui.application import Application
from mosaic.gui.charts.model.metrics import is_return
from mosaic.gui.charts.tab import ChartsTab
from mosaic.gui.live.page import LivePage
from mosaic.gui.run_config.tab import ConfigTab
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.state.targets import Operation, Page
from tests.daemon_harness import DaemonHarness
from tests.gui.workflow_steps import CONTROL, Person, somebody


@pytest.fixture
def person(qtbot: QtBot, application: Application) -> Person:
    return somebody(qtbot, application)


def points(tab: ChartsTab) -> int:
    """Of the first chart of a return."""
    card = next((card for card in tab.cards if is_return(card.metric_name)), None)
    return max((len(curve.xs) for curve in card.plot.curves), default=0) if card else 0


def start_training(person: Person, timesteps: int) -> str:
    """PPO on CartPole with eight environments, as the form has it but for four entries."""
    person.fill("total_timesteps", f"{timesteps}")
    person.open_section("Hyperparameters")
    person.fill("num_envs", "8")
    person.open_section("Frames")
    person.fill("fastlane_grid_limit", "8")
    known = person.known_runs
    person.start()
    return person.see_new_run(known)


def test_train_watch_stop_and_go_on(person: Person, daemon: DaemonHarness) -> None:
    form = person.launch.form.form
    assert (form.value("algo"), person.state.env_id) == ("ppo", "CartPole-v1")
    run_id = start_training(person, 5_000_000)
    person.see_state(run_id, "running")

    live = person.page(Page.LIVE, LivePage)
    person.click(live.view.button("mosaic"))
    person.see(lambda: "8 envs" in live.hud.text)
    person.see(lambda: all(not live.canvas.box(slot).isEmpty() for slot in range(8)))
    painted = live.canvas.painted_pictures
    person.see(lambda: live.canvas.painted_pictures > painted + 16)

    charts = person.open_tab("charts", ChartsTab)
    person.see(lambda: points(charts) > 1)
    seen = points(charts)
    person.see(lambda: points(charts) > seen)

    person.press(Qt.Key.Key_Period, CONTROL)  # Stop
    person.see_state(run_id, "canceled")
    assert person.outcome().headline.text().startswith("Stopped after ")
    person.see(lambda: bool(person.record(run_id).checkpoint_uri))
    done = person.record(run_id).progress.steps
    assert 0 < done < 5_000_000

    person.click(person.launch.operations.button("trained"))
    person.click(person.launch.uses.button("resume"))
    assert person.launch.form.operation is Operation.RESUME
    person.see(lambda: person.launch.form.policy is not None)
    person.fill("total_timesteps", str(done + 2048))
    known = person.known_runs
    person.start()
    resumed = person.see_new_run(known)
    person.see_state(resumed, "succeeded")
    steps = [point.step for point in daemon.client.recent_metrics(resumed, 1000)]
    assert steps and min(steps) >= done - 8 * 128, "it goes on from where it was stopped"
    assert person.cell(resumed, Column.PROGRESS)
    config = person.open_tab("config", ConfigTab)
    person.see(lambda: bool(config.lineage.links()))
    person.click(config.lineage.links()[0])  # "Goes on from"
    person.see(lambda: person.selected == [run_id])
