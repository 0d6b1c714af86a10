"""Exports of real runs, from Python and from the command line."""

from __future__ import annotations

import csv
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pyarrow.parquet
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.client.export_rows import StoredRows, replayed_episodes, simulated_steps
from mosaic.client.exporting import ExportOptions
from mosaic.errors import DiskSpaceError, RequestError, UnknownRunError
from mosaic.export.minari_dataset import export_minari
from mosaic.export.run_rows import Exported, PlayedEpisode
from mosaic.export.table_formats import CsvFormat, ParquetFormat
from mosaic.export.tables import export_tables
from mosaic.export.tensorboard import export_tensorboard
from tests.chaos.small_disk import mounted_tmpfs
from tests.daemon_harness import DaemonHarness
from tests.unit.export.run_rows_samples import SampleRows, record
from tests.waiting import PATIENCE_S, wait_until


def export_command(
    daemon: DaemonHarness, folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "export", *words],
        env=daemon.environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {
        tag: [(event.step, event.value) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


async def test_tensorboard_from_both_clients(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit(config={"episodes": 4})
    daemon.wait_over(run_id)
    folder = daemon.client.export_to_tensorboard(run_id, tmp_path / "one")
    found = scalars(folder)
    episodes = list(daemon.client.episodes(run_id))
    assert found["episode/return"] == [
        (episode.episode_index, episode.total_reward) for episode in episodes
    ]
    for info in daemon.client.metrics(run_id):
        assert len(found[info.name]) == info.points
    async with AsyncTrainerClient(daemon.home, autostart=False) as client:
        assert scalars(await client.export_to_tensorboard(run_id, tmp_path / "two")) == found
        with pytest.raises(RequestError, match="exists already"):
            await client.export_to_tensorboard(run_id, tmp_path / "two")
    with pytest.raises(UnknownRunError):
        daemon.client.export_to_tensorboard("01JQ0000000000000000000000", tmp_path / "three")
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


def test_tables_and_datasets_from_the_command_line(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit(run_name="my run", config={"episodes": 5})
    daemon.wait_over(run_id)
    done = export_command(daemon, tmp_path, run_id, "--to", "csv", "--steps")
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "my_run-csv" / "steps.csv").open(newline="") as file:
        steps = list(csv.DictReader(file))
    assert len(steps) == daemon.client.get_run(run_id).progress.steps
    done = export_command(
        daemon, tmp_path, run_id, "--to", "parquet", "--steps", "--wide", "--json"
    )
    (said,) = json.loads(done.stdout)
    assert said["rows"] == {"metrics": 5, "episodes": 5, "steps": len(steps)}
    table = pyarrow.parquet.read_table(Path(said["folder"]) / "steps.parquet")
    assert table.column("observation").to_pylist() == [step["observation"] for step in steps]
    again = export_command(daemon, tmp_path, run_id, "--to", "csv")
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert export_command(daemon, tmp_path, run_id, "--to", "csv", "--force").returncode == 0
    assert not (tmp_path / "my_run-csv" / "steps.csv").exists()


def test_a_dataset_has_what_the_run_has_seen_and_leaves_out_what_does_not_match(
    daemon: DaemonHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = daemon.submit(config={"episodes": 3})
    daemon.wait_over(run_id)
    with sqlite3.connect(daemon.home.run(run_id).telemetry) as store:
        store.execute("UPDATE steps SET reward = 5 WHERE episode_index = 1 AND step_index = 2")
    store.close()
    done = daemon.client.export_run(run_id, "minari", tmp_path / "out")
    (left_out,) = done.left_out
    assert left_out.startswith("episode 1: played again, it differs at step 3: recorded 5.0")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(done.folder))
    dataset = minari.load_dataset("CartPole-v1/test-v0")
    recover = dataset.recover_environment()
    recover.close()
    assert recover.spec is not None and recover.spec.id == "CartPole-v1"
    for index, episode in zip((0, 2), dataset.iterate_episodes(), strict=True):
        steps = list(daemon.client.steps(run_id, index))
        assert episode.actions.tolist() == [step.action for step in steps]
        assert episode.rewards.tolist() == [step.reward for step in steps]
        seen = np.array([step.observation for step in steps], np.float32)
        np.testing.assert_array_equal(episode.observations[1:], seen)
        assert episode.terminations.tolist() == [step.terminated for step in steps]


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def test_steps_of_which_only_the_actions_were_recorded_are_played_again(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    settings = {
        **{"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 512, "seed": 1},
        "extras": {"algo_params": {"num_steps": 32}},
    }
    run_id = daemon.submit(
        run_name="trained",
        entry_point="cleanrl",
        resources={"cpus": 1},
        metadata={"worker": {"config": settings}},
    )
    assert daemon.wait_over(run_id).outcome == "succeeded"
    assert list(daemon.client.steps(run_id)) == []
    words = ("--to", "csv", "--steps", "--episodes", "0..3")
    done = export_command(daemon, tmp_path, run_id, *words)
    assert (done.returncode, done.stderr) == (0, "")
    steps = rows_of(tmp_path / "trained-csv" / "steps.csv")
    episodes = list(daemon.client.episodes(run_id))[:4]
    for episode in episodes:
        own = [step for step in steps if step["episode_index"] == str(episode.episode_index)]
        assert [step["step_index"] for step in own] == [str(n) for n in range(episode.steps)]
        assert sum(float(step["reward"]) for step in own) == episode.total_reward
        assert [step["terminated"] for step in own].count("True") == episode.terminated
        assert {len(json.loads(step["observation"])) for step in own} == {4}
    assert len(steps) == sum(episode.steps for episode in episodes)


def test_a_step_that_is_played_again_is_the_row_that_was_stored(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"env_id": "Pendulum-v1", "episodes": 1})
    daemon.wait_over(run_id)
    rows = StoredRows(daemon.client._call, daemon.client.get_run(run_id))
    (played,) = replayed_episodes(daemon.client._call, rows, [0])
    assert isinstance(played, PlayedEpisode) and played.summary is not None
    again = simulated_steps(played, played.summary)
    told_only: dict[str, Any] = {"seq": 0, "timestamp": 0.0, "info": None, "render_hint": None}
    assert [replace(step, **told_only) for step in again] == [
        replace(step, **told_only) for step in daemon.client.steps(run_id, 0)
    ]


def test_steps_that_cannot_be_had_are_named_and_decide_the_status(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = daemon.submit(run_name="holes", config={"episodes": 3})
    daemon.wait_over(run_id)
    with sqlite3.connect(daemon.home.run(run_id).telemetry) as store:
        store.execute("DELETE FROM steps WHERE episode_index = 1")
        store.execute("DELETE FROM steps WHERE episode_index = 2 AND step_index >= 4")
    store.close()
    done = export_command(daemon, tmp_path, run_id, "--to", "csv", "--steps")
    assert done.returncode == 1
    assert "steps of episode 1: " in done.stdout
    assert "steps of episode 2: only 4 of its " in done.stdout
    about = json.loads((tmp_path / "holes-csv" / "export.json").read_text())
    assert len(about["left_out"]) == 2
    told = export_command(daemon, tmp_path, run_id, "--to", "csv", "--steps", "--force", "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)[0]["left_out"] == about["left_out"]
    assert export_command(daemon, tmp_path, run_id, "--to", "csv", "--force").returncode == 0


def test_no_episodes_are_no_steps_and_it_is_said(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit_script("exits_with", "0")
    daemon.wait_over(run_id)
    options = ExportOptions(with_steps=True)
    done = daemon.client.export_run(run_id, "csv", tmp_path / "out", options)
    assert done.is_incomplete
    assert done.left_out == ("the run has no episodes, so it has no steps",)


def test_a_run_that_goes_on_gives_what_is_there(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit(config={"episodes": 100_000})
    wait_until(lambda: daemon.client.get_run(run_id).progress.episodes > 3, what="some episodes")
    done = daemon.client.export_run(run_id, "csv", tmp_path / "out")
    assert done.rows["episodes"] > 3
    assert json.loads((done.folder / "export.json").read_text())["was_over"] is False
    daemon.client.stop_run(run_id, grace_s=0)
    daemon.wait_over(run_id)


def test_a_run_without_anything(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit_script("exits_with", "0")
    daemon.wait_over(run_id)
    for export_format in ("tensorboard", "csv", "parquet"):
        options = ExportOptions(is_wide=export_format == "csv")
        done = daemon.client.export_run(run_id, export_format, tmp_path / export_format, options)
        assert sum(done.rows.values()) == 0
    with pytest.raises(RequestError, match="no episode for a dataset"):
        daemon.client.export_run(run_id, "minari", tmp_path / "minari")
    assert not (tmp_path / "minari").exists()


def many_rows() -> SampleRows:
    chance = random.Random(1)
    points = [(at, chance.random()) for at in range(20_000)]
    return SampleRows({"loss": points}, page=1000)


def many_episodes() -> Iterator[PlayedEpisode]:
    chance = np.random.default_rng(1)
    for index in range(50):
        observations = list(chance.random((1001, 4), np.float32))
        zeros = [0.0] * 1000
        no = [False] * 1000
        yield PlayedEpisode(index, observations, [0] * 1000, zeros, no, no)


EXPORTS: dict[str, Callable[[Path], Exported]] = {
    "tensorboard": lambda folder: export_tensorboard(many_rows(), folder),
    "csv": lambda folder: export_tables(many_rows(), folder, CsvFormat()),
    "wide csv": lambda folder: export_tables(many_rows(), folder, CsvFormat(), is_wide=True),
    "parquet": lambda folder: export_tables(many_rows(), folder, ParquetFormat()),
    "minari": lambda folder: export_minari(record(), many_episodes(), folder),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_a_full_disk_is_a_sentence_and_leaves_nothing_behind(name: str) -> None:
    with mounted_tmpfs("size=100k") as disk:
        with pytest.raises(DiskSpaceError, match="no room") as caught:
            EXPORTS[name](disk / "deep" / "out")
        assert "free some space" in caught.value.hint
        assert list(disk.iterdir()) == []
