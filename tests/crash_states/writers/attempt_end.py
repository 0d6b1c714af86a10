"""The end of an attempt: once exit.json is written it stays, with the events and outputs before.

The folders are made by the daemon when it launches, the files by the run host.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from mosaic.contracts.run_config import parse_run_config
from mosaic.daemon.launch.attempt_spec import SpecBuilder
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.registry.registry import Registry
from mosaic.files import atomic_write, read_json
from mosaic.paths import Home
from mosaic.runhost.attempt_files import write_exit
from mosaic.runhost.event_journal import EventJournal
from tests.crash_states.proof import Announce
from tests.crash_states.writers.submission import CONFIG
from tests.journal_lines import metric
from tests.registry_samples import new_run, submit

RUN_ID = "01JQ0000000000000000000001"
EVENTS = 6
OUTPUT = "outputs/first/model"
WEIGHTS = b"weights"


class Recovered(NamedTuple):
    has_exit: bool
    has_output: bool
    events: int


def prepare(root: Path) -> None:
    asyncio.run(_prepare(Home(root / "home")))


async def _prepare(home: Home) -> None:
    home.create()
    registry = await Registry.open(home)
    await submit(registry, home, new_run(run_id=RUN_ID))
    await registry.close()


def write(root: Path, announce: Announce) -> None:
    home = Home(root / "home")
    workers = SimpleNamespace(python=sys.executable, sdk_dir=str(root))
    record = replace(new_run(run_id=RUN_ID).record, attempt=1)
    specs = SpecBuilder(home, cast("Any", workers), SecretVault(home))
    specs.build(record, parse_run_config(CONFIG), slot=1)
    files = home.run(RUN_ID)
    atomic_write(files.directory / OUTPUT, WEIGHTS)
    journal = EventJournal(files.journal)
    for number in range(EVENTS):
        journal.feed(metric(number))
    journal.finish()
    journal.close()
    record_of_exit = SimpleNamespace(to_dict=lambda: {"exit_code": 0})
    assert not list(write_exit(files.attempt(1).exit, cast("Any", record_of_exit)))
    announce("ended")


def recover(root: Path) -> Recovered:
    files = Home(root / "home").run(RUN_ID)
    journal = files.journal.read_bytes() if files.journal.exists() else b""
    output = files.directory / OUTPUT
    return Recovered(
        has_exit=read_json(files.attempt(1).exit) is not None,
        has_output=output.exists() and output.read_bytes() == WEIGHTS,
        events=sum(b'"loss"' in line for line in journal.splitlines()),
    )


def complaint(recovered: Recovered, said: Sequence[str]) -> str:
    if said and not recovered.has_exit:
        return "lost: the attempt had ended"
    if recovered.has_exit and (recovered.events, recovered.has_output) != (EVENTS, True):
        return f"lost: the attempt had ended, with more than {recovered}"
    return ""
