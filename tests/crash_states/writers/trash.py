"""Deleting, restoring and emptying: a run is in one place, whole, until its emptying has begun."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.keeping.trash import discard
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.crash_states.kept_homes import places, with_keeping
from tests.crash_states.proof import Announce
from tests.kept_runs import finished_run, picture

RUN_IDS = tuple(f"01JQ000000000000000000000{number}" for number in (1, 2, 3))
# Where a run may be while something is done to it, and where it must be afterwards.
PLACES = {
    "": ("there",),
    "begun delete": ("there", "in the trash"),
    "done delete": ("in the trash",),
    "begun restore": ("in the trash", "there"),
    "done restore": ("there",),
    "begun empty": ("in the trash", "gone"),
    "done empty": ("gone",),
    "begun delete_for_good": ("there", "in the trash", "gone"),
    "done delete_for_good": ("gone",),
    "begun discard": ("there", "a row without files", "gone"),
    "done discard": ("gone",),
}


def prepare(root: Path) -> None:
    asyncio.run(_prepare(root, Home(root / "home")))


async def _prepare(root: Path, home: Home) -> None:
    home.create()

    async def act(registry: Registry, keeping: Keeping) -> None:
        for run_id in RUN_IDS:
            await finished_run(registry, home, run_id=run_id)
        pictures = {run_id: picture(home, run_id) for run_id in RUN_IDS}
        (root / "runs.json").write_text(json.dumps(pictures))

    await with_keeping(home, act)


def write(root: Path, announce: Announce) -> None:
    asyncio.run(_write(Home(root / "home"), announce))


async def _write(home: Home, announce: Announce) -> None:
    first, second, third = RUN_IDS

    async def act(registry: Registry, keeping: Keeping) -> None:
        for verb, run_id in (
            ("delete", first),
            ("restore", first),
            ("delete", first),
            ("empty", first),
            ("delete_for_good", second),
            ("discard", third),
        ):
            announce(f"begun {verb} {run_id}")
            if verb == "empty":
                await keeping.trash.empty([run_id])
            elif verb == "restore":
                await keeping.trash.restore(run_id)
            elif verb == "discard":  # what deleting for good comes down to on a full disk
                discard(home, run_id)
                await registry.delete(run_id)
            else:
                await keeping.trash.delete(run_id, for_good=verb == "delete_for_good")
            announce(f"done {verb} {run_id}")

    await with_keeping(home, act)


async def recover(root: Path) -> dict[str, str]:
    return await places(root)


def complaint(recovered: dict[str, str], said: Sequence[str]) -> str:
    for run_id in RUN_IDS:
        told = [line for line in said if line.endswith(run_id)]
        last = told[-1].removesuffix(f" {run_id}") if told else ""
        if recovered[run_id] not in PLACES[last]:
            return f"{run_id} is {recovered[run_id]} after {last or 'nothing'!r}"
    return ""
