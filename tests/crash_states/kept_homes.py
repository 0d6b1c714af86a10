"""A home with runs that are kept, deleted or imported: how it is opened, and where its runs are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from mosaic.daemon.keeping.archives import ArchivePiece
from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.registry.registry import Registry
from mosaic.errors import UnknownRunError
from mosaic.paths import Home
from tests.kept_runs import keeping_of, picture, traces


async def with_keeping(home: Home, action: Callable[[Registry, Keeping], Awaitable[Any]]) -> Any:
    """As the daemon does it: open, put right what was left half done, and only then act."""
    home.create()
    registry = await Registry.open(home)
    keeping = keeping_of(home, registry)
    try:
        assert not registry.recovery.sentence, registry.recovery.sentence
        await keeping.start()
        return await action(registry, keeping)
    finally:
        await keeping.close()
        await registry.close()


async def pieces_of(archive: Path) -> AsyncIterator[ArchivePiece]:
    data = archive.read_bytes()
    yield ArchivePiece(data, len(data))


async def places(root: Path) -> dict[str, str]:
    """Where each of the runs in `runs.json` is, whole: "there", "in the trash" or "gone".

    A row whose files are gone is a place of its own.
    """
    home = Home(root / "home")
    pictures = json.loads((root / "runs.json").read_text())

    async def act(registry: Registry, keeping: Keeping) -> dict[str, str]:
        assert list(home.transfer.iterdir()) == [], "something was left on its way"
        trashed = {run.run_id for run in await keeping.trash.runs()}
        assert {path.name for path in home.trash.iterdir()} == trashed
        return {
            run_id: await _place(home, registry, keeping, run_id, run_id in trashed, whole)
            for run_id, whole in pictures.items()
        }

    return dict(await with_keeping(home, act))


async def _place(
    home: Home,
    registry: Registry,
    keeping: Keeping,
    run_id: str,
    is_trashed: bool,
    whole: dict[str, str],
) -> str:
    try:
        await registry.get(run_id)
        place = "there"
        assert not is_trashed, "there and in the trash"
    except UnknownRunError:
        assert picture(home, run_id) == {}, "files, but no row"
        if not is_trashed:
            assert traces(home, run_id) == [], "gone, but for traces"
            return "gone"
        await keeping.trash.restore(run_id)
        place = "in the trash"
    found = picture(home, run_id)
    if not any("/runs/" in name for name in found):
        return "a row without files"
    damaged = sorted(name for name, digest in whole.items() if found.get(name) != digest)
    assert not damaged, f"{place}, without {damaged}"
    assert (await registry.get(run_id)).transitions, f"{place}, without its history"
    return place
