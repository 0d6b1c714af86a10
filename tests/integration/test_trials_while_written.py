"""Trials are read beside the process that writes them, and it never notices."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.analytics.optuna.reader import open_studies
from mosaic.errors import StoreError
from tests.daemon_harness import DaemonHarness
from tests.unit.analytics.optuna_samples import open_storage
from tests.waiting import PATIENCE_S, wait_until

pytest.importorskip("optuna")

TRIALS = 40
# An SQLite writer that cannot get its lock at once fails here, instead of waiting for us.
WRITER = f"""
import sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
path = sys.argv[1]
if path.endswith(".db"):
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{{path}}", engine_kwargs={{"connect_args": {{"timeout": 1}}}}
    )
else:
    from optuna.storages.journal import JournalFileBackend
    storage = optuna.storages.JournalStorage(JournalFileBackend(path))

def objective(trial):
    x = trial.suggest_float("x", -1, 1)
    trial.suggest_categorical("kind", ["a", None])
    if trial.number in (10, 20, 30):
        sys.stdin.readline()  # somebody has read since
    for step in range(3):
        trial.report(x, step)
    if trial.number % 7 == 3:
        raise optuna.TrialPruned
    return x

study = optuna.create_study(storage=storage, study_name="s", direction="maximize")
print("created", flush=True)
study.optimize(objective, n_trials={TRIALS})
"""


def written_by_optuna(path: Path) -> list[tuple[Any, ...]]:
    (study,) = open_storage(path).get_all_studies()
    trials = open_storage(path).get_all_trials(study._study_id)
    return [(trial.number, trial.state.name, trial.values, trial.params) for trial in trials]


@pytest.mark.parametrize("name", ["study.db", "study.journal"])
def test_a_writer_is_never_held_up(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    counts: list[int] = []
    try:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "created\n"
        reader = open_studies(path)
        while writer.poll() is None:
            try:
                (study,) = reader.read()
            except StoreError as error:
                assert "busy" in error.hint  # the writer has it; nobody waits
                continue
            if len(study.trials) not in counts and len(set(counts)) < 3:
                writer.stdin.write("\n")
                writer.stdin.flush()
            counts.append(len(study.trials))
            numbers = [trial.number for trial in study.trials]
            assert numbers == list(range(len(numbers)))
        _, complaints = writer.communicate()
    finally:
        writer.kill()
        writer.communicate()
    assert writer.returncode == 0, complaints
    assert "locked" not in complaints
    assert counts == sorted(counts) and len(set(counts)) > 2
    (study,) = reader.read()
    read = [(trial.number, trial.state, trial.values, trial.params) for trial in study.trials]
    assert read == written_by_optuna(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [name]


SCRIPT = """
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///found.db", study_name="mine")
study.optimize(lambda trial: trial.suggest_int("n", 0, 9), n_trials=4)
"""


def mosaic(daemon: DaemonHarness, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic.cli", *words],
        env=daemon.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_study_of_a_watched_script_is_found_and_followed(daemon: DaemonHarness) -> None:
    config = {"command": [sys.executable, "-c", SCRIPT]}
    document = {"entry_point": "script", "metadata": {"worker": {"config": config}}}
    run_id = daemon.client.start_run(
        {
            "run_name": "search",
            "arguments": [],
            "environment": {},
            "resources": {"cpus": 1, "memory_mb": 1024},
            "artifacts": {},
            **document,
        }
    )
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded", record
    assert record.manifest["optuna_db_path"].endswith("found.db")
    table = mosaic(daemon, "trials", run_id)
    out, complaints = table.communicate(timeout=PATIENCE_S)
    assert table.returncode == 0, complaints
    assert "4 trials: 4 complete" in out and out.count("best") == 1

    following = mosaic(daemon, "trials", run_id, "--follow", "--json")
    try:
        assert following.stdout is not None
        seen = [json.loads(following.stdout.readline()) for _ in range(4)]
        assert [trial["number"] for trial in seen] == [0, 1, 2, 3]
        assert sum(trial["is_best"] for trial in seen) == 1
        following.send_signal(signal.SIGINT)
        assert following.wait(PATIENCE_S) == 0
    finally:
        following.kill()
        following.communicate()


def test_a_manifest_follows_its_run(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 100_000, "max_steps_per_second": 50.0})
    daemon.wait_for(run_id, "EXEC")

    def manifest() -> dict[str, Any]:
        return daemon.client.get_run(run_id).manifest

    running = wait_until(lambda: manifest() if manifest().get("bundle") else None)
    assert running is not None
    assert (running["status"], running["attempt"]) == ("running", 1)
    assert running["bundle"]["distribution"] == "mosaic-rl"
    assert "gymnasium" in running["bundle"]["packages"]
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)
    assert manifest()["status"] == "cancelled"
    assert manifest()["updated_at"] > running["updated_at"]
