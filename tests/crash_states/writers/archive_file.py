"""An archive on its way to a file: under its name it is whole, and it is there once it was said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from mosaic.client.archive_file import ArchiveFile
from mosaic.daemon.keeping.archive.reader import RunArchive
from mosaic.daemon.keeping.archive.writer import ArchiveStream
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.crash_states.proof import Announce
from tests.kept_runs import finished_run


def prepare(root: Path) -> None:
    asyncio.run(_prepare(Home(root / "home")))


async def _prepare(home: Home) -> None:
    home.create()
    registry = await Registry.open(home)
    await finished_run(registry, home)
    await registry.close()


def write(root: Path, announce: Announce) -> None:
    asyncio.run(_write(root, announce))


async def _write(root: Path, announce: Announce) -> None:
    home = Home(root / "home")
    registry = await Registry.open(home)
    ((record,), _) = await registry.list()
    stream = ArchiveStream(home, await registry.entry(record.run_id), 1.0)
    with ArchiveFile(root / "run.zip") as archive:
        while piece := stream.next():
            archive.write(piece)
    announce("archived")
    stream.close()
    await registry.close()


def recover(root: Path) -> bool:
    """Whether the archive is there; if so it must be whole."""
    if not (root / "run.zip").exists():
        return False
    with (root / "run.zip").open("rb") as file:
        RunArchive(file)
    return True


def complaint(recovered: bool, said: Sequence[str]) -> str:
    return "lost: the archive was said to be there" if said and not recovered else ""
