"""The registry: every acknowledged run and each of its acknowledged states, in a new home."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.crash_states.proof import Announce
from tests.registry_samples import end, launch, new_run, submit

FIRST, SECOND = "01JQ0000000000000000000001", "01JQ0000000000000000000002"
# Until the first start has succeeded, a file that never held anything may be set aside.
NEVER_USED = tuple(
    f"The registry was unusable ({damage})"
    for damage in ("it has no tables", "its header is damaged")
)
STAGES = ("unknown", "submitted", "launched", "ended", "pinned")


class Recovered(NamedTuple):
    damage: str
    stages: dict[str, str]


def prepare(root: Path) -> None:
    """Nothing: also the folders of the home are made by the writer."""


def write(root: Path, announce: Announce) -> None:
    asyncio.run(_write(Home(root / "home"), announce))


async def _write(home: Home, announce: Announce) -> None:
    home.create()
    registry = await Registry.open(home)
    for run_id in (FIRST, SECOND):
        announce(f"begun submitted {run_id}")
        await submit(registry, home, new_run(run_id=run_id, capabilities={"worker_type": "s"}))
        announce(f"done submitted {run_id}")
    announce(f"begun launched {FIRST}")
    await launch(registry, home, FIRST)
    announce(f"done launched {FIRST}")
    await registry.backup()
    announce(f"begun ended {FIRST}")
    await end(registry, FIRST, RunState.HSHK, 1, Outcome.SUCCEEDED)
    announce(f"done ended {FIRST}")
    announce(f"begun pinned {FIRST}")
    await registry.pin(FIRST, True)
    announce(f"done pinned {FIRST}")
    await registry.close()


async def recover(root: Path) -> Recovered:
    home = Home(root / "home")
    home.create()
    registry = await Registry.open(home)
    try:
        records, _ = await registry.list()
        stages = {item.run_id: _stage(await registry.get(item.run_id)) for item in records}
        return Recovered(registry.recovery.sentence, stages)
    finally:
        await registry.close()


def _stage(record: RunRecord) -> str:
    if record.state is RunState.TERM and record.outcome is Outcome.SUCCEEDED:
        return "pinned" if record.pinned else "ended"
    known = {RunState.INIT: "submitted", RunState.HSHK: "launched"}
    return known.get(record.state, f"{record.state} {record.failure}")


def complaint(recovered: Recovered, said: Sequence[str]) -> str:
    if recovered.damage and (said or not recovered.damage.startswith(NEVER_USED)):
        return recovered.damage
    for run_id in (FIRST, SECOND):
        stage = recovered.stages.get(run_id, "unknown")
        done = _latest(said, "done", run_id)
        if stage not in STAGES or STAGES.index(stage) < STAGES.index(done):
            return f"lost: {run_id} is {stage!r}, although it was {done}"
        if STAGES.index(stage) > STAGES.index(_latest(said, "begun", run_id)):
            return f"invented: {run_id} is {stage!r}"
    return ""


def _latest(said: Sequence[str], word: str, run_id: str) -> str:
    told = [line.split()[1] for line in said if line.startswith(word) and line.endswith(run_id)]
    return told[-1] if told else STAGES[0]
