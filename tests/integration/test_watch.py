"""`mosaic watch` with the real daemon: scripts that know nothing of MOSAIC, as runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.run_record import RunRecord
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.waiting import wait_until

REPORTS = """
import json, os
bridge = os.open(os.environ["MOSAIC_BRIDGE"], os.O_WRONLY)
def say(kind, **fields):
    os.write(bridge, json.dumps({"kind": kind, **fields}).encode() + b"\\n")
"""


class Watcher:
    """`mosaic watch` in a folder with scripts, against one daemon."""

    def __init__(self, daemon: DaemonHarness, folder: Path) -> None:
        self.daemon = daemon
        self.folder = folder
        self.environment = {**daemon.environment, "PYTHONWARNINGS": "error"}

    def script(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        path.chmod(mode)
        return path

    def call(
        self, *words: str, status: int = 0, command: str = "watch"
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "mosaic.cli", command, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def record(self, *words: str, status: int = 0) -> RunRecord:
        """The run, followed to its end."""
        answer = json.loads(self.call("--json", *words, status=status).stdout)
        return self.daemon.client.get_run(answer["run_id"])

    def detached(self, *words: str) -> str:
        return self.call("--detach", *words).stdout.strip()

    def log(self, run_id: str, stream: str) -> str:
        files = sorted(self.daemon.home.run(run_id).logs.glob(f"*{stream}*"))
        return "".join(path.read_text() for path in files)

    def manifest(self, run_id: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.daemon.home.run(run_id).manifest.read_text())
        return content

    def events(self, run_id: str, kind: str) -> list[dict[str, Any]]:
        lines = self.daemon.home.run(run_id).journal.read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["type"] == kind]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon(MOSAIC_HEARTBEAT_S="0.2") as harness:
        yield harness


@pytest.fixture
def mosaic(daemon: DaemonHarness, tmp_path: Path) -> Watcher:
    return Watcher(daemon, tmp_path)


def test_a_plain_script_keeps_its_output_and_its_exit_code(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        """
        import os, sys
        print("in", os.getcwd(), "with", sys.argv[1:])
        sys.stderr.write("something is odd\\nit cannot go on\\n")
        sys.exit(3)
        """,
    )
    record = mosaic.record("--", sys.executable, "train.py", "--lr", "1e-3", "--json", status=1)
    assert (record.run_name, record.worker, record.exit_code) == ("train", "script", 3)
    assert record.failure is not None
    assert "train.py --lr 1e-3 --json ended with exit code 3: " in record.failure.message
    assert record.failure.message.endswith("something is odd | it cannot go on")
    assert record.stderr_tail[-2:] == ("something is odd", "it cannot go on")
    printed = f"in {mosaic.folder} with ['--lr', '1e-3', '--json']\n"
    assert mosaic.log(record.run_id, "stdout") == printed


def test_python_is_the_one_on_the_users_path(mosaic: Watcher) -> None:
    (mosaic.folder / "bin").mkdir()
    chosen = mosaic.script("bin/python", '#!/bin/sh\necho chosen "$@"\n', 0o700)
    mosaic.script("train.py", "")
    path = f"{chosen.parent}:{mosaic.environment['PATH']}"
    mosaic.environment["PATH"] = path
    record = mosaic.record("python", "train.py", "--seed", "1")
    assert mosaic.log(record.run_id, "stdout") == "chosen train.py --seed 1\n"


def test_a_shell_script_runs_with_the_words_of_its_command(mosaic: Watcher) -> None:
    mosaic.script("run.sh", 'for word in "$@"; do echo "<$word>"; done\n')
    record = mosaic.record("--name", "a shell", "--", "bash", "run.sh", "a b", "*", "$HOME")
    assert record.run_name == "a-shell"
    assert mosaic.log(record.run_id, "stdout") == "<a b>\n<*>\n<$HOME>\n"


def test_what_is_said_over_the_bridge_appears_in_the_run(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        REPORTS
        + """
from pathlib import Path
import time
os.write(bridge, b"garbage\\n{}\\n" + b"x" * 100_000 + b"\\n")
say("progress", steps=500)
say("metric", name="rollout/ep_rew_mean", value=1.5, step=400)
say("metric", name="train/loss", value=0.25, step=None)
for number in range(5):
    say("episode", **{"return": number * 10.0}, length=100, env=0, pid=1)
say("episodes", count=10, mean_return=60.0, mean_length=50.0, last_return=70.0)
say("note", text="a word to people")
Path("runs/one").mkdir(parents=True)
Path("runs/one/events.out.tfevents.1.host").write_text("x")
Path("model_900_steps.pt").write_text("weights")
Path("clip.mp4").write_text("frames")
Path("train.log").write_text("no artifact")
""",
    )
    record = mosaic.record("--", sys.executable, "train.py")
    client, run_id = mosaic.daemon.client, record.run_id
    names = {point.name: (point.value, point.step) for point in client.recent_metrics(run_id)}
    assert names["rollout/ep_rew_mean"] == (1.5, 400)
    assert names["train/loss"] == (0.25, 500)  # the step it did not say
    assert (record.progress.steps, record.progress.episodes) == (500, 15)
    assert record.progress.mean_return == pytest.approx((0 + 10 + 20 + 30 + 40 + 60) / 6)
    notes = [event["payload"].get("note") for event in mosaic.events(run_id, "heartbeat")]
    assert "a word to people" in notes
    assert "3 lines on the bridge were no messages and were left out" in notes
    manifest = mosaic.manifest(run_id)
    assert manifest["tensorboard"] == {
        "enabled": True,
        "relative_path": str(mosaic.folder / "runs/one"),
    }
    assert manifest["checkpoints"][0]["path"] == str(mosaic.folder / "model_900_steps.pt")
    assert manifest["checkpoints"][0]["step"] == 900
    assert manifest["videos"] == [str(mosaic.folder / "clip.mp4")]
    assert manifest["metadata"]["headlines"]["episodic_return"] == "rollout/ep_rew_mean"


def test_detached_it_shows_up_while_it_runs_and_pauses_with_all_its_processes(
    mosaic: Watcher,
) -> None:
    mosaic.script(
        "train.py",
        REPORTS
        + """
import time
print("started", flush=True)
for step in range(1, 10**9):
    say("metric", name="charts/SPS", value=1.0, step=step)
    time.sleep(0.005)
""",
    )
    daemon = mosaic.daemon
    # Behind a shell, so that the process that has to stand still is not the one we started.
    run_id = mosaic.detached("--", "bash", "-c", f"{sys.executable} train.py; true")
    wait_until(lambda: daemon.client.get_run(run_id).progress.steps > 10, 20, "steps")
    daemon.client.pause_run(run_id)
    daemon.wait_for(run_id, "PAUSE")
    journal = daemon.home.run(run_id).journal
    paused = mosaic.events(run_id, "metric")
    beats = len(mosaic.events(run_id, "heartbeat"))
    wait_until(lambda: len(mosaic.events(run_id, "heartbeat")) >= beats + 3, 10, "heartbeats")
    assert mosaic.events(run_id, "metric") == paused, journal
    daemon.client.unpause_run(run_id)
    wait_until(lambda: len(mosaic.events(run_id, "metric")) > len(paused), 10, "more metrics")
    daemon.client.stop_run(run_id)
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.exit_code) == ("canceled", 0)


def test_a_stop_is_a_ctrl_c_on_which_a_script_can_save(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        """
        import time
        try:
            print("started", flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            open("saved.pt", "w").write("weights")
        """,
    )
    daemon = mosaic.daemon
    run_id = mosaic.detached("--", sys.executable, "train.py")
    wait_until(lambda: "started" in mosaic.log(run_id, "stdout"), 20, "the script")
    daemon.client.stop_run(run_id)
    assert daemon.wait_over(run_id).outcome == "canceled"
    assert [entry["path"] for entry in mosaic.manifest(run_id)["checkpoints"]] == [
        str(mosaic.folder / "saved.pt")
    ]


def test_a_script_that_ignores_signals_is_killed_within_the_grace(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        """
        import signal, time
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: print("got", number, flush=True))
        print("started", flush=True)
        while True:
            time.sleep(600)
        """,
    )
    daemon = mosaic.daemon
    run_id = mosaic.detached("--", sys.executable, "train.py")
    wait_until(lambda: "started" in mosaic.log(run_id, "stdout"), 20, "the script")
    daemon.client.stop_run(run_id, grace_s=3)
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.exit_code) == ("canceled", 0)  # we ended it, in time
    assert mosaic.log(run_id, "stdout") == "started\ngot 2\ngot 15\n"
    notes = [event["payload"].get("note") for event in mosaic.events(run_id, "heartbeat")]
    assert "the script was killed by SIGKILL after it was told to stop" in notes


def test_a_script_killed_by_a_signal_is_a_run_killed_by_it(mosaic: Watcher) -> None:
    record = mosaic.record("--", "bash", "-c", "kill -SEGV $$", status=1)
    assert (record.exit_code, record.signal) == (None, 11)
    assert record.failure is not None
    assert "was killed by SIGSEGV" in record.failure.message


def test_a_time_limit_is_a_plan_not_a_failure(mosaic: Watcher) -> None:
    record = mosaic.record("--max-duration", "1", "--", "sleep", "600")
    assert (record.outcome, record.stop_reason) == ("succeeded", "max_duration")


def test_a_killed_worker_takes_its_script_and_its_pipe_along(mosaic: Watcher) -> None:
    daemon = mosaic.daemon
    run_id = mosaic.detached("--", "bash", "-c", "echo $$; exec sleep 600")
    script = int(wait_until(lambda: mosaic.log(run_id, "stdout"), 20, "the script"))
    pipes = list(Path("/dev/shm").glob(f"mosaic.{run_id}.bridge-*"))
    assert len(pipes) == 1
    (registered,) = mosaic.events(run_id, "worker_registered")
    os.kill(registered["pid"], signal.SIGKILL)
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.signal) == ("failed", signal.SIGKILL)
    assert not Path(f"/proc/{script}").exists()
    assert not pipes[0].exists()


def test_an_unmodified_gymnasium_loop_has_episodes_and_scalars(mosaic: Watcher) -> None:
    pytest.importorskip("tensorboard")
    mosaic.script(
        "train.py",
        """
        import gymnasium as gym
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter("logs")
        env = gym.make("CartPole-v1")
        env.reset(seed=1)
        for step in range(300):
            *_, terminated, truncated, _ = env.step(step % 2)
            if terminated or truncated:
                writer.add_scalar("charts/epsilon", 0.5, step)
                env.reset()
        writer.close()
        """,
    )
    record = mosaic.record("--", sys.executable, "train.py")
    assert record.progress.episodes >= 5
    assert record.progress.last_return is not None
    names = [point.name for point in mosaic.daemon.client.recent_metrics(record.run_id)]
    assert "charts/epsilon" in names
    assert mosaic.manifest(record.run_id)["tensorboard"]["relative_path"] == str(
        mosaic.folder / "logs"
    )


def test_what_cannot_run_is_refused_before_there_is_a_run(mosaic: Watcher) -> None:
    mosaic.script("train.py", "")
    before = len(mosaic.daemon.client.list_runs(limit=0))
    error = mosaic.call("--", "no-such-program-7", status=2).stderr
    assert "there is no program 'no-such-program-7'" in error
    error = mosaic.call("--", "python3", "trian.py", status=2).stderr
    assert "did you mean train.py?" in error
    error = mosaic.call("--cwd", "nowhere", "--", "true", status=2).stderr
    assert "'cwd'" in error
    assert "COMMAND is missing" in mosaic.call("--name", "x", status=2).stderr
    assert len(mosaic.daemon.client.list_runs(limit=0)) == before


def test_a_program_that_is_gone_when_the_run_starts_fails_by_name(mosaic: Watcher) -> None:
    document = {
        "run_name": "late",
        "entry_point": "script",
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 1, "memory_mb": 512},
        "artifacts": {},
        "metadata": {"worker": {"config": {"command": ["./gone"], "cwd": str(mosaic.folder)}}},
    }
    run_id = mosaic.daemon.client.start_run(document)
    record = mosaic.daemon.wait_over(run_id)
    assert record.exit_code == 2
    assert record.failure is not None
    assert f"'command': the program {mosaic.folder}/gone does not exist" in record.failure.message


def test_a_dry_run_shows_the_command_and_starts_nothing(mosaic: Watcher) -> None:
    before = len(mosaic.daemon.client.list_runs(limit=0))
    done = mosaic.call("--dry-run", "--", "bash", "-c", "echo hi")
    assert "-c 'echo hi'" in done.stderr
    assert "mosaic.watch.cli" in done.stdout
    assert len(mosaic.daemon.client.list_runs(limit=0)) == before


def test_a_config_file_that_starts_a_script_needs_consent(mosaic: Watcher) -> None:
    document = {
        "run_name": "from a file",
        "entry_point": "script",
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 1, "memory_mb": 512},
        "artifacts": {},
        "metadata": {"worker": {"config": {"command": ["echo", "a b"], "cwd": "/"}}},
    }
    (mosaic.folder / "run.json").write_text(json.dumps(document))
    error = mosaic.call("run.json", status=5, command="submit").stderr
    assert "command: echo 'a b'" in error
    assert "--yes" in error
    run_id = mosaic.call("run.json", "--yes", command="submit").stdout.strip()
    assert mosaic.daemon.wait_over(run_id).outcome == "succeeded"
    assert mosaic.log(run_id, "stdout") == "a b\n"


@pytest.fixture(scope="module")
def foreign_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter of a virtual environment in which nothing is installed."""
    folder = tmp_path_factory.mktemp("foreign") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    return str(folder / "bin" / "python")


def test_another_interpreter_sees_our_hooks_and_none_of_our_libraries(
    mosaic: Watcher, foreign_python: str
) -> None:
    mosaic.script(
        "train.py",
        """
        import importlib.util, json, os, subprocess, sys
        import mosaic.contracts
        print(json.dumps({
            "prefix": sys.prefix,
            "leaked": [name for name in ("grpc", "numpy", "pytest", "torch")
                       if importlib.util.find_spec(name)],
            "python": subprocess.check_output(["python", "-c", "import sys; print(sys.prefix)"],
                                              text=True).strip(),
            "secrets": sorted({"MOSAIC_JOURNAL", "MOSAIC_CONTROL", "MOSAIC_TOKEN_FILE",
                               "MOSAIC_TRAINER_ADDRESS"} & set(os.environ)),
            "threads": os.environ.get("OMP_NUM_THREADS"),
            "compatibility": os.environ.get("MOSAIC_COMPATIBILITY"),
            "video": os.environ.get("CLEANRL_FASTLANE_VIDEO_MODE"),
            "has_segment": "MOSAIC_FASTLANE_SEGMENT" in os.environ,
        }))
        """,
    )
    options = ("--env-python", foreign_python, "--compat", "--video", "single")
    record = mosaic.record(*options, "--", "python", "train.py")
    prefix = str(Path(foreign_python).parent.parent)
    assert json.loads(mosaic.log(record.run_id, "stdout")) == {
        "prefix": prefix,
        "leaked": [],
        "python": prefix,
        "secrets": [],
        "threads": mosaic.daemon.environment.get("OMP_NUM_THREADS"),
        "compatibility": "1",
        "video": "single",
        "has_segment": True,
    }
    assert not (mosaic.daemon.home.run(record.run_id).directory / "sdk").exists()
