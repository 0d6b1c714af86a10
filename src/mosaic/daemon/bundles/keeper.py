"""What people ask of bundles: to list, install, verify, remove, prune and pack them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mosaic.bundles.definitions import BundleDefinition, indexes_of
from mosaic.bundles.install_program import INSTALL, PACK, ProgramRequest
from mosaic.bundles.locks import Lock
from mosaic.bundles.venv_store import VenvStore
from mosaic.contracts.bundles import (
    Accelerator,
    BundleKind,
    InstallPhase,
    InstallProgress,
    InstallRequest,
    VenvInfo,
    VenvNeed,
    VenvState,
    joined_name,
)
from mosaic.daemon.bundles.installs import Install, Installs
from mosaic.daemon.bundles.needs import ResolvedVenv, VenvResolver, agreed_error
from mosaic.daemon.bundles.shelf import CachedShelf
from mosaic.errors import BundleError, ConfigError
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

# What an installed venv takes, for each byte that is fetched for it: measured for those that come
# along; an estimate before it is there.
UNPACKED_FACTOR = 3.7


_ON_DISK = (VenvState.INSTALLED, VenvState.BROKEN)


class BundleKeeper:
    """Everything that reads files does so in a thread."""

    def __init__(self, home: Home, is_used: Callable[[Path], bool]) -> None:
        self.store = VenvStore(home)
        self.shelf = CachedShelf()
        self.resolver = VenvResolver(self.store, self.shelf)
        self.installs = Installs()
        # Called when a venv was removed.
        self.on_removed: Callable[[], None] = lambda: None
        self._is_used = is_used

    async def start(self) -> None:
        swept = await asyncio.to_thread(self.store.sweep)
        if swept:
            log.info("venvs.swept", names=swept)

    async def close(self) -> None:
        await self.installs.close()

    # Looking

    async def infos(
        self, names: Iterable[str] = (), accelerator: Accelerator | None = None
    ) -> tuple[list[VenvInfo], tuple[str, ...]]:
        """What there is, and what is wrong with packages that bring bundles."""
        found, problems = await asyncio.to_thread(self._infos, tuple(names), accelerator)
        return [self._with_progress(info) for info in found], problems

    async def infos_of(self, venvs: Sequence[ResolvedVenv]) -> list[VenvInfo]:
        if not venvs:
            return []
        found = await asyncio.to_thread(lambda: [self._info(venv, {}) for venv in venvs])
        return [self._with_progress(info) for info in found]

    def _infos(
        self, names: tuple[str, ...], accelerator: Accelerator | None
    ) -> tuple[list[VenvInfo], tuple[str, ...]]:
        shelf = self.shelf.current()
        here = {info.path: info for info in self.store.infos()}
        infos, told = [], set()
        for name in names or self._names():
            venv = self.resolver.exact(VenvNeed(name), accelerator)
            if names and venv.problem is not None and venv.lock is None:
                shelf.check_name(name)  # raises where there is no such bundle
            if names and venv.state is VenvState.PRESENT:
                venv = self._with_lock(venv, accelerator)
            info = self._info(venv, here)
            infos.append(info)
            told.add(info.path)
        if not names:
            infos += [self._titled(info) for path, info in here.items() if path not in told]
        return infos, shelf.problems

    def _with_lock(self, venv: ResolvedVenv, accelerator: Accelerator | None) -> ResolvedVenv:
        """What packing it would fetch, though nothing has to be installed here."""
        try:
            build = self.resolver.of_bundle(venv.name, accelerator)
        except BundleError:
            return venv
        return replace(venv, lock=build.lock, note=build.note)

    def _names(self) -> list[str]:
        """Each worker's bundle, followed by the same with each of its add-ons."""
        definitions = self.shelf.current().definitions
        add_ons = [item for item in definitions.values() if item.kind is BundleKind.ADD_ON]
        names = []
        for worker in definitions.values():
            if worker.kind is BundleKind.WORKER:
                names.append(worker.name)
                names += [
                    joined_name((worker.name, item.name))
                    for item in add_ons
                    if worker.name in item.joins or item.name in worker.joins
                ]
        return names

    def _info(self, venv: ResolvedVenv, here: Mapping[str, VenvInfo]) -> VenvInfo:
        """`here`: those that are on the disk, by their path."""
        path = "" if venv.path is None else str(venv.path)
        problem = venv.problem
        known = here.get(path)
        if known is None and venv.path is not None and venv.state in _ON_DISK:
            known = self.store.info(venv.path)
        if known is not None:
            return self._titled(_as_wanted(replace(known, state=venv.state), venv))
        lock = venv.lock
        info = VenvInfo(
            name=venv.name,
            title=venv.name,
            about="",
            state=venv.state,
            accelerator=lock.accelerator if lock else Accelerator.CPU,
            python=lock.python if lock else "",
            lock_hash=lock.hash if lock else "",
            path=path,
            fetch_bytes=lock.fetch_bytes if lock else 0,
            disk_bytes=round(lock.fetch_bytes * UNPACKED_FACTOR) if lock else 0,
            problem=problem.message if problem else "",
            hint=problem.hint if problem else "",
            note=venv.note,
        )
        return self._titled(info)

    def _titled(self, info: VenvInfo) -> VenvInfo:
        try:
            worker, *added = self.shelf.joined(info.name)
        except BundleError:
            return info  # of a package that is gone
        title = " + ".join(item.title for item in (worker, *added))
        return replace(info, title=title, about=(added[-1] if added else worker).about)

    def _with_progress(self, info: VenvInfo) -> VenvInfo:
        install = self.installs.under_way.get(info.path)
        if install is None:
            return info
        return replace(info, state=VenvState.INSTALLING, progress=install.progress)

    # Installing

    async def install(self, request: InstallRequest) -> AsyncGenerator[InstallProgress, None]:
        venv = await asyncio.to_thread(self._wanted, request)
        if venv.state is VenvState.INSTALLED:
            yield InstallProgress(InstallPhase.DONE, fraction=1.0)
            return
        async for progress in self.begin(venv, request.from_folder).follow():
            yield progress

    def begin(self, venv: ResolvedVenv, from_folder: str = "") -> Install:
        """On the event loop. Raises BundleError where a run uses the one that is made again."""
        assert venv.path is not None
        if venv.state is VenvState.BROKEN and self._is_used(venv.path):
            raise BundleError(
                f"{venv.name} is damaged, and a run uses it",
                hint=f"wait for the run, or stop it; then `{venv.install_command}` makes it again",
                bundle=venv.name,
            )
        request = self._program_request(venv, INSTALL, str(venv.path), from_folder)
        return self.installs.start(str(venv.path), venv.name, request)

    async def pack(
        self, request: InstallRequest, folder: str
    ) -> AsyncGenerator[InstallProgress, None]:
        if not Path(folder).is_absolute():
            raise ConfigError(f"{folder!r} is no absolute path", field="folder")
        venv = await asyncio.to_thread(self._wanted, request)
        question = self._program_request(venv, PACK, folder, "")
        async for progress in self.installs.start(folder, venv.name, question).follow():
            yield progress

    def _wanted(self, request: InstallRequest) -> ResolvedVenv:
        """Of the accelerator that was asked for; otherwise the same build that is shown."""
        self.shelf.joined(request.name)  # raises where there is no such bundle
        venv = self.resolver.of_bundle(request.name, request.accelerator)
        if venv.problem is not None:
            raise venv.problem
        refusal = None if request.from_folder else agreed_error([venv], request.most_bytes)
        if refusal is not None:
            raise refusal
        return venv

    def _program_request(
        self, venv: ResolvedVenv, action: str, target: str, from_folder: str
    ) -> ProgramRequest:
        assert venv.lock is not None
        joined = self._joined(venv.lock)
        return ProgramRequest(
            lock=venv.lock.text,
            target=target,
            interpreter=venv.interpreter,
            action=action,
            imports=tuple(dict.fromkeys(name for item in joined for name in item.imports)),
            from_folder=from_folder,
            # What is installed here says where files are; a lock, which may be somebody else's,
            # only which they are.
            indexes=indexes_of(joined, venv.lock.accelerator),
            parent=os.getpid(),
        )

    def _joined(self, lock: Lock) -> tuple[BundleDefinition, ...]:
        """None of a lock that was kept with a run, of a package that is gone."""
        try:
            return self.shelf.joined(lock.bundle)
        except BundleError:
            return ()

    async def cancel(self, name: str) -> bool:
        found = self.installs.named(name)
        for install in found:
            await self.installs.cancel(install)
        return bool(found)

    # Removing

    async def verify(self, name: str) -> VenvInfo:
        paths = await asyncio.to_thread(self._paths_named, name)
        for path in paths:
            await asyncio.to_thread(self.store.verify, path)
        infos = await asyncio.to_thread(lambda: [self.store.info(path) for path in paths])
        broken = [info for info in infos if info.state is VenvState.BROKEN]
        return self._titled((broken or infos)[0])

    async def remove(self, name: str) -> list[VenvInfo]:
        """All of that name: of older locks, and of other accelerators."""
        paths = await asyncio.to_thread(self._paths_named, name)
        try:
            return await asyncio.to_thread(lambda: [self._removed(path) for path in paths])
        finally:
            self.on_removed()

    async def prune(self, keep_too: Iterable[Path], dry_run: bool) -> list[VenvInfo]:
        """`keep_too`: those that runs need or will need."""
        kept = set(keep_too)
        removed = await asyncio.to_thread(
            self.store.prune,
            lambda path: path in kept or self._is_current(path),
            self._is_used,
            dry_run=dry_run,
        )
        if not dry_run:
            self.on_removed()
        return [self._titled(info) for info in removed]

    def _removed(self, path: Path) -> VenvInfo:
        info = self._titled(self.store.info(path))
        self.store.remove(path, self._is_used)
        return info

    def _is_current(self, path: Path) -> bool:
        """Whether something would be started in it: its lock is the one of this installation."""
        marker = self.store.marker(path)
        if marker is None:
            return False
        try:
            lock = self.shelf.lock_of(marker.name, marker.accelerator)
        except BundleError:
            return False
        return self.store.path_of(lock, self.shelf.python) == path

    def _paths_named(self, name: str) -> list[Path]:
        found = [Path(info.path) for info in self.store.infos() if info.name == name]
        if not found:
            self.shelf.joined(name)  # raises where there is no such bundle
            raise BundleError(
                f"{name} is not installed",
                hint=f"`mosaic bundles install {name}` installs it",
                bundle=name,
            )
        return found


def _as_wanted(info: VenvInfo, venv: ResolvedVenv) -> VenvInfo:
    """One that is broken need not say any more what making it again takes."""
    lock = venv.lock
    if info.state is not VenvState.BROKEN or lock is None:
        return info
    return replace(
        info,
        accelerator=lock.accelerator,
        python=info.python or lock.python,
        lock_hash=info.lock_hash or lock.hash,
        fetch_bytes=lock.fetch_bytes,
        note=venv.note,
    )
