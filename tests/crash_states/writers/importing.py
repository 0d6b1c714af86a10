"""An import: the whole run or nothing of it, and the whole run once that was said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from mosaic.daemon.keeping.archive.writer import ArchiveStream
from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.crash_states.kept_homes import pieces_of, places, with_keeping
from tests.crash_states.proof import Announce
from tests.kept_runs import finished_run, picture


def prepare(root: Path) -> None:
    asyncio.run(_prepare(root, Home(root / "home")))


async def _prepare(root: Path, home: Home) -> None:
    """An archive of a run that this home had once."""
    home.create()

    async def act(registry: Registry, keeping: Keeping) -> None:
        run_id = await finished_run(registry, home)
        stream = ArchiveStream(home, await registry.entry(run_id), 1.0)
        (root / "run.zip").write_bytes(b"".join(iter(stream.next, None)))
        stream.close()
        before = picture(home, run_id)
        await keeping.trash.delete(run_id, for_good=True)
        await keeping.archives.import_run(pieces_of(root / "run.zip"))
        # What an import rewrites or leaves out is not compared.
        after = picture(home, run_id)
        whole = {name: digest for name, digest in before.items() if after.get(name) == digest}
        (root / "runs.json").write_text(json.dumps({run_id: whole}))
        await keeping.trash.delete(run_id, for_good=True)

    await with_keeping(home, act)


def write(root: Path, announce: Announce) -> None:
    asyncio.run(_write(root, announce))


async def _write(root: Path, announce: Announce) -> None:
    async def act(registry: Registry, keeping: Keeping) -> None:
        announce("importing")
        await keeping.archives.import_run(pieces_of(root / "run.zip"))
        announce("imported")

    await with_keeping(Home(root / "home"), act)


async def recover(root: Path) -> str:
    (place,) = (await places(root)).values()
    return place


def complaint(recovered: str, said: Sequence[str]) -> str:
    allowed = {"": ("gone",), "importing": ("gone", "there"), "imported": ("there",)}
    last = said[-1] if said else ""
    return "" if recovered in allowed[last] else f"{recovered} after {last or 'nothing'!r}"
