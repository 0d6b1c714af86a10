"""Kills a process before each of its changes to the disk, one after the other, and looks whether
the next start puts right what it left. Run by test_keeping_crashes.py: the forks must not happen
in a process with threads.

    python -m tests.integration.keeping_crashes OPERATION FOLDER
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from mosaic.daemon.keeping.archive.writer import ArchiveStream
from mosaic.daemon.keeping.archives import ArchivePiece
from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import UnknownRunError
from mosaic.paths import Home
from tests.kept_runs import finished_run, keeping_of, picture, traces
from tests.registry_samples import made_home

KILLED = 99
MOST_POINTS = 300
CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.chmod"}


async def opened(home: Home) -> tuple[Registry, Keeping]:
    registry = await Registry.open(home)
    assert registry.recovery.sentence == "", registry.recovery.sentence
    return registry, keeping_of(home, registry)


async def with_keeping(home: Home, action: Callable[[Registry, Keeping], Awaitable[Any]]) -> Any:
    registry, keeping = await opened(home)
    try:
        await keeping.start()
        return await action(registry, keeping)
    finally:
        await keeping.close()
        await registry.close()


# What is done, each on a home that `prepare` left


async def prepare(home: Home, operation: str) -> str:
    async def act(registry: Registry, keeping: Keeping) -> str:
        run_id = await finished_run(registry, home)
        if operation == "import":
            stream = ArchiveStream(home, await registry.entry(run_id), 1.0)
            pieces = list(iter(stream.next, None))
            (home.root.parent / "archive.zip").write_bytes(b"".join(pieces))
            await keeping.trash.delete(run_id, for_good=True)
        elif operation in ("restore", "empty"):
            await keeping.trash.delete(run_id)
        return run_id

    return str(await with_keeping(home, act))


async def operate(home: Home, operation: str, run_id: str, deadly: int = 0) -> None:
    """`deadly` is the number of the change before which the process dies; 0 for none."""
    registry, keeping = await opened(home)
    await keeping.start()
    if deadly:
        die_before_change(deadly, home)
    if operation == "delete":
        await keeping.trash.delete(run_id)
    elif operation == "delete_for_good":
        await keeping.trash.delete(run_id, for_good=True)
    elif operation == "restore":
        await keeping.trash.restore(run_id)
    elif operation == "empty":
        await keeping.trash.empty()
    else:
        await keeping.archives.import_run(pieces_of(home.root.parent / "archive.zip"))
    await registry.close()


async def pieces_of(path: Path) -> AsyncIterator[ArchivePiece]:
    data = path.read_bytes()
    yield ArchivePiece(data, len(data))


def die_before_change(number: int, home: Home) -> None:
    """Count what changes the home, and end without a word before the change of that number."""
    done = 0
    root = str(home.trainer)

    def count() -> None:
        nonlocal done
        done += 1
        if done == number:
            os._exit(KILLED)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        is_named = arguments and isinstance(arguments[0], str | os.PathLike)  # not by descriptor
        if (event in CHANGES or is_write) and is_named and str(arguments[0]).startswith(root):
            count()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            count()
            return method(*arguments)

        return call

    sys.addaudithook(hook)
    for name in ("delete", "put_back"):
        setattr(RegistryStore, name, counted(getattr(RegistryStore, name)))


async def judge(home: Home, operation: str, run_id: str, before: dict[str, str]) -> str:
    """What the next start makes of it: "there" or "away", and nothing in between."""

    async def act(registry: Registry, keeping: Keeping) -> str:
        assert list(home.transfer.iterdir()) == []
        trashed = [run.run_id for run in await keeping.trash.runs()]
        strangers = [path.name for path in home.trash.iterdir() if path.name not in trashed]
        assert not strangers, strangers
        try:
            record = await registry.get(run_id)
        except UnknownRunError:
            assert picture(home, run_id) == {}, "no row, but files"
            if not trashed:
                assert operation != "delete" and operation != "restore", "the run is lost"
                assert traces(home, run_id) == []
                return "gone"
            record = await keeping.trash.restore(run_id)
            assert picture(home, run_id) == before, "restored, but not the same"
            assert len(record.transitions) == 3
            return "in the trash"
        assert not trashed, "there and in the trash"
        found = picture(home, run_id)
        if operation == "import":
            found = {name: found.get(name, "") for name in before}
        assert found == before, "there, but not the same"
        assert len(record.transitions) == 3 + (operation == "import")
        return "there"

    return str(await with_keeping(home, act))


def in_child(work: Callable[[], Any]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 (root of the child)
            traceback.print_exc()
            status = 1
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(operation: str, folder: Path) -> int:
    template = made_home(folder / "template")
    named = folder / "run_id"
    if in_child(lambda: named.write_text(asyncio.run(prepare(template, operation)))) != 0:
        return 1
    run_id = named.read_text()
    before = expected(template, operation, run_id, folder)
    verdict = folder / "verdict"
    for number in range(1, MOST_POINTS):
        home = Home(folder / "work" / "home")
        shutil.rmtree(home.root.parent, ignore_errors=True)
        shutil.copytree(template.root.parent, home.root.parent)

        def work(number: int = number, home: Home = home) -> None:
            asyncio.run(operate(home, operation, run_id, deadly=number))

        status = in_child(work)
        if status not in (0, KILLED):
            return 1

        def look(home: Home = home) -> None:
            verdict.write_text(asyncio.run(judge(home, operation, run_id, before)))

        if in_child(look) != 0:
            print(f"killed before change {number} of {operation}", file=sys.stderr)
            return 1
        print(number, verdict.read_text(), flush=True)
        if status == 0:
            return 0
    return 1


def expected(template: Home, operation: str, run_id: str, folder: Path) -> dict[str, str]:
    """The files of the run as they must be wherever it turns up."""
    if operation in ("delete", "delete_for_good"):
        return picture(template, run_id)
    home = Home(folder / "whole" / "home")
    shutil.copytree(template.root.parent, home.root.parent)
    if in_child(lambda: asyncio.run(operate(home, operation_back(operation), run_id))) != 0:
        raise SystemExit(1)
    found = picture(home, run_id)
    if operation == "import":  # says when it was imported
        found = {name: value for name, value in found.items() if not name.endswith("run.json")}
    return found


def operation_back(operation: str) -> str:
    return "import" if operation == "import" else "restore"


if __name__ == "__main__":
    # A process dies here, not the machine: what it wrote is there, flushed or not.
    os.fsync = lambda fd: None
    raise SystemExit(main(sys.argv[1], Path(sys.argv[2])))
