"""The BDI worker from submission to checkpoint: resumed, evaluated, replayed and told things."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.manifest import read_manifest
from mosaic.errors import ConfigError
from tests.daemon_harness import DaemonHarness
from tests.integration.bdi.worker_runs import (
    LAKE,
    agents_lines,
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
SUMMARY = {**ICE, "telemetry": "summary"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonHarness]:
    with daemon_with_worker(tmp_path_factory.mktemp("worker")) as harness:
        yield harness


@pytest.fixture(scope="module")
def trained(daemon: DaemonHarness) -> str:
    run_id = start(daemon, {**LAKE, "total_timesteps": 8_000, "extras": ICE})
    succeeded(daemon, run_id)
    return run_id


def bytes_of(value: Any) -> Any:
    """Comparable to the last bit."""
    if hasattr(value, "tobytes"):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: bytes_of(item) for key, item in value.items()}
    return value


def test_every_step_tells_what_is_wanted_and_believed(daemon: DaemonHarness, trained: str) -> None:
    steps = lines_of(daemon, trained, "step")
    assert len(steps) >= 8_000
    told = [step["info"]["mind"] for step in steps]
    assert {"goal", "plan", "intention", "confidence", "q_values"} <= told[0].keys()
    assert told[0]["goal"] == "explore"
    assert "demand(0.7)" in told[0]["beliefs"]["added"]
    assert all(len(item["q_values"]) == 4 for item in told)
    assert max(len(json.dumps(item)) for item in told) < 5_000
    episodes = lines_of(daemon, trained, "episode")
    assert sum(episode["steps"] for episode in episodes) == len(steps)
    kinds = {line["kind"] for line in agents_lines(daemon, trained)}
    assert {"belief", "goal", "plan", "intention", "note"} <= kinds


def test_a_run_leaves_checkpoints_and_nothing_of_its_server(
    daemon: DaemonHarness, trained: str
) -> None:
    directory = daemon.home.run(trained).directory
    manifest = read_manifest(directory / "analytics.json")
    assert manifest is not None
    assert {entry.is_best for entry in manifest.checkpoints} == {True, False}
    assert all((directory / entry.path).is_file() for entry in manifest.checkpoints)
    assert not (directory / "xmpp").exists()
    record = daemon.client.get_run(trained)
    assert record.checkpoint_uri.endswith(".qtable")
    assert "best" not in record.checkpoint_uri


def test_an_episode_can_be_replayed_to_the_last_reward(daemon: DaemonHarness, trained: str) -> None:
    episodes = lines_of(daemon, trained, "episode")
    won = [item["episode_index"] for item in episodes if item["total_reward"] > 0]
    for number in (0, won[0], won[-1]):
        said = mosaic(daemon, "replay", trained, "--episode", str(number), "--verify")
        assert "equal" in said or "same" in said, said


def test_a_policy_is_evaluated_and_judged_exactly(daemon: DaemonHarness, trained: str) -> None:
    config = {
        "extras": {
            "mode": "policy_eval",
            "policy_path": str(checkpoint_of(daemon, trained)),
            "eval_episodes": 30,
            "eval_batch_size": 20,
        }
    }
    run_id = start(daemon, config)
    succeeded(daemon, run_id)
    directory = daemon.home.run(run_id).directory
    summary = json.loads((directory / "eval_summary.json").read_text())
    assert [batch["episodes"] for batch in summary["history"]] == [20, 10]
    assert 0.0 <= summary["latest"]["exact_value"] <= 1.0
    said = mosaic(daemon, "replay", run_id, "--episode", "25", "--verify")
    assert "equal" in said or "same" in said, said


def test_a_killed_run_goes_on_from_its_checkpoint_bit_for_bit(daemon: DaemonHarness) -> None:
    extras = {**SUMMARY, "checkpoint_interval": 0.2, "sample_every": 0, "episodes_per_decision": 50}
    config = {**LAKE, "total_timesteps": 300_000, "extras": extras}
    whole = start(daemon, config)
    succeeded(daemon, whole)
    killed = start(daemon, config, retry={"max_attempts": 2})
    wait_until(
        lambda: daemon.client.get_run(killed).checkpoint_uri, 120.0, "a checkpoint of the run"
    )
    pid = lines_of(daemon, killed, "run_started")[0]["payload"]["pid"]
    os.kill(pid, signal.SIGKILL)
    record = succeeded(daemon, killed)
    assert record.attempt == 2
    assert lines_of(daemon, killed, "checkpoint_loaded")
    states = [state_of(checkpoint_of(daemon, run_id))[0] for run_id in (whole, killed)]
    assert bytes_of(states[0]) == bytes_of(states[1])


def test_a_resumed_run_goes_on_where_the_other_ended(daemon: DaemonHarness, trained: str) -> None:
    config = {
        "total_timesteps": 12_000,
        "extras": {
            "mode": "resume_training",
            "checkpoint_path": str(checkpoint_of(daemon, trained)),
        },
    }
    resumed = start(daemon, config)
    record = succeeded(daemon, resumed)
    assert record.progress.steps >= 12_000
    whole = start(daemon, {**LAKE, "total_timesteps": 12_000, "extras": ICE})
    succeeded(daemon, whole)
    states = [state_of(checkpoint_of(daemon, run_id))[0] for run_id in (whole, resumed)]
    assert bytes_of(states[0]) == bytes_of(states[1])


def test_a_goal_that_somebody_sets_is_pursued_within_a_second(daemon: DaemonHarness) -> None:
    extras = {"telemetry": "summary", "sample_every": 1000}
    run_id = start(daemon, {**LAKE, "total_timesteps": 10**12, "extras": extras})
    wait_for_steps(daemon, run_id, 1000)
    for words, goal in (
        (("goal", "subgoal", "row 2, column 3"), "subgoal row 2, column 3"),
        (("goal", "kind=exploit"), "exploit"),
    ):
        sent = time.time()
        said = mosaic(daemon, "control", run_id, *words)
        assert said.strip(), "the worker's answer"

        def seen(goal: str = goal, sent: float = sent) -> float | None:
            steps = lines_of(daemon, run_id, "step")
            found = [
                step["timestamp"]
                for step in steps
                if step["info"]["mind"]["goal"] == goal and step["timestamp"] > sent
            ]
            return found[0] if found else None

        at = wait_until(seen, 30.0, f"a step for the goal {goal!r}")
        assert at is not None
        assert at - sent < 1.0 + 1.0  # a second for the agents, one for the command's own start
    assert "no command" in mosaic(daemon, "control", run_id, "dance", status=2)
    assert "no goal" in mosaic(daemon, "control", run_id, "goal", "kind=win", status=2)
    nowhere = ("goal", "subgoal", "row 99, column 1")
    assert "is no state" in mosaic(daemon, "control", run_id, *nowhere, status=2)
    plan = "+!choose <- .pursue(explore, none, 10"
    assert "line" in mosaic(daemon, "control", run_id, "plan", f"text={plan}", status=2)
    said = mosaic(daemon, "control", run_id, "tell", "demand(0.95)")
    assert said.strip()
    daemon.client.stop_run(run_id, grace_s=30)
    assert daemon.wait_over(run_id).outcome == "canceled"
    assert checkpoint_of(daemon, run_id).is_file()


def test_a_run_pauses_and_goes_on(daemon: DaemonHarness) -> None:
    extras = {"telemetry": "summary"}
    run_id = start(daemon, {**LAKE, "total_timesteps": 10**12, "extras": extras})
    wait_for_steps(daemon, run_id, 1000)
    daemon.client.pause_run(run_id)
    daemon.wait_for(run_id, "PAUSE")
    before = daemon.client.get_run(run_id).progress.steps
    time.sleep(0.5)
    assert daemon.client.get_run(run_id).progress.steps == before
    daemon.client.unpause_run(run_id)
    wait_until(
        lambda: daemon.client.get_run(run_id).progress.steps > before, 30.0, "steps after a pause"
    )
    daemon.client.stop_run(run_id, grace_s=30)
    daemon.wait_over(run_id)


@pytest.mark.parametrize(
    ("extras", "field"),
    [
        ({"plan": "/no/such/plan.asl"}, "extras.plan"),
        ({"server": "no host!"}, "extras.server"),
        ({"server": "127.0.0.1", "server_port": 1}, "XMPP_PASSWORD"),
        ({"env_kwargs": {"no_such": 1}}, "env_kwargs"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"agents": [{"name": "../x"}]}, "extras.agents.0.name"),
    ],
)
def test_bad_settings_are_refused_by_name(
    daemon: DaemonHarness, extras: dict[str, Any], field: str
) -> None:
    run_id = start(daemon, {**LAKE, "total_timesteps": 1000, "extras": extras})
    record = daemon.wait_over(run_id, timeout_s=120.0)
    assert record.outcome == "failed"
    said = json.dumps(lines_of(daemon, run_id, "run_failed"))
    assert field in said, said
    assert "Traceback" not in said


def test_a_password_in_a_config_is_refused(daemon: DaemonHarness) -> None:
    with pytest.raises(ConfigError, match="server_password"):
        start(
            daemon, {**LAKE, "total_timesteps": 9, "extras": {"server_password": "hunter2hunter"}}
        )


def test_a_plan_that_gives_up_ends_the_run(daemon: DaemonHarness, tmp_path: Path) -> None:
    plan = tmp_path / "brief.asl"
    plan.write_text(
        '!live.\n+!live <- .pursue(explore, none, 20, _); .finish("enough is known").\n'
    )
    config = {**LAKE, "total_timesteps": 10**9, "extras": {"plan": str(plan)}}
    run_id = start(daemon, config)
    record = succeeded(daemon, run_id)
    assert record.progress.episodes == 20
    notes = [beat["payload"].get("note", "") for beat in lines_of(daemon, run_id, "heartbeat")]
    assert any("enough is known" in note for note in notes)
