"""Runs that are over, with files, for tests of trash, retention and archives: no process needed."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mosaic.contracts.run_record import Progress
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.registry_samples import end, launch, new_run, submit


def keeping_of(home: Home, registry: Registry) -> Keeping:
    """As in the daemon, with nobody who watches."""
    supervisor = SimpleNamespace(
        active={}, alarms={}, feed=SimpleNamespace(notify=lambda run_id: None)
    )
    return Keeping(home, registry, cast("Any", supervisor), lambda run_id: None)


async def finished_run(registry: Registry, home: Home, **fields: Any) -> str:
    """A run that is over, with everything a run can leave behind."""
    mean_return = fields.pop("mean_return", 12.5)
    run_id = await submit(registry, home, new_run(capabilities={"worker_type": "s"}, **fields))
    await launch(registry, home, run_id)
    files = home.run(run_id)
    fill(files.directory, run_id)
    home.config(run_id).write_text(json.dumps({"run_name": "a run", "metadata": {}}))
    home.policy_config(run_id).write_text("{}")
    home.worker_config(run_id, 3).write_text('{"env_id": "CartPole-v1"}')
    await end(
        registry,
        run_id,
        RunState.HSHK,
        1,
        Outcome.SUCCEEDED,
        progress=Progress(steps=20, mean_return=mean_return),
        checkpoint_uri="outputs/model.bin",
    )
    return run_id


def fill(directory: Path, run_id: str) -> None:
    for relative, content in {
        "events.jsonl": b'{"type": "run_started"}\n' * 50,
        "analytics.json": json.dumps({"run_id": run_id, "checkpoints": []}).encode(),
        "logs/sample.stdout.log": b"hello\n",
        "logs/sample.stderr.log": b"",
        "outputs/model.bin": bytes(range(256)) * 40,
        "outputs/tensorboard/events.out.tfevents.1": b"\x00curve" * 30,
        "attempts/1/worker.token": b"token-canary-5e1f",
        "attempts/1/lock": b"",
        "attempts/1/exit.json": b"{}",
    }.items():
        path = directory / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with closing(sqlite3.connect(directory / "telemetry.sqlite")) as store, store:
        store.execute("CREATE TABLE metrics (name TEXT, value REAL)")
        store.executemany("INSERT INTO metrics VALUES ('loss', ?)", [(n,) for n in range(100)])


def picture(home: Home, run_id: str) -> dict[str, str]:
    """Hashes of everything on disk that belongs to a run, by path."""
    folder = home.run(run_id).directory
    paths = [path for path in folder.rglob("*") if path.is_file()]
    paths += [path for path in home.configs.iterdir() if run_id in path.name]
    return {
        str(path.relative_to(home.root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
    }


def traces(home: Home, run_id: str) -> list[str]:
    """Every name below the home that speaks of the run."""
    # Files may go away while we look; os.walk takes that calmly, rglob does not.
    found = os.walk(home.trainer)
    return [f"{at}/{name}" for at, *both in found for name in chain(*both) if run_id in name]
