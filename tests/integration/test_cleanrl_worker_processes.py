"""The CleanRL worker as a process: killed and tried again, interrupted, and driven by hand."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mosaic.contracts import worker_environment as variables
from mosaic.testing.worker_process import WorkerProcess, clean_environment, poll
from tests.waiting import PATIENCE_S

TRAINING: dict[str, Any] = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 6400,
    "extras": {
        "algo_params": {
            "num_envs": 2,
            "num_steps": 32,
            "num_minibatches": 2,
            "update_epochs": 1,
            "checkpoint_interval": 640,
        }
    },
}


def weights(run_directory: Path) -> str:
    from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash

    (model,) = run_directory.glob("runs/*/ppo.cleanrl_model")
    return weight_hash(load_payload(model))


def test_killed_training_that_is_tried_again_ends_with_the_same_weights(tmp_path: Path) -> None:
    with WorkerProcess("cleanrl_worker", tmp_path / "whole", TRAINING) as whole:
        assert whole.wait(PATIENCE_S) == 0, whole.stderr
    with WorkerProcess("cleanrl_worker", tmp_path / "first", TRAINING) as first:
        first.wait_for("checkpoint_saved", PATIENCE_S, count=2)
        first.process.send_signal(signal.SIGSTOP)  # so that it cannot end before it is killed
        first.process.kill()
        assert first.wait(PATIENCE_S) == -signal.SIGKILL
    again = {
        variables.RUN_DIR: str(first.run_directory),
        variables.JOURNAL: str(first.journal),
        variables.ATTEMPT: "2",
    }
    second = WorkerProcess("cleanrl_worker", tmp_path / "second", TRAINING, environment=again)
    with second:
        assert second.wait(PATIENCE_S) == 0, second.stderr
    assert first.events("checkpoint_loaded")[0]["payload"]["step"] >= 1280
    assert weights(first.run_directory) == weights(whole.run_directory)


def test_description_and_catalogue_import_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "gymnasium", "tyro")
    code = (
        "import sys, cleanrl_worker, cleanrl_worker.catalogue as c, cleanrl_worker.config\n"
        "cleanrl_worker.get_worker_metadata(), c.algorithm_catalogue()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_config_needs_no_parser_of_flags(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TRAINING))
    code = (
        "import sys\n"
        "sys.modules['tyro'] = None\n"  # importing it would fail
        "from cleanrl_worker.cli import main\n"
        f"sys.exit(main(['--config', {str(path)!r}, '--dry-run']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_interrupted_algorithm_saves_a_checkpoint(tmp_path: Path) -> None:
    flags = ("--total-timesteps=1000000000", "--num-steps=32")  # none would be due for hours
    with subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.algorithms.ppo", *flags],
        cwd=tmp_path,
        env=clean_environment({}),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            told = next(line for line in process.stderr if line.startswith("step "))
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            assert process.wait(PATIENCE_S) == 0, told + rest
        finally:
            process.kill()
    assert "stopping" in rest and "checkpoint at step" in rest
    assert len(list(tmp_path.glob("runs/CartPole-v1__ppo__1__*/ppo.cleanrl_model"))) == 1


class Interactive:
    """The worker in interactive mode, alone, on pipes."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cleanrl_worker.cli", "--interactive", *arguments],
            cwd=folder,
            env=clean_environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def ask(self, line: bytes) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        return self.receive()

    def __enter__(self) -> Interactive:
        return self

    def __exit__(self, *details: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_person_plays_over_pipes(tmp_path: Path) -> None:
    with Interactive(tmp_path, "--env-id", "CartPole-v1") as worker:
        assert worker.receive()["type"] == "init"
        assert worker.ask(b"nonsense")["type"] == "error"
        ready = worker.ask(b'{"cmd": "reset", "seed": 1}')
        assert base64.b64decode(ready["frame"]["data"]).startswith(b"\x89PNG")
        assert len(json.dumps(ready)) < 20_000
        assert worker.ask(b'{"cmd": "step", "action": 1}')["action"] == 1
        assert worker.ask(b'{"cmd": "ping"}') == {"type": "pong"}
        assert worker.ask(b'{"cmd": "stop"}')["type"] == "stopped"
        assert worker.process.wait(PATIENCE_S) == 0
    assert list(tmp_path.iterdir()) == []


def test_closed_input_ends_the_session(tmp_path: Path) -> None:
    with Interactive(
        tmp_path, "--env-id", "CartPole-v1", "--extras", '{"frames": "none"}'
    ) as worker:
        worker.receive()
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        assert worker.receive()["type"] == "stopped"
        assert worker.process.wait(PATIENCE_S) == 0
        worker.process.stdin = None  # closed already


def test_environment_that_cannot_be_made_is_said_on_both_channels(tmp_path: Path) -> None:
    with Interactive(tmp_path, "--env-id", "CartPol-v1") as worker:
        message = worker.receive()
        assert message["type"] == "error" and "CartPol-v1" in message["message"]
        assert worker.process.wait(PATIENCE_S) == 2


def test_daemon_drives_an_interactive_run(tmp_path: Path) -> None:
    config = {"env_id": "CartPole-v1", "extras": {"mode": "interactive", "frames": "shm"}}
    with WorkerProcess("cleanrl_worker", tmp_path, config) as worker:

        def answers(count: int) -> list[dict[str, Any]]:
            lines = [json.loads(line) for line in worker.stdout.splitlines()]
            return lines if len(lines) >= count else []

        poll(lambda: answers(1), PATIENCE_S, "init")
        worker.send({"command": "reset", "seed": 4})
        worker.send({"command": "step", "action": 1})
        step = poll(lambda: answers(3), PATIENCE_S, "the step")[-1]
        assert step["type"] == "step"
        frame = Path("/dev/shm") / step["frame"]["name"]
        assert frame.stat().st_size == 400 * 600 * 3
        assert worker.wait_for("step", PATIENCE_S)["action"] == 1, "it is in the journal, too"
        worker.send({"command": "stop"})
        assert worker.wait(PATIENCE_S) == 0, worker.stderr
        assert answers(4)[-1]["type"] == "stopped"
    assert not frame.exists()
    assert worker.events()[-1]["type"] == "run_cancelled"
