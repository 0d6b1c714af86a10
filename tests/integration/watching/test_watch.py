"""`mosaic watch` with the real daemon: scripts that know nothing of MOSAIC, as runs."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path

import pytest

from tests.integration.watching.watch_harness import REPORTS, Watcher


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
    assert record.progress.mean_return == (0 + 10 + 20 + 30 + 40 + 10 * 60) / 15
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
