"""The figures of a run are the same wherever they are shown: one run of each kind of worker."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.fastlane.slot_writer import Metrics
from mosaic.front.human import count
from mosaic.gui.charts.model.picture import ChartOptions, PictureRequest, picture_of
from mosaic.gui.charts.model.runs import looks_of
from mosaic.gui.live.model.hud import hud_of
from mosaic.gui.runs.model.rows import return_text, row_of, speed_text
from mosaic.gui.state.live_watch import LiveFrames, Tile
from mosaic.gui.state.runs_state import RunColours, RunsState
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.waiting import PATIENCE_S

KINDS = ("baseline", "cleanrl", "script")
SCRIPT = """
import gymnasium as gym
training = gym.make("CartPole-v1")
training.action_space.seed(1)
training.reset(seed=1)
for _ in range(3000):
    _, _, terminated, truncated, _ = training.step(training.action_space.sample())
    if terminated or truncated:
        training.reset()
"""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def runs(daemon: DaemonHarness, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunRecord]:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "train.py").write_text(SCRIPT)
    ppo = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 4096, "seed": 1}
    watched = {"command": [sys.executable, "train.py"], "cwd": str(folder)}
    documents = {
        "baseline": run_document(
            run_name="baseline", config={"episodes": None, "total_timesteps": 4000}
        ),
        "cleanrl": run_document(run_name="cleanrl")
        | {"entry_point": "cleanrl", "metadata": {"worker": {"config": ppo}}},
        "script": run_document(run_name="script")
        | {"entry_point": "script", "metadata": {"worker": {"config": watched}}},
    }
    documents["cleanrl"]["resources"] = {"cpus": 1, "memory_mb": 4096}
    documents["script"]["resources"] = {"cpus": 1, "memory_mb": 4096}
    started = {kind: daemon.client.start_run(document) for kind, document in documents.items()}
    over = {kind: daemon.wait_over(run_id) for kind, run_id in started.items()}
    for kind, record in over.items():
        assert record.outcome == "succeeded", (kind, record.failure, record.stderr_tail)
    return over


def said(daemon: DaemonHarness, *words: str) -> str:
    command = [sys.executable, "-m", "mosaic.cli", *words]
    done = subprocess.run(
        command,
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_mean(values: list[float]) -> float:
    return math.fsum(values[-100:]) / len(values[-100:])


@pytest.mark.parametrize("kind", KINDS)
def test_all_say_the_same_of_a_run(
    daemon: DaemonHarness, runs: dict[str, RunRecord], tmp_path: Path, kind: str
) -> None:
    run_id = runs[kind].run_id
    shown = json.loads(said(daemon, "show", run_id, "--json"))
    progress: dict[str, Any] = shown["progress"]
    # What the episodes themselves say.
    episodes = [
        episode
        for episode in daemon.client.episodes(run_id, order="oldest")
        if episode.terminated or episode.truncated
    ]
    returns = [episode.total_reward for episode in episodes]
    assert progress["episodes"] == len(returns) > 100
    assert progress["mean_return"] == last_mean(returns)
    assert progress["last_return"] == returns[-1]
    assert progress["steps"] >= sum(episode.steps for episode in episodes) > 0
    assert progress["overall_steps_per_second"] > 0
    assert shown["env_id"] == "CartPole-v1"

    listed = {run["run_id"]: run for run in json.loads(said(daemon, "runs", "--all", "--json"))}
    assert listed[run_id]["progress"] == progress

    curve = {info.name: info for info in daemon.client.metrics(run_id)}["episodic_return"]
    assert (curve.points, curve.last_value) == (len(returns), returns[-1])
    assert curve.last_step <= progress["steps"]

    report = tmp_path / "report.html"
    compared = json.loads(said(daemon, "compare", run_id, "--json", "--out", str(report)))
    (row,) = compared["groups"][0]["runs"]
    assert (row["final"], row["points"]) == (progress["mean_return"], progress["episodes"])
    assert row["steps"] == progress["steps"]
    assert f"{progress['mean_return']:.4g}"[:4] in report.read_text()

    assert_window_agrees(daemon, run_id, progress)
    assert_exports_agree(daemon, run_id, progress, returns, tmp_path)


def assert_window_agrees(daemon: DaemonHarness, run_id: str, progress: dict[str, Any]) -> None:
    record = daemon.client.get_run(run_id)
    row = row_of(record)
    assert row.mean_return == return_text(progress["mean_return"])
    assert row.episodes == count(progress["episodes"])
    assert row.speed == speed_text(progress["overall_steps_per_second"])
    assert row.environment == "CartPole-v1"
    # Whatever the environments in the picture say of themselves.
    tile = Tile(0, None, Metrics(steps=7, episodes=1, rolling_return=-5.0))
    hud = hud_of(LiveFrames("live", "", (tile,)), progress=record.progress)
    words = [" ".join(part.split()) for part in hud.numbers.split("·")]
    assert f"step {progress['steps']:,}" in words
    assert f"episode {progress['episodes']:,}" in words
    assert f"mean(100) {progress['mean_return']:.1f}" in words
    known = RunsState()
    known.update([record])
    looks = looks_of([run_id], known, RunColours())
    (series,) = daemon.client.series(run_id, "episodic_return", buckets=500)
    request = PictureRequest("episodic_return", ChartOptions(), looks, {run_id: series})
    (curve,) = picture_of(request).curves
    assert curve.legend_value == progress["mean_return"]
    assert curve.value_name == "mean of the last 100 episodes"


def assert_exports_agree(
    daemon: DaemonHarness,
    run_id: str,
    progress: dict[str, Any],
    returns: list[float],
    folder: Path,
) -> None:
    import pyarrow.parquet

    told = {key: value for key, value in progress.items() if key != "fraction"}
    for name in ("csv", "parquet"):
        where = folder / name
        said(daemon, "export", run_id, "--to", name, "--out", str(where))
        about = json.loads((where / "export.json").read_text())
        assert about["progress"] == told
        if name == "csv":
            with (where / "metrics.csv").open(newline="") as file:
                rows = list(csv.DictReader(file))
        else:
            rows = pyarrow.parquet.read_table(where / "metrics.parquet").to_pylist()
        found = [float(row["value"]) for row in rows if row["name"] == "episodic_return"]
        assert found == returns
        assert sum(int(row["count"]) for row in rows if row["name"] == "episodic_return") == len(
            returns
        )
