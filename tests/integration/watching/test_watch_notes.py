"""What people are told about a watched script, with the real daemon."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mosaic.front.run_words import remarks_of
from tests.integration.watching.watch_harness import REPORTS, Watcher
from tests.waiting import PATIENCE_S


def test_a_script_for_older_gymnasium_that_logs_no_returns_is_told_once(mosaic: Watcher) -> None:
    pytest.importorskip("tensorboard")
    mosaic.script(
        "train.py",
        """
        import gymnasium as gym
        from torch.utils.tensorboard import SummaryWriter

        def make():
            return gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))

        writer = SummaryWriter("runs")
        envs = gym.vector.SyncVectorEnv([make] * 2)
        envs.reset(seed=1)
        envs.action_space.seed(1)
        for step in range(6000):
            *_, infos = envs.step(envs.action_space.sample())
            if step % 100 == 0:
                for name in "abcdefghij":
                    writer.add_scalar(f"losses/{name}", 1.0, step)
            for info in infos.get("final_info", []):
                if info and "episode" in info:
                    writer.add_scalar("charts/episodic_return", info["episode"]["r"], step)
        writer.close()
        """,
    )
    record = mosaic.record("--", sys.executable, "train.py")
    (note,) = mosaic.notes(record.run_id)
    assert "the script has logged no episodic return" in note
    assert "--compat" in note
    assert mosaic.log(record.run_id, "stderr").count(f"mosaic: {note}\n") == 1
    assert mosaic.manifest(record.run_id)["metadata"]["remarks"] == [note]

    record = mosaic.record("--compat", "--", sys.executable, "train.py")
    assert mosaic.notes(record.run_id) == []
    names = {point.name for point in mosaic.daemon.client.recent_metrics(record.run_id)}
    assert "charts/episodic_return" in names


def test_a_script_that_waits_for_ever_is_told_while_it_runs(mosaic: Watcher) -> None:
    mosaic.script(
        "evaluate.py",
        """
        import gymnasium as gym
        envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")])
        envs.reset(seed=1)
        returns = []
        while len(returns) < 3:
            *_, infos = envs.step(envs.action_space.sample())
            for info in infos.get("final_info", ()):
                returns.append(info["episode"]["r"])
        """,
    )
    command = [sys.executable, "-m", "mosaic.cli", "watch", "--", sys.executable, "evaluate.py"]
    follower = subprocess.Popen(
        command, cwd=mosaic.folder, env=mosaic.environment, stdout=subprocess.PIPE, text=True
    )
    assert follower.stdout is not None
    try:
        lines = iter(follower.stdout)
        run_id = next(line for line in lines if line.startswith("run ")).split()[1]
        told = next(line for line in lines if "note: " in line and "--compat" in line)
        assert "looks for them in `final_info`" in told
        record = mosaic.daemon.client.get_run(run_id)
        assert not record.is_over
        assert [remark for remark in remarks_of(record) if "--compat" in remark]
        assert "--compat" in mosaic.call(run_id, command="show").stdout
    finally:
        mosaic.call(run_id, "--grace", "1", command="stop")
        follower.communicate(timeout=PATIENCE_S)


def test_an_interpreter_told_to_ignore_us_is_noted(mosaic: Watcher) -> None:
    mosaic.script("train.py", "import sys; print('mosaic.injection' in sys.modules)")
    record = mosaic.record("--", sys.executable, "-uI", "train.py")
    assert mosaic.log(record.run_id, "stdout") == "False\n"
    (note,) = mosaic.notes(record.run_id)
    assert note == "python -I does not import our hooks: no episodes, metrics or frames"


def test_processes_that_cannot_be_watched_say_so_once(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        """
        import os, subprocess, sys
        hooks, *_ = os.environ["PYTHONPATH"].split(os.pathsep)  # and nothing of what they need
        for _ in range(3):
            subprocess.run(
                [sys.executable, "-S", "-c", "import sitecustomize; print('goes on')"],
                env={**os.environ, "PYTHONPATH": hooks}, check=True,
            )
        """,
    )
    record = mosaic.record("--", sys.executable, "train.py")
    assert mosaic.log(record.run_id, "stdout") == "goes on\n" * 3
    (note,) = mosaic.notes(record.run_id)
    assert note.startswith("this script is not watched, so no episodes, metrics or frames: ")
    assert "No module named 'mosaic'" in note


def test_a_script_with_a_module_of_our_name_gets_its_own(mosaic: Watcher) -> None:
    (mosaic.folder / "project" / "mosaic").mkdir(parents=True)
    mosaic.script("project/mosaic/__init__.py", "")
    mosaic.script("project/mosaic/tiles.py", "COLOUR = 'green'")
    mosaic.script("project/train.py", "from mosaic.tiles import COLOUR; print(COLOUR)")
    record = mosaic.record("--", sys.executable, "project/train.py")
    assert mosaic.log(record.run_id, "stdout") == "green\n"
    (note,) = mosaic.notes(record.run_id)
    assert note.startswith("the script has a module mosaic of its own")


def test_a_module_of_our_name_on_the_path_is_the_scripts_and_kills_nobody(
    mosaic: Watcher,
) -> None:
    (mosaic.folder / "lib" / "mosaic").mkdir(parents=True)
    mosaic.script("lib/mosaic/__init__.py", "COLOUR = 'blue'")
    mosaic.script("train.py", "from mosaic import COLOUR; print(COLOUR)")
    path = str(mosaic.folder / "lib")
    record = mosaic.record("--env", f"PYTHONPATH={path}", "--", sys.executable, "train.py")
    assert mosaic.log(record.run_id, "stdout") == "blue\n"
    (note,) = mosaic.notes(record.run_id)
    assert note.startswith(f"{path} on PYTHONPATH has a module mosaic, which is not ours")

    (mosaic.folder / "other").mkdir()
    mosaic.script("other/tiles.py", "COLOUR = 'red'")
    mosaic.script("train.py", "import os, tiles; print(tiles.COLOUR, os.environ['PYTHONPATH'])")
    path = str(mosaic.folder / "other")
    record = mosaic.record("--env", f"PYTHONPATH={path}", "--", sys.executable, "train.py")
    assert mosaic.notes(record.run_id) == []
    shown = mosaic.log(record.run_id, "stdout")
    assert shown.startswith("red ")
    assert shown.endswith(f":{path}\n")
    assert "trainer/sdk:" not in shown, "the worker's way to us is not the script's"


def test_metrics_that_are_not_finite_are_kept_as_they_are(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        REPORTS
        + """
for step, value in enumerate((float("nan"), float("inf"), float("-inf"), 1.0)):
    say("metric", name="loss", value=value, step=step)
say("episode", **{"return": float("nan")}, length=3)
""",
    )
    record = mosaic.record("--", sys.executable, "train.py")
    points = mosaic.daemon.client.recent_metrics(record.run_id)
    values = {point.step: str(point.value) for point in points if point.name == "loss"}
    assert values == {0: "nan", 1: "inf", 2: "-inf", 3: "1.0"}
    assert record.progress.episodes == 1
    shown = mosaic.call(record.run_id, "loss", command="metrics").stdout
    assert all(word in shown for word in ("nan", "inf", "-inf"))
