"""A worker without any daemon: its program, its files, its speed, its behaviour under signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import mosaic
from mosaic.testing.event_check import assert_valid_journal, parse_journal
from mosaic.testing.worker_process import WorkerProcess, clean_environment
from tests.waiting import PATIENCE_S

SOURCE = Path(mosaic.__file__).parent.parent


def run_alone(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "baseline_worker.cli", *arguments],
        cwd=folder,
        env=clean_environment(variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def settings(**values: Any) -> list[str]:
    pairs = {"env_id": "CartPole-v1", **values}
    return [part for key, value in pairs.items() for part in ("--set", f"{key}={value}")]


def events_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    events = parse_journal(done.stdout.encode())
    assert_valid_journal(events)
    return events


def test_sdk_needs_nothing_but_the_standard_library() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "import mosaic.worker, mosaic.worker.discovery\n"
        "outside = [name for name, module in sys.modules.items() if 'site-packages' in\n"
        "           str(getattr(module, '__file__', ''))]\n"
        "sys.exit(str(outside) if outside else 0)"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, timeout=PATIENCE_S)


def test_files_appear_only_in_the_given_run_directory(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    directory = tmp_path / "run"
    arguments = [*settings(episodes=1), "--run-dir", str(directory)]
    events = events_of(run_alone(folder, *arguments))
    assert list(folder.iterdir()) == []
    assert [path.name for path in directory.iterdir()] == ["analytics.json"]
    manifest = json.loads((directory / "analytics.json").read_text())
    assert manifest["run_id"] == events[0]["run_id"]
    assert manifest["status"] == "completed"


@pytest.mark.parametrize(
    ("env_id", "policy"), [("CartPole-v1", "random"), ("Pendulum-v1", "heuristic")]
)
def test_every_episode_can_be_simulated_again(tmp_path: Path, env_id: str, policy: str) -> None:
    done = run_alone(tmp_path, *settings(env_id=env_id, policy=policy, episodes=2, seed=5))
    steps = [event for event in events_of(done) if event["type"] == "step"]
    env = gymnasium.make(env_id)
    is_new_episode = True
    for step in steps:
        if is_new_episode:
            assert step["step_index"] == 0
            env.reset(seed=step["episode_seed"])
        action = np.array(step["action"], env.action_space.dtype)
        observation, reward, terminated, truncated, _ = env.step(
            action if action.shape else int(action)
        )
        assert np.array_equal(np.array(step["observation"], observation.dtype), observation)
        assert float(reward) == step["reward"]
        assert (terminated, truncated) == (step["terminated"], step["truncated"])
        is_new_episode = terminated or truncated
    env.close()


def test_step_budget_is_kept_exactly(tmp_path: Path) -> None:
    done = run_alone(tmp_path, *settings(total_timesteps=10**9), MOSAIC_MAX_STEPS="123")
    events = events_of(done)
    assert sum(event["type"] == "step" for event in events) == 123
    assert events[-1]["payload"]["stop_reason"] == "max_steps"


def test_timesteps_end_a_run_in_the_middle_of_an_episode(tmp_path: Path) -> None:
    events = events_of(run_alone(tmp_path, *settings(total_timesteps=100)))
    assert sum(event["type"] == "step" for event in events) == 100
    assert events[-1]["type"] == "run_completed"
    assert events[-1]["payload"]["stop_reason"] == ""


def test_slow_motion_is_slow(tmp_path: Path) -> None:
    events = events_of(run_alone(tmp_path, *settings(total_timesteps=20, max_steps_per_second=50)))
    times = [event["timestamp"] for event in events if event["type"] == "step"]
    assert times[-1] - times[0] > 0.3


def test_slow_motion_still_stops_at_once(tmp_path: Path) -> None:
    config = {"env_id": "CartPole-v1", "episodes": 5, "max_steps_per_second": 0.01}
    with WorkerProcess("baseline_worker", tmp_path, config) as worker:
        worker.wait_for("step", timeout_s=PATIENCE_S)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.wait(timeout_s=PATIENCE_S) == 0


def test_killed_attempt_is_followed_by_one_that_continues_the_journal(tmp_path: Path) -> None:
    config = {"env_id": "CartPole-v1", "total_timesteps": 10**9}
    with WorkerProcess("baseline_worker", tmp_path, config) as worker:
        worker.wait_for("episode", timeout_s=PATIENCE_S, count=20)
        worker.process.kill()
        assert worker.wait(timeout_s=PATIENCE_S) == -signal.SIGKILL
    done = run_alone(
        tmp_path,
        *settings(episodes=1),
        MOSAIC_JOURNAL=str(worker.journal),
        MOSAIC_ATTEMPT="2",
    )
    assert done.returncode == 0, done.stderr
    whole = []
    for line in worker.journal.read_bytes().splitlines():
        try:
            whole.append(json.loads(line))
        except ValueError:
            continue  # the line that the kill tore
    assert [event["seq"] for event in whole] == list(range(len(whole)))
    registered = [event for event in whole if event["type"] == "worker_registered"]
    assert [event["attempt"] for event in registered] == [1, 2]
    assert whole[-1]["type"] == "run_completed"


@pytest.mark.parametrize(
    ("values", "named", "hint"),
    [
        ({"env_id": "CartPol-v1", "episodes": 1}, "'env_id'", "CartPole-v1"),
        ({"env_id": "CartPole", "episodes": 1}, "'env_id'", "CartPole-v1"),
        ({"env_id": "no_such_module:X-v0", "episodes": 1}, "'env_id'", ""),
        ({}, "'episodes' or 'total_timesteps' is required", "episodes=10"),
        ({"episodes": 0}, "'episodes': 0 is less than the minimum of 1", ""),
        ({"episodes": 1, "env_kwargs.nonsense": 1}, "'env_kwargs' do not fit", ""),
        ({"episodes": 1, "env_kwargs.render_mode": "human"}, "render_mode", ""),
        (
            {"env_id": "CarRacing-v3", "policy": "heuristic", "episodes": 1},
            "there is no heuristic for CarRacing-v3",
            "CartPole, CliffWalking",
        ),
    ],
)
def test_impossible_config_is_refused_with_a_way_out(
    tmp_path: Path, values: dict[str, Any], named: str, hint: str
) -> None:
    done = run_alone(tmp_path, *settings(**values))
    assert done.returncode == 2
    assert named in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_child_processes_of_a_worker_cannot_swallow_its_commands(tmp_path: Path) -> None:
    (tmp_path / "greedy_worker").mkdir()
    (tmp_path / "greedy_worker" / "__init__.py").touch()
    (tmp_path / "greedy_worker" / "cli.py").write_text("""
import subprocess, sys, time
from dataclasses import dataclass
from mosaic.worker import WorkerCapabilities, worker_main
@dataclass
class Config:
    pass
def train(run):
    assert subprocess.run(["cat"], capture_output=True, check=True).stdout == b""
    run.metric("ready", 1, 0)
    while not run.should_stop():
        time.sleep(0.01)
sys.exit(worker_main(lambda: WorkerCapabilities("greedy"), Config, train))
""")
    folder = tmp_path / "run"
    told = {"PYTHONPATH": str(tmp_path)}
    with WorkerProcess("greedy_worker", folder, {}, environment=told) as worker:
        worker.wait_for("metric", timeout_s=PATIENCE_S)
        worker.send({"command": "stop", "reason": "time_limit"})
        assert worker.wait(timeout_s=PATIENCE_S) == 0
        last = worker.events()[-1]
    assert (last["type"], last["payload"]["stop_reason"]) == ("run_completed", "time_limit")


def test_a_secret_in_a_traceback_does_not_reach_the_journal(tmp_path: Path) -> None:
    """A crash that quotes the key is told without the key."""
    program = tmp_path / "leaky.py"
    program.write_text(
        "import dataclasses, os, sys\n"
        "from mosaic.contracts.capabilities import WorkerCapabilities\n"
        "from mosaic.worker import worker_main\n"
        "@dataclasses.dataclass(frozen=True)\n"
        "class Config:\n"
        "    pass\n"
        "def train(run):\n"
        "    raise RuntimeError('cannot log in with ' + os.environ['SOME_API_KEY'])\n"
        "sys.exit(worker_main(lambda: WorkerCapabilities('leaky'), Config, train))\n"
    )
    journal = tmp_path / "events.jsonl"
    environment = {**os.environ, "SOME_API_KEY": "canary-77aa", "MOSAIC_JOURNAL": str(journal)}
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"canary-77aa" not in journal.read_bytes()
    assert b"cannot log in with ***" in journal.read_bytes()
