"""Runs of the BDI worker under a real daemon, by the interpreter of its bundle."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from mosaic.cli.main import main
from mosaic.contracts.run_record import RunRecord
from mosaic.front.worker_manifests import add_manifest
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.bdi.bundle_python import SOURCE, bundle_python
from tests.waiting import wait_until

# Not the name of its entry point: an installed worker would win over this one.
WORKER = "bdi_here"
LAKE = {"algo": "q_learning", "env_id": "FrozenLake-v1", "seed": 3}
STARTING_S = 120.0


@contextmanager
def daemon_with_worker(folder: Path) -> Iterator[DaemonHarness]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "worker.toml").write_text(
        f'name = "{WORKER}"\n'
        'entry_point = "spade_bdi_rl_worker:get_worker_metadata"\n'
        f'python = "{bundle_python()}"\n'
        f'path = "{SOURCE}"\n'
    )
    with running_daemon() as harness:
        add_manifest(harness.home, folder)
        yield harness


def start(daemon: DaemonHarness, config: dict[str, Any], **changes: Any) -> str:
    return daemon.client.start_run(
        {
            "run_name": "bdi",
            "entry_point": WORKER,
            "arguments": [],
            "environment": {},
            "resources": {"cpus": 1, "memory_mb": 2048},
            "artifacts": {},
            "metadata": {"worker": {"config": config}},
            **changes,
        }
    )


def succeeded(daemon: DaemonHarness, run_id: str) -> RunRecord:
    record = daemon.wait_over(run_id, timeout_s=300.0)
    log = daemon.home.run(run_id).log(WORKER, "stderr")
    said = log.read_text()[-2000:] if log.exists() else ""
    assert record.outcome == "succeeded", f"{record.outcome}: {record.failure}\n{said}"
    return record


def lines_of(daemon: DaemonHarness, run_id: str, *types: str) -> list[dict[str, Any]]:
    return [
        event
        for batch in daemon.client.stream_events(run_id, types=types)
        for event in batch.events()
    ]


def wait_for_steps(daemon: DaemonHarness, run_id: str, steps: int = 1) -> None:
    wait_until(
        lambda: daemon.client.get_run(run_id).progress.steps >= steps,
        STARTING_S,
        f"{steps} steps of the run",
    )


def agents_lines(daemon: DaemonHarness, run_id: str) -> list[dict[str, Any]]:
    folder = daemon.home.run(run_id).directory / "outputs" / "agents"
    found = []
    for name in ("agents.1.jsonl", "agents.jsonl"):
        path = folder / name
        if path.exists():
            found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


def mosaic(daemon: DaemonHarness, *words: str, status: int = 0) -> str:
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        found = main(["--home", str(daemon.home.root), *words])
    assert found == status, f"{words}: {found}\n{said.getvalue()}"
    return said.getvalue()


def checkpoint_of(daemon: DaemonHarness, run_id: str) -> Path:
    directory = daemon.home.run(run_id).directory
    return directory / daemon.client.get_run(run_id).checkpoint_uri


def state_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    from spade_bdi_rl_worker.table_file import read_tables

    return read_tables(path)
