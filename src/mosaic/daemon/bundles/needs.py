"""Which interpreter a need resolves to: the daemon's own, that of a venv, or none yet."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic.bundles.accelerators import stand_ins, why_instead
from mosaic.bundles.locks import Lock
from mosaic.bundles.venv_store import VenvStore, broken_problem, python_of, rebuild_hint
from mosaic.contracts.bundles import Accelerator, VenvNeed, VenvState, holds
from mosaic.daemon.bundles.shelf import CachedShelf
from mosaic.daemon.workers.interpreters import python_version, version_text
from mosaic.errors import BundleError, InterpreterError

# Longer names are none of ours; those of folders have an end.
_LONGEST_NAME = 200


@dataclass(frozen=True)
class ResolvedVenv:
    """A need, and what there is to meet it."""

    # Its name is that of the venv which meets it, and that may hold more than was needed.
    need: VenvNeed
    state: VenvState
    # Of the venv as it is, or as it would be; None where it is present, or cannot be had.
    lock: Lock | None = None
    path: Path | None = None
    # Its interpreter, whether it is there already or not.
    python: str = ""
    # What it would be made from, or was.
    interpreter: str = ""
    python_version: str = ""
    # Why it cannot be had, or cannot be used as it is.
    problem: BundleError | None = None
    # Its lock was kept with a run, and is none of this installation's.
    is_foreign: bool = False
    # Of a build that stands in for the one that suits the machine: why, as a sentence.
    note: str = ""

    @property
    def name(self) -> str:
        return self.need.name

    @property
    def is_usable(self) -> bool:
        return self.state in (VenvState.PRESENT, VenvState.INSTALLED)

    @property
    def fetch_bytes(self) -> int:
        return 0 if self.lock is None or self.is_usable else self.lock.fetch_bytes

    @property
    def install_command(self) -> str:
        return f"mosaic bundles install {self.name}"


class VenvResolver:
    """Safe to use from several threads; reads files, so not for the event loop."""

    def __init__(
        self,
        store: VenvStore,
        shelf: CachedShelf,
        find_program: Callable[[str], str | None] = shutil.which,
    ) -> None:
        self.store = store
        self.shelf = shelf
        self._find_program = find_program

    def resolve(self, need: VenvNeed, kept: Mapping[str, Lock] | None = None) -> ResolvedVenv:
        """What a run gets: its own venv, else the smallest installed one that holds all of it.

        `kept`: locks that are used instead of those of this installation.
        """
        lock = _kept_lock(need.name, kept or {})
        if lock is not None:
            venv = self._of_lock(replace(need, name=lock.bundle), lock)
            return replace(venv, is_foreign=not self._is_ours(lock))
        found = self.exact(need)
        return found if found.is_usable else self._larger(need) or found

    def exact(self, need: VenvNeed, accelerator: Accelerator | None = None) -> ResolvedVenv:
        """That bundle itself, as people speak of it: no other counts for it."""
        try:
            if self.shelf.is_present(need.name):
                return ResolvedVenv(need, VenvState.PRESENT)
        except BundleError as error:
            return ResolvedVenv(need, VenvState.UNAVAILABLE, problem=error)
        first: ResolvedVenv | None = None
        for candidate in self._candidates(need, accelerator):
            if candidate.state is VenvState.INSTALLED:
                # Also one that does not suit this machine best: somebody has chosen it.
                return candidate
            first = first or candidate
        assert first is not None
        return first

    def mark_used(self, path: Path) -> None:
        self.store.mark_used(path)

    def of_bundle(self, name: str, accelerator: Accelerator | None) -> ResolvedVenv:
        """Its venv, whether or not all of it is present; raises BundleError where it has none.

        None: the build that suits this machine, or stands in for it.
        """
        lock, note = self._build(name, accelerator)
        return replace(self._of_lock(VenvNeed(name), lock), note=note)

    def _build(self, name: str, accelerator: Accelerator | None) -> tuple[Lock, str]:
        """The lock, with a note where it stands in for another.

        Only where nobody made the lock that suits the machine: one that is damaged is said to be.
        """
        suitable = accelerator or self.shelf.accelerator
        try:
            return self.shelf.lock_of(name, suitable), ""
        except BundleError:
            reason = "" if accelerator else self.shelf.why_no_lock(name, suitable)
            for item in stand_ins(suitable) if reason else ():
                with contextlib.suppress(BundleError):
                    return self.shelf.lock_of(name, item), why_instead(item, reason)
            raise

    def _larger(self, need: VenvNeed) -> ResolvedVenv | None:
        """An installed one with the same packages and others: of those with the builds that it
        would have itself, the smallest."""
        wanted, found = self._wanted_accelerator(need.name), []
        for name in self.store.names():
            if name == need.name or not holds(name, need.name):
                continue
            venv = self.exact(replace(need, name=name))
            lock = venv.lock
            if venv.state is VenvState.INSTALLED and lock and self._agrees(lock, need.name):
                found.append((lock.accelerator is not wanted, lock.fetch_bytes, name, venv))
        return min(found, key=lambda item: item[:3])[-1] if found else None

    def _agrees(self, lock: Lock, name: str) -> bool:
        """Whether it has what the lock of that name has, in the same versions."""
        try:
            smaller = self.shelf.lock_of(name, lock.accelerator)
        except BundleError:
            return True  # there is none that could say something else
        return _versions(smaller) <= _versions(lock)

    def _wanted_accelerator(self, name: str) -> Accelerator:
        try:
            return self._build(name, None)[0].accelerator
        except BundleError:
            return self.shelf.accelerator

    def _is_ours(self, lock: Lock) -> bool:
        try:
            return self.shelf.lock_of(lock.bundle, lock.accelerator).hash == lock.hash
        except BundleError:
            return False

    def _candidates(
        self, need: VenvNeed, accelerator: Accelerator | None
    ) -> Iterator[ResolvedVenv]:
        try:
            yield replace(self.of_bundle(need.name, accelerator), need=need)
        except BundleError as error:
            yield ResolvedVenv(need, VenvState.UNAVAILABLE, problem=error)
        for item in () if accelerator else Accelerator:
            with contextlib.suppress(BundleError):
                yield self._of_lock(need, self.shelf.lock_of(need.name, item))

    def _of_lock(self, need: VenvNeed, lock: Lock) -> ResolvedVenv:
        try:
            interpreter, version = self._interpreter_for(lock)
        except BundleError as error:
            return ResolvedVenv(need, VenvState.UNAVAILABLE, lock=lock, problem=error)
        path = self.store.path_of(lock, version)
        python = str(python_of(path))
        state = self.store.state(path)
        return ResolvedVenv(need, state, lock, path, python, interpreter, version)

    def _interpreter_for(self, lock: Lock) -> tuple[str, str]:
        """Our own where its version is the one of the lock, else one that is installed here."""
        if lock.python == _short(self.shelf.python):
            return sys.executable, self.shelf.python
        found = self._find_program(f"python{lock.python}")
        if found is not None:
            try:
                version = version_text(python_version(found))
            except InterpreterError:
                version = ""
            if _short(version) == lock.python:
                return found, version
        raise BundleError(
            f"{lock.bundle} was locked for Python {lock.python}, which is not installed here "
            f"(MOSAIC itself runs on {_short(self.shelf.python)}).",
            hint=f"Install Python {lock.python}, so that `python{lock.python}` is found.",
            bundle=lock.bundle,
        )


def _kept_lock(name: str, kept: Mapping[str, Lock]) -> Lock | None:
    """The one of that name; else the smallest that a run with this need can have run by."""
    larger = [
        lock for known, lock in kept.items() if len(known) <= _LONGEST_NAME and holds(known, name)
    ]
    smallest = min(larger, key=lambda lock: (lock.fetch_bytes, lock.bundle), default=None)
    return kept.get(name, smallest)


def _versions(lock: Lock) -> set[tuple[str, str]]:
    return {(package.name, package.version) for package in lock.packages}


def missing_error(missing: Sequence[ResolvedVenv]) -> BundleError:
    """For whoever starts a run that cannot start yet; about the first, with what to do for all."""
    first = missing[0]
    commands = " and ".join(f"`{venv.install_command}`" for venv in missing)
    if first.problem is not None:
        return first.problem
    if first.state is VenvState.BROKEN:
        problem = broken_problem(first.path) if first.path is not None else ""
        return BundleError(
            f"{first.name} is damaged: {problem}", hint=rebuild_hint(first.name), bundle=first.name
        )
    names = " and ".join(venv.name for venv in missing)
    fetched = sum(venv.fetch_bytes for venv in missing)
    message = (
        f"The run needs {names}, which is not installed (at most {amount_of(fetched)} to fetch)"
    )
    note = " ".join(dict.fromkeys(venv.note for venv in missing if venv.note))
    return BundleError(
        f"{message}. {note.removesuffix('.')}" if note else message,
        hint=commands,
        bundle=first.name,
        fetch_bytes=fetched,
        **({"note": note} if note else {}),
    )


def waiting_for_somebody(missing: Sequence[ResolvedVenv], run_id: str) -> str:
    """Of a run in the queue: what goes on with it, as nobody agreed to an install."""
    error = missing_error([replace(venv, note="") for venv in missing])
    return f"{error.message.rstrip('.')}: {error.hint}, or `mosaic stop {run_id}`"


def agreed_error(missing: Sequence[ResolvedVenv], most_bytes: int | None) -> BundleError | None:
    """None where installing these fetches no more than somebody agreed to."""
    needed = sum(venv.fetch_bytes for venv in missing)
    if most_bytes is None or needed <= most_bytes:
        return None
    names = " and ".join(venv.name for venv in missing)
    return BundleError(
        f"Installing {names} would fetch up to {amount_of(needed)}; "
        f"{amount_of(most_bytes)} were agreed to",
        hint=" and ".join(f"`{venv.install_command}`" for venv in missing),
        bundle=missing[0].name,
        fetch_bytes=needed,
        most_bytes=most_bytes,
    )


def amount_of(size: int) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])
