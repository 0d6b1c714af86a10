"""Runs for tests of the registry: made up, but stored the way the daemon stores them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ulid import ULID

from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.registry.documents import NewRun, write_run_file
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home


def made_home(root: Path) -> Home:
    home = Home(root / "home")
    home.create()
    return home


def new_run(name: str = "a run", client_key: str | None = None, **fields: Any) -> NewRun:
    now = fields.pop("created_at", None) or time.time()
    record = RunRecord(
        run_id=fields.pop("run_id", None) or str(ULID()),
        run_name=name,
        worker="sample",
        state=RunState.INIT,
        outcome=None,
        attempt=0,
        priority=fields.pop("priority", 0),
        created_at=now,
        updated_at=now,
        agent_id="agent",
        worker_id="sample",
        env_id=fields.pop("env_id", "CartPole-v1"),
        memory_mb=512,
        **fields,
    )
    return NewRun(record, client_key, config_digest="digest of the config")


async def submit(registry: Registry, home: Home, new: NewRun | None = None) -> str:
    """As the daemon does it: the files first, then the row."""
    new = new or new_run()
    write_run_file(home.run(new.record.run_id), new)
    run_id, _ = await registry.create_run(new)
    return run_id


async def launch(registry: Registry, home: Home, run_id: str, attempt: int = 1) -> None:
    await registry.update(
        run_id,
        RunState.INIT,
        attempt - 1,
        transition=step(RunState.HSHK, attempt, "launched"),
        started_at=time.time(),
    )
    home.run(run_id).attempt(attempt).directory.mkdir(parents=True)


async def end(
    registry: Registry, run_id: str, state: RunState, attempt: int, outcome: Outcome, **fields: Any
) -> None:
    now = time.time()
    await registry.update(
        run_id,
        state,
        attempt,
        transition=step(RunState.TERM, attempt, "over"),
        outcome=outcome,
        finished_at=now,
        **fields,
    )


def step(state: RunState, attempt: int, reason: str = "test") -> Transition:
    return Transition(state, time.time(), reason, attempt)
