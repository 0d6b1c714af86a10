"""What is done with trained policies: evaluate, replay, take over by keyboard, compare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

pytest.importorskip("torch", reason="the learner needs torch")
pytest.importorskip("scipy", reason="comparing needs scipy")

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from mosaic.gui.application import Application
from mosaic.gui.checkpoints.tab import CheckpointsTab
from mosaic.gui.compare.page import ComparePage
from mosaic.gui.play.page import PlayPage
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.state.targets import Mode, Operation, Page
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.workflow_steps import Person, somebody, texts, train_quickly, wait_trained

Key = Qt.Key


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    """One for all tests here: trained runs are dear."""
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def trained(daemon: DaemonHarness) -> list[str]:
    """Two seeds of a PPO on CartPole."""
    started = [train_quickly(daemon, seed=seed) for seed in (1, 2)]
    return [wait_trained(daemon, run_id) for run_id in started]


@pytest.fixture
def person(qtbot: QtBot, trained: list[str], application: Application) -> Person:
    return somebody(qtbot, application)


def test_a_checkpoint_is_evaluated_by_the_form(person: Person, trained: list[str]) -> None:
    person.select_run(trained[0])
    tab = person.open_tab("checkpoints", CheckpointsTab)
    person.see(lambda: bool(tab.cards.views) and tab.cards.views[0].evaluate.isEnabled())
    person.click(tab.cards.views[0].evaluate)
    assert person.launch.form.operation is Operation.EVALUATE
    person.fill("eval_episodes", "5")
    known = person.known_runs
    person.start()
    run_id = person.see_new_run(known)
    person.see_state(run_id, "succeeded")
    outcome = person.outcome()
    person.see(lambda: "episodes 5" in outcome.facts.text and "mean of last" in outcome.facts.text)
    assert not outcome.solved.isVisible(), "nothing was trained"
    person.see(lambda: person.record(run_id).progress.episodes == 5)


def test_the_run_that_is_selected_is_evaluated_not_the_newest(
    person: Person, trained: list[str]
) -> None:
    """In a fresh window, whose form has not been asked for a policy yet."""
    older = min(trained)  # ids are ordered by time
    person.select_run(older)
    person.choose("Run", "Evaluate…")
    person.see(lambda: person.launch.policies.combo.currentData() == older)
    combo = person.launch.policies.combo
    person.see(lambda: not combo.visibleRegion().isEmpty())
    assert person.record(older).run_name in person.launch.footer.status.text(), "never scrolled"
    known = person.known_runs
    person.start()
    lineage = person.record(person.see_new_run(known)).lineage
    assert lineage is not None and lineage.parent_run == older


def test_the_best_episode_is_replayed_and_is_identical(
    person: Person, daemon: DaemonHarness, trained: list[str]
) -> None:
    wanted = next(daemon.client.episodes(trained[0], 1, "best"))
    person.select_run(trained[0])
    person.press(Key.Key_R, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    view = person.page(Page.REPLAY, ReplayPage)
    person.see(lambda: view.panel.image is not None)
    best = view.findChild(QPushButton, "jump-best")
    assert best is not None
    person.click(best)
    person.see(lambda: f"Episode {wanted.episode_index:,} · " in texts(view))
    person.see(lambda: view.panel.image is not None)
    assert view.panel.player.steps == wanted.steps
    middle = view.panel.scrubber.rect().center()
    person.click(view.panel.scrubber, middle)
    steps = view.panel.player.steps
    assert abs(view.panel.player.step - steps / 2) <= steps * 0.1
    person.click(view.panel.transport.button("end"))
    person.see(lambda: view.panel.hud.place.text() == f"step {steps} / {steps}")
    person.click(view.verify_button)
    person.see(lambda: view.panel.hud.badge.text() == "identical")
    person.see_notice("Identical: ")


def test_steps_of_the_lowest_and_highest_reward_are_found(
    person: Person, daemon: DaemonHarness
) -> None:
    config = {"env_id": "Pendulum-v1", "episodes": 1}
    run_id = daemon.submit(run_name="pendulum", config=config)
    daemon.wait_over(run_id)
    person.select_run(run_id)
    person.choose("Run", "Replay")
    view = person.page(Page.REPLAY, ReplayPage)
    person.see(view.panel.transport.lowest.isEnabled)
    person.click(view.panel.transport.lowest)
    low = view.panel.player.step
    person.see(lambda: view.panel.hud.place.text() == f"step {low} / 200")
    lowest = float(view.panel.hud.reward.text().split()[1])
    person.click(view.panel.transport.highest)
    high = view.panel.player.step
    person.see(lambda: view.panel.hud.place.text() == f"step {high} / 200")
    assert lowest < float(view.panel.hud.reward.text().split()[1])


def test_a_person_takes_over_and_hands_back(
    person: Person, trained: list[str], daemon: DaemonHarness
) -> None:
    person.click(person.launch.modes.button("hybrid"))
    assert person.launch.policies.isVisible() and not person.launch.operations.isVisible()
    person.see(lambda: person.launch.policies.combo.currentData() in trained)
    known = person.known_runs
    person.start()
    view = person.page(Page.PLAY, PlayPage)
    person.see(lambda: view.is_playing and view.game.picture.has_focus)
    run_id = person.see_new_run(known)
    game = view.game
    person.see(lambda: game.now.step >= 2)
    assert game.hud.text.startswith("policy acts")
    person.press(Key.Key_T)
    person.see(lambda: game.now.is_human and game.hud.text.startswith("you act"))
    taken = (game.now.episode, game.now.step)
    person.press(Key.Key_Right)
    person.see(lambda: (game.now.episode, game.now.step) != taken or game.now.is_over)
    if game.now.is_over:
        person.press(Key.Key_R)
        person.see(lambda: not game.now.is_over)
    person.press(Key.Key_T)
    person.see(lambda: not game.now.is_human)
    person.click(game.end_button)
    person.see(lambda: view.session is None)
    person.see_state(run_id, "succeeded")
    acted = {
        step.info["controller"]
        for episode in daemon.client.episodes(run_id)
        for step in daemon.client.steps(run_id, episode.episode_index)
    }
    assert acted == {"human", "policy"}
    person.click(person.launch.modes.button("agent"))
    assert person.state.mode is Mode.AGENT and person.launch.operations.isVisible()


def test_two_runs_are_compared(person: Person, trained: list[str]) -> None:
    person.select_runs(*trained)
    assert sorted(person.selected) == sorted(trained)
    person.choose("Compare", "Compare selected")
    view = person.page(Page.COMPARE, ComparePage)
    person.see(lambda: bool(view.page.plot.curves) and view.page.isVisible())
    assert any(len(curve.xs) > 1 for curve in view.page.plot.curves)
    assert view.page.finals.table.rows
    assert view.page.verdicts.texts or view.page.notes.texts


def test_a_replay_and_a_comparison_are_left_again(person: Person, trained: list[str]) -> None:
    person.select_run(trained[0])
    person.choose("Run", "Replay")
    replay = person.page(Page.REPLAY, ReplayPage)
    person.press(Key.Key_Escape)
    person.outcome()
    assert person.selected == [trained[0]]
    person.choose("Run", "Replay")
    person.page(Page.REPLAY, ReplayPage)
    person.click(replay.back_button)
    person.outcome()
    person.choose("Run", "Replay")
    person.page(Page.REPLAY, ReplayPage)
    person.select_run(trained[1])
    person.outcome()
    person.select_runs(*trained)
    person.choose("Compare", "Compare selected")
    compare = person.page(Page.COMPARE, ComparePage)
    person.runs.table.setFocus()
    person.press(Key.Key_Escape)
    person.outcome()
    assert sorted(person.selected) == sorted(trained)
    person.choose("Compare", "Compare selected")
    person.page(Page.COMPARE, ComparePage)
    person.click(compare.back_button)
    person.outcome()
