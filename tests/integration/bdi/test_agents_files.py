"""What agents of real runs say of themselves, and what their tables are worth, as it is read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.analytics.agents.trace import AgentsTraceReader
from mosaic.analytics.agents.values import AgentsValuesReader, ValuesRead
from mosaic.contracts.agents import BeliefLine, GoalLine, MessageLine, StateLine, TraceLine
from mosaic.contracts.manifest import AgentsArtifact, read_manifest
from tests.daemon_harness import DaemonHarness
from tests.integration.bdi.worker_runs import (
    LAKE,
    checkpoint_of,
    daemon_with_worker,
    lines_of,
    mosaic,
    start,
    state_of,
    succeeded,
    wait_for_steps,
)
from tests.waiting import wait_until

ICE = {"env_kwargs": {"is_slippery": False}, "anneal_episodes": 2000}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonHarness]:
    with daemon_with_worker(tmp_path_factory.mktemp("agents")) as harness:
        yield harness


@pytest.fixture(scope="module")
def trained(daemon: DaemonHarness) -> str:
    run_id = start(daemon, {**LAKE, "total_timesteps": 8_000, "extras": ICE})
    succeeded(daemon, run_id)
    return run_id


def named_files(daemon: DaemonHarness, run_id: str) -> AgentsArtifact:
    manifest = read_manifest(daemon.home.run(run_id).directory / "analytics.json")
    assert manifest is not None
    return manifest.agents


class Onlooker:
    """What a window knows of the agents."""

    def __init__(self, daemon: DaemonHarness, run_id: str) -> None:
        folder, named = daemon.home.run(run_id).directory, named_files(daemon, run_id)
        self.lines: list[TraceLine] = []
        self.beliefs: dict[str, dict[tuple[str, str], None]] = {}
        self.roles: dict[str, str] = {}
        self.problems: list[str] = []
        self._trace = AgentsTraceReader(folder, named, may_leave=False)
        self._values = AgentsValuesReader(folder, named, may_leave=False)

    def look(self) -> None:
        has_more = True
        while has_more:
            read = self._trace.read()
            has_more = read.has_more
            self.problems += read.problems
            for line in read.lines:
                self._take(line)

    def values(self) -> ValuesRead:
        read = self._values.read()
        while read.has_more:
            read = self._values.read()
        self.problems += read.problems
        return read

    def remembered(self) -> dict[str, list[str]]:
        """As a checkpoint has it."""
        return {
            agent: sorted(
                text if source == "self" or text.endswith("]") else f"{text}[source({source})]"
                for text, source in beliefs
                if source != "percept"
            )
            for agent, beliefs in self.beliefs.items()
        }

    def _take(self, line: TraceLine) -> None:
        self.lines.append(line)
        if isinstance(line, StateLine):
            self.beliefs[line.agent] = dict.fromkeys(line.beliefs)
            self.roles[line.agent] = line.role
            assert line.left_out == 0
        elif isinstance(line, BeliefLine):
            believed = self.beliefs[line.agent]
            if line.is_added:
                believed[(line.text, line.source)] = None
            else:
                believed.pop((line.text, line.source), None)


def saved(daemon: DaemonHarness, run_id: str) -> dict[str, Any]:
    state, _ = state_of(checkpoint_of(daemon, run_id))
    return state


def assert_last_values_are_those_saved(read: ValuesRead, state: dict[str, Any]) -> None:
    table, visits = state["learning"]["main"]["values"], state["learning"]["main"]["visits"]
    last = read.snapshots[-1]
    assert last.step == int(state["learning"]["place"][_steps_place()])
    for row, values, visited in zip(last.values, table, visits.sum(axis=1), strict=True):
        assert (row is None) == (visited == 0)
        if row is not None:
            assert row == pytest.approx(list(values), rel=5e-4)


def _steps_place() -> int:
    from spade_bdi_rl_worker.learning import kernels

    return kernels.STEPS


def test_what_is_read_at_the_end_is_what_the_agents_believed(
    daemon: DaemonHarness, trained: str
) -> None:
    assert named_files(daemon, trained) == AgentsArtifact(
        "outputs/agents/agents.jsonl",
        "outputs/agents/agents.1.jsonl",
        "outputs/agents/values.jsonl",
    )
    seen = Onlooker(daemon, trained)
    seen.look()
    assert not seen.problems
    assert seen.roles == {"learner": "learner", "coach": "coach"}
    state = saved(daemon, trained)
    memory = state["memory"]
    assert memory["learner"] and memory["coach"]
    assert seen.remembered() == memory
    perceived = {text for text, source in seen.beliefs["learner"] if source == "percept"}
    assert any(text.startswith("episodes(") for text in perceived)
    goals = {line.text for line in seen.lines if isinstance(line, GoalLine)}
    assert {"live", "choose"} <= {goal.partition("[")[0] for goal in goals}


def test_values_over_the_map_end_with_what_the_checkpoint_holds(
    daemon: DaemonHarness, trained: str
) -> None:
    seen = Onlooker(daemon, trained)
    read = seen.values()
    assert not seen.problems and read.map is not None
    assert (read.map.rows, read.map.columns) == (4, 4)
    assert read.map.cells[0][0] == "start" and read.map.cells[3][3] == "goal"
    assert read.snapshots[0].step == 0 and len(read.snapshots) > 3
    assert_last_values_are_those_saved(read, saved(daemon, trained))


def test_a_goal_that_somebody_sets_by_a_name_on_the_map_is_in_the_trace(
    daemon: DaemonHarness,
) -> None:
    # With few decisions no line is left out.
    extras = {**ICE, "telemetry": "summary", "episodes_per_decision": 100_000}
    run_id = start(daemon, {**LAKE, "total_timesteps": 10**12, "extras": extras})
    wait_for_steps(daemon, run_id, 1000)
    seen = Onlooker(daemon, run_id)
    found = seen.values().map
    assert found is not None
    target = found.targets[6]
    assert target == "row 2, column 3"
    mosaic(daemon, "control", run_id, "goal", "subgoal", target)
    pursued = ('pursuing(subgoal("row 2, column 3"))', "percept")

    def arrived() -> bool:
        seen.look()
        return pursued in seen.beliefs["learner"]

    wait_until(arrived, 60.0, "the goal in the trace of the learner")
    asked = f'pursue_goal(subgoal, "{target}")'
    messages = [line for line in seen.lines if isinstance(line, MessageLine)]
    assert any(line.agent == "learner" and line.text == asked for line in messages)
    assert any(
        isinstance(line, GoalLine) and line.agent == "learner" and line.text.startswith(asked)
        for line in seen.lines
    )
    assert not seen.problems
    daemon.client.stop_run(run_id, grace_s=30)
    daemon.wait_over(run_id)


def test_a_coach_that_was_killed_is_known_to_begin_anew(daemon: DaemonHarness) -> None:
    extras = {**ICE, "telemetry": "summary"}
    run_id = start(daemon, {**LAKE, "total_timesteps": 10**12, "extras": extras})
    wait_for_steps(daemon, run_id, 1000)
    mosaic(daemon, "control", run_id, "tell", "rumour(1)", "to=coach")
    seen = Onlooker(daemon, run_id)

    def believed() -> set[str]:
        seen.look()
        return {belief for belief, _ in seen.beliefs["coach"]}

    wait_until(lambda: "rumour(1)" in believed(), 60.0, "what the coach was told")
    worker = lines_of(daemon, run_id, "run_started")[0]["payload"]["pid"]
    os.kill(child_named(worker, "agents.coach"), signal.SIGKILL)
    wait_until(lambda: "rumour(1)" not in believed(), 60.0, "a coach that knows nothing of it")
    wait_until(believed, 60.0, "what its plan says")
    daemon.client.stop_run(run_id, grace_s=30)
    daemon.wait_over(run_id)
    seen.look()
    assert not seen.problems
    assert seen.remembered() == saved(daemon, run_id)["memory"]


def child_named(pid: int, words: str) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    named = [pid for pid in children if words in Path(f"/proc/{pid}/cmdline").read_text()]
    assert len(named) == 1, named
    return int(named[0])


def test_a_resumed_run_begins_with_what_was_known(daemon: DaemonHarness, trained: str) -> None:
    config = {
        "total_timesteps": 12_000,
        "extras": {
            "mode": "resume_training",
            "checkpoint_path": str(checkpoint_of(daemon, trained)),
        },
    }
    run_id = start(daemon, config)
    succeeded(daemon, run_id)
    seen = Onlooker(daemon, run_id)
    seen.look()
    state = saved(daemon, run_id)
    assert seen.remembered() == state["memory"] and not seen.problems
    read, before = seen.values(), saved(daemon, trained)
    assert read.snapshots[0].step == int(before["learning"]["place"][_steps_place()])
    assert any(row for row in read.snapshots[0].values)
    assert_last_values_are_those_saved(read, state)


def test_a_run_that_is_tried_again_begins_a_new_set_of_states(daemon: DaemonHarness) -> None:
    extras = {**ICE, "telemetry": "summary", "checkpoint_interval": 0.2}
    config = {**LAKE, "total_timesteps": 400_000, "extras": extras}
    run_id = start(daemon, config, retry={"max_attempts": 2})
    wait_until(
        lambda: daemon.client.get_run(run_id).checkpoint_uri, 120.0, "a checkpoint of the run"
    )
    pid = lines_of(daemon, run_id, "run_started")[0]["payload"]["pid"]
    os.kill(pid, signal.SIGKILL)
    assert succeeded(daemon, run_id).attempt == 2
    seen = Onlooker(daemon, run_id)
    seen.look()
    states = [line for line in seen.lines if isinstance(line, StateLine)]
    # Further ones follow where lines were left out.
    begun = [line.agent for line in states if not line.beliefs and not line.goals]
    assert begun == 2 * ["learner", "coach"], "both attempts begin with nothing"
    state = saved(daemon, run_id)
    assert seen.remembered() == state["memory"]
    read = seen.values()
    steps = [snapshot.step for snapshot in read.snapshots]
    assert steps == sorted(set(steps)) and steps[0] == 0 and len(steps) > 10
    assert_last_values_are_those_saved(read, state)


def test_an_evaluation_tells_the_values_that_act_and_no_trace(
    daemon: DaemonHarness, trained: str
) -> None:
    extras = {
        "mode": "policy_eval",
        "policy_path": str(checkpoint_of(daemon, trained)),
        "eval_episodes": 3,
    }
    run_id = start(daemon, {"extras": extras})
    succeeded(daemon, run_id)
    assert named_files(daemon, run_id) == AgentsArtifact(values_path="outputs/agents/values.jsonl")
    read = Onlooker(daemon, run_id).values()
    assert len(read.snapshots) == 1 and read.map is not None
    assert_last_values_are_those_saved(read, saved(daemon, trained))


def test_an_environment_without_a_map_has_a_trace_and_no_values(daemon: DaemonHarness) -> None:
    extras = {"telemetry": "summary", "bins": 6}
    config = {"algo": "q_learning", "env_id": "CartPole-v1", "seed": 1, "extras": extras}
    run_id = start(daemon, {**config, "total_timesteps": 3000})
    succeeded(daemon, run_id)
    named = named_files(daemon, run_id)
    assert named.trace_path and not named.values_path
    seen = Onlooker(daemon, run_id)
    seen.look()
    assert seen.remembered() == saved(daemon, run_id)["memory"]
    assert seen.values() == ValuesRead()
