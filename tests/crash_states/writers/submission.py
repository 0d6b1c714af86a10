"""A submission: whoever was told a run id finds the run, its config and its key again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from mosaic.contracts.run_config import parse_run_config
from mosaic.daemon.bundles.kept_locks import Agreement, kept_agreement
from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.trainer.submission import RunBundles, RunSubmitter
from mosaic.files import read_json
from mosaic.paths import Home
from tests.crash_states.proof import Announce

CONFIG = {
    "run_name": "a run",
    "entry_point": "python",
    "arguments": ["-c", "pass"],
    "environment": {},
    "resources": {"cpus": 1, "memory_mb": 256, "gpus": {"requested": 0, "mandatory": False}},
    "artifacts": {"output_prefix": "outputs/first", "persist_logs": True, "keep_checkpoints": True},
}
KEYS = ("first", "second")
AGREEMENT = Agreement(most_bytes=10**8)  # of the first of them


def prepare(root: Path) -> None:
    """A home that has been in use: the registry is there, and empty."""
    home = Home(root / "home")
    home.create()
    asyncio.run(_open_and_close(home))


async def _open_and_close(home: Home) -> None:
    await (await Registry.open(home)).close()


def write(root: Path, announce: Announce) -> None:
    asyncio.run(_write(Home(root / "home"), announce))


async def _write(home: Home, announce: Announce) -> None:
    registry = await Registry.open(home)
    queue: list[ActiveRun] = []
    reception = RunSubmitter(
        home,
        registry,
        cast("Any", None),
        SecretVault(home),
        Capacity(cpus=1, memory_mb=256),
        queue.append,
    )
    command = LaunchCommand(sys.executable, "script", arguments=("-c", "pass"))
    for key in KEYS:
        # What `submit` does before this looks and asks, and writes nothing.
        bundles = RunBundles(agreement=AGREEMENT if key == KEYS[0] else None)
        accepted = await reception._accept(parse_run_config(CONFIG), key, command, (), bundles)
        announce(f"{key} {accepted.run_id}")
    await registry.close()


async def recover(root: Path) -> dict[str, str]:
    """Run id by key, of runs that could be launched now."""
    home = Home(root / "home")
    home.create()
    registry = await Registry.open(home)
    found = {}
    try:
        assert not registry.recovery.sentence, registry.recovery.sentence
        for record in await registry.live_and_queued():
            config = read_json(home.config(record.run_id))
            assert parse_run_config(config).run_name == CONFIG["run_name"]
        for key in KEYS:
            run_id = await registry.find_client_key(key)
            if run_id is not None:
                record = await registry.get(run_id)
                assert not record.is_over, record.failure
                if key == KEYS[0]:
                    assert kept_agreement(home.run(run_id)) == AGREEMENT
                found[key] = run_id
    finally:
        await registry.close()
    return found


def complaint(recovered: dict[str, str], said: Sequence[str]) -> str:
    for line in said:
        key, run_id = line.split()
        if recovered.get(key) != run_id:
            return f"lost: {key} was accepted as {run_id}, there is {recovered.get(key)}"
    return ""
