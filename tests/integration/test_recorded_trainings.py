"""Runs of the CleanRL worker as processes: what their journals tell can be simulated again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mosaic.contracts import worker_environment as variables
from mosaic.telemetry.recordings.episodes import recorded_episodes
from mosaic.testing.worker_process import WorkerProcess
from tests.replayed_episodes import assert_replays_identically, recorded
from tests.waiting import PATIENCE_S

PARAMETERS = {"num_envs": 3, "num_steps": 32, "num_minibatches": 2, "update_epochs": 1}


def training(total_timesteps: int, **parameters: Any) -> dict[str, Any]:
    return {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "total_timesteps": total_timesteps,
        "extras": {"algo_params": {**PARAMETERS, **parameters}},
    }


def assert_journal_is_recorded(worker: WorkerProcess) -> list[int]:
    """Each episode of the journal, the later one where a number comes twice."""
    folder = worker.run_directory / "recordings"
    told = {event["episode_index"]: event for event in worker.events("episode")}
    assert recorded_episodes(folder) == sorted(told)
    for number, event in told.items():
        end = recorded(folder, number).end
        figures = (end.total_reward, end.length, end.terminated, end.truncated)
        assert figures == tuple(
            event[name] for name in ("total_reward", "steps", "terminated", "truncated")
        )
    return sorted(told)


def test_episodes_of_a_training_in_processes_and_of_its_evaluation(tmp_path: Path) -> None:
    config = training(1500, vectorization="processes")
    with WorkerProcess("cleanrl_worker", tmp_path / "train", config) as trained:
        assert trained.wait(PATIENCE_S) == 0, trained.stderr
    numbers = assert_journal_is_recorded(trained)
    for number in (numbers[0], numbers[-1]):
        assert_replays_identically(trained.run_directory / "recordings", number)
    (model,) = trained.run_directory.glob("runs/*/ppo.cleanrl_model")
    extras = {"mode": "policy_eval", "policy_path": str(model), "eval_batch_size": 5}
    with WorkerProcess("cleanrl_worker", tmp_path / "eval", {"extras": extras}) as evaluated:
        assert evaluated.wait(PATIENCE_S) == 0, evaluated.stderr
    for number in assert_journal_is_recorded(evaluated):
        assert_replays_identically(evaluated.run_directory / "recordings", number)


def test_episodes_across_a_kill(tmp_path: Path) -> None:
    config = training(6000, checkpoint_interval=600)
    with WorkerProcess("cleanrl_worker", tmp_path / "first", config) as first:
        first.wait_for("checkpoint_saved", PATIENCE_S, count=2)
        first.process.kill()
        assert first.wait(PATIENCE_S) == -signal.SIGKILL
    again = {
        variables.RUN_DIR: str(first.run_directory),
        variables.JOURNAL: str(first.journal),
        variables.ATTEMPT: "2",
    }
    with WorkerProcess("cleanrl_worker", tmp_path / "second", config, environment=again) as second:
        assert second.wait(PATIENCE_S) == 0, second.stderr
    assert_journal_is_recorded(first)
    folder = first.run_directory / "recordings"
    crossing = recorded_episodes(folder, attempt=2)[:3]
    assert any(recorded(folder, number).end.began_before for number in crossing)
    for number in (*crossing, 0):
        assert_replays_identically(folder, number)


def test_replaying_needs_no_torch() -> None:
    program = (
        "import sys; sys.modules['torch'] = None; from cleanrl_worker.replay import *;"
        "env = make_environment({'env_id': 'CartPole-v1', 'vectorization': 'loop'});"
        "env.begin(EpisodeStart({'seed': 1}, b'', [])); print(env.step(1).reward); env.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("1.0", 0), done.stderr
