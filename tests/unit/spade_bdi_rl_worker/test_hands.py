"""What plans pursue is played exactly as far as it may, and goes on where it was left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from spade_bdi_rl_worker.agents.protocols import PursuitRefusedError
from spade_bdi_rl_worker.commands import Commands, with_names
from spade_bdi_rl_worker.hands import Limits, WorldHands, batch_after
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import LearningSettings
from spade_bdi_rl_worker.learning.world import World
from spade_bdi_rl_worker.targets import Success, Targets


class Reports:
    """In place of the telemetry."""

    def __init__(self) -> None:
        self.goals: list[str] = []
        self.steps = 0
        self.merged: list[int] = []
        self.stretches = 0

    def begin_pursuit(self, goal: str) -> None:
        self.goals.append(goal)

    def begin_steps(self) -> None:
        self.stretches += 1

    def report_steps(self, steps: Any) -> None:
        self.steps += len(steps)

    def report_merged(self, outcome: Any) -> None:
        self.merged.append(outcome.episodes)

    def report_metrics(self, *_: Any, **__: Any) -> None: ...


@pytest.fixture
def world() -> Iterator[World]:
    found = World.make("FrozenLake-v1", {"is_slippery": False})
    yield found
    found.close()


def hands_of(
    world: World, limits: Limits, *, is_full: bool = False, stops_at: int = 10**9, **changes: Any
) -> tuple[WorldHands, QLearningRuntime, Reports]:
    runtime = QLearningRuntime(world, LearningSettings(anneal_episodes=500), 3)
    reports = Reports()
    hands = WorldHands(
        runtime,
        reports,  # type: ignore[arg-type]
        limits,
        is_full=is_full,
        sample_every=changes.get("sample_every", 0),
        decides_batches=True,
        attend=lambda: runtime.steps >= stops_at,
    )
    return hands, runtime, reports


def test_it_ends_with_the_episode_in_which_the_steps_are_used_up(world: World) -> None:
    hands, runtime, _ = hands_of(world, Limits(5000))
    report = hands.pursue("explore", "", 1_000_000)
    assert report.is_over and report.was_interrupted
    assert 5000 <= runtime.steps < 5100
    assert hands.pursue("explore", "", 1).is_over


def test_it_ends_after_so_many_episodes(world: World) -> None:
    hands, runtime, _ = hands_of(world, Limits(10**9, 123))
    assert hands.pursue("explore", "", 1000).episodes == 123 == runtime.episodes


def test_full_telemetry_reports_every_step(world: World) -> None:
    hands, runtime, reports = hands_of(world, Limits(3000), is_full=True)
    hands.pursue("explore", "", 1_000_000)
    assert reports.steps == runtime.steps and not reports.merged


def test_samples_and_the_first_episode_of_a_goal_have_their_steps(world: World) -> None:
    hands, runtime, reports = hands_of(world, Limits(10**9), sample_every=100)
    hands.pursue("explore", "", 250)
    assert reports.stretches == 3, "numbers 0, 100 and 200"
    hands.pursue("subgoal", "row 2, column 3", 10)
    assert reports.stretches == 4
    assert sum(reports.merged) + 4 == runtime.episodes == 260
    assert reports.goals == ["explore", "subgoal row 2, column 3"]


def test_a_pursuit_that_was_stopped_goes_on_in_a_run_that_is_resumed(world: World) -> None:
    whole, whole_runtime, _ = hands_of(world, Limits(10**9))
    for _ in range(3):
        whole.pursue("explore", "", 400)
    expected = whole_runtime.state_dict(), whole.state_dict()

    other = World.make("FrozenLake-v1", {"is_slippery": False})
    # In the first slice: how long later ones are is a matter of the machine's speed.
    stopped, runtime, _ = hands_of(other, Limits(10**9), stops_at=100)
    while not stopped.is_over:
        stopped.pursue("explore", "", 400)
    assert runtime.episodes % 400
    goes_on, goes_on_runtime, _ = hands_of(other, Limits(10**9))
    goes_on_runtime.load_state_dict(runtime.state_dict())
    goes_on.load_state_dict(stopped.state_dict())
    assert goes_on.beliefs() == stopped.beliefs()
    while goes_on_runtime.episodes < 1200:
        goes_on.pursue("explore", "", 400)
    assert goes_on_runtime.episodes == 1200
    assert (goes_on_runtime.q_table() == whole_runtime.q_table()).all()
    assert goes_on.state_dict() == expected[1]
    other.close()


def test_a_new_goal_interrupts(world: World) -> None:
    hands, runtime, _ = hands_of(world, Limits(10**12))
    calls = 0

    def attend() -> bool:
        nonlocal calls
        calls += 1
        if calls == 3:
            hands.interrupt()
        return False

    hands._attend = attend
    report = hands.pursue("explore", "", 1_000_000)
    assert report.was_interrupted and not report.is_over and runtime.steps > 0


def test_a_state_that_there_is_not_is_refused_with_a_sentence(world: World) -> None:
    hands, _, _ = hands_of(world, Limits(10**6))
    with pytest.raises(PursuitRefusedError, match="no state of FrozenLake-v1"):
        hands.pursue("subgoal", "row 9, column 9", 5)


@pytest.mark.parametrize(
    "text", ["6", "state 6", "row 2, column 3", "Row 2,  Column 3", "row 2 col 3"]
)
def test_states_have_names(world: World, text: str) -> None:
    assert Targets(world).state_of(text) == 6


def test_success_is_what_the_world_pays_for() -> None:
    cliff = World.make("CliffWalking-v1")
    returns, ended = np.array([-13.0, -500.0]), np.array([True, False])
    assert Success(cliff).of(returns, ended).tolist() == [True, False]
    lake = World.make("FrozenLake-v1")
    assert Success(lake).of(np.array([1.0, 0.0]), np.array([True, True])).tolist() == [True, False]
    pole = World.make("CartPole-v1", bins=2)
    assert Success(pole).of(np.array([500.0, 20.0]), ended).tolist() == [True, False]
    for world in (cliff, lake, pole):
        world.close()


def test_decisions_are_for_more_episodes_as_the_training_goes_on() -> None:
    sizes = [batch_after(number, False) for number in (0, 1000, 10_000, 10**9)]
    assert sizes == [50, 50, 500, 5000]
    assert [batch_after(number, True) for number in (0, 100, 10**9)] == [1, 5, 100]


def test_commands_get_names_by_their_place() -> None:
    told = with_names(
        {"command": "goal", "arguments": ["subgoal", "row 2, column 3"], "request": "x"}
    )
    assert told == {"command": "goal", "kind": "subgoal", "target": "row 2, column 3"}
    assert with_names({"command": "goal", "kind": "subgoal", "target": 6})["target"] == "state 6"
    assert with_names({"command": "tell", "arguments": ["x(1)", "coach"]})["to"] == "coach"


def test_every_command_is_answered() -> None:
    answers: list[tuple[Any, bool, str]] = []
    commands = Commands(
        lambda command: {"ok": True, "text": f"did {command['command']}"},
        lambda command, ok, text, **more: answers.append((command["command"], ok, text)),
    )
    for name in ("goal", "dance", None):
        commands.put({"command": name})
    commands.close()
    assert answers[0] == ("goal", True, "did goal")
    assert [ok for _, ok, _ in answers] == [True, False, False]
    assert "goal, tell, plan" in answers[1][2]
