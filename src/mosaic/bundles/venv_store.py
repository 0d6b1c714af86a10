"""The venvs of this home: one folder each below `venvs`, each whole or absent.

    <name>-<12 hex digits>        a venv; the digits tell lock, interpreter and accelerator
    <name>-<12 hex digits>.tmp    one that is being built, see `building`
    <name>-<12 hex digits>.lock   held by whoever builds or removes it
    <name>-<12 hex digits>.log    what the package tool said in the build that failed last
    .trash-<...>                  on its way out

A folder is a venv when its marker is in it, which is written last. None is ever repaired: one that
is broken is put away when it is built anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mosaic.bundles.locks import Lock, read_lock
from mosaic.bundles.venv_contents import (
    disk_bytes,
    file_problems,
    linked_files,
    missing_packages,
)
from mosaic.contracts.bundles import Accelerator, VenvInfo, VenvState
from mosaic.errors import BundleError
from mosaic.files import (
    atomic_write_json,
    is_locked,
    read_bounded,
    read_json,
    sync_directory,
)
from mosaic.paths import Home

MARKER = "mosaic-venv.json"
LOCK_TEXT = "lock.txt"
# What a verification found that failed; the venv is broken for as long as it lies there.
FOUND_BROKEN = "mosaic-broken.json"
_USED = "mosaic-used"
BUILD_SUFFIX, LOCK_SUFFIX, LOG_SUFFIX = ".tmp", ".lock", ".log"
_TRASH = ".trash-"
_MOST_LOCK_BYTES = 2**24
_LOG_KEPT_S = 14 * 86_400
_MOST_PROBLEMS = 20
_TAKE_LOCK_S = 0.5


@dataclass(frozen=True)
class VenvMarker:
    """Says that a venv is whole, and what it is."""

    name: str
    lock_hash: str
    python: str  # "3.11.7"
    interpreter: str  # the one it was made from, which it needs to run
    accelerator: Accelerator
    installed_at: float
    disk_bytes: int

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "accelerator": self.accelerator.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> VenvMarker:
        known = {item.name: data[item.name] for item in fields(cls)}
        return cls(**{**known, "accelerator": Accelerator(known["accelerator"])})


@dataclass(frozen=True)
class _Look:
    """What a folder turned out to be."""

    state: VenvState
    marker: VenvMarker | None = None
    problem: str = ""


class VenvStore:
    """Deletes, reads and judges venvs; `building` makes them. Every call may take its time."""

    def __init__(self, home: Home) -> None:
        self.folder = home.venvs
        # Of a set of venvs, what each shares with the others: they do not change once built.
        self._shared: tuple[frozenset[tuple[str, float]], dict[Path, int]] = (frozenset(), {})

    def path_of(self, lock: Lock, interpreter_version: str) -> Path:
        """Where the venv of this lock and this version of Python ("3.11.7") is, or would be."""
        identity = f"{lock.hash}\n{interpreter_version}\n{lock.accelerator.value}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
        return self.folder / f"{lock.bundle}-{digest}"

    def paths(self) -> list[Path]:
        """All that are there, broken ones too; not those that are being built."""
        suffixes = (BUILD_SUFFIX, LOCK_SUFFIX, LOG_SUFFIX)
        return sorted(
            path
            for path in _entries(self.folder)
            if not path.name.startswith(".") and not path.name.endswith(suffixes) and path.is_dir()
        )

    def names(self) -> list[str]:
        """Of all that are there, whatever became of them."""
        return sorted({_name_of(path) for path in self.paths()})

    def state(self, path: Path) -> VenvState:
        return _look(path).state

    def marker(self, path: Path) -> VenvMarker | None:
        """None unless it is installed."""
        look = _look(path)
        return look.marker if look.state is VenvState.INSTALLED else None

    def lock_text(self, path: Path) -> str:
        """What the venv was made from; empty when that cannot be read."""
        return _lock_text(path)

    def infos(self) -> list[VenvInfo]:
        """Of all that are there. Titles are the business of whoever knows the bundles."""
        shared = self._shared_bytes()
        return [self._info(path, shared.get(path, 0)) for path in self.paths()]

    def info(self, path: Path) -> VenvInfo:
        return self._info(path, self._shared_bytes().get(path, 0))

    def mark_used(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # a home on a disk that is full works all the same
            os.close(os.open(path / _USED, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            os.utime(path / _USED)

    def remove(self, path: Path, is_used: Callable[[Path], bool]) -> None:
        """`is_used` is asked at the last moment: a venv that a run uses stays."""
        if path.parent != self.folder or path not in self.paths():
            raise BundleError(
                f"There is no venv {path.name}.",
                hint="`mosaic bundles list` shows those that are installed",
                bundle=_name_of(path),
            )
        name = _name_of(path)
        try:
            with _lock_for_removal(path, name):
                if is_used(path):
                    raise BundleError(
                        f"{name} is in use by a run.",
                        hint="wait for the run, or stop it; then remove the bundle",
                        bundle=name,
                    )
                trash = put_away(path)
                log_of(path).unlink(missing_ok=True)
        except OSError as error:
            raise BundleError(
                f"{name} cannot be removed: {path}: {error.strerror}.",
                hint=f"make {self.folder} a folder that you can write into",
                bundle=name,
            ) from error
        delete_trash(trash)

    def prune(
        self,
        keep: Callable[[Path], bool],
        is_used: Callable[[Path], bool] = lambda path: False,
        *,
        dry_run: bool = False,
    ) -> list[VenvInfo]:
        """Remove all but those to be kept or in use; what was removed, or would be."""
        removed = []
        for info in self.infos():
            path = Path(info.path)
            if keep(path) or is_used(path):
                continue
            if not dry_run:
                try:
                    self.remove(path, is_used)
                except BundleError:  # used or built anew since
                    continue
            removed.append(info)
        return removed

    def sweep(self) -> list[str]:
        """Delete what interrupted builds and removals left, at the start of the daemon.

        What somebody still works on stays. Returns the names of what went.
        """
        removed = []
        for path in _entries(self.folder):
            if path.name.startswith(_TRASH):
                delete_trash(path)
            elif path.name.endswith((BUILD_SUFFIX, LOCK_SUFFIX)):
                target = path.with_name(path.name.removesuffix(path.suffix))
                if not self._sweep_build(target):
                    continue
            elif path.name.endswith(LOG_SUFFIX) and _age(path) > _LOG_KEPT_S:
                with contextlib.suppress(OSError):
                    path.unlink()
            else:
                continue
            removed.append(path.name)
        return removed

    def verify(self, path: Path) -> list[str]:
        """What in it is not as it was installed, by the hashes its packages came with.

        A venv in which something is found counts as broken from then on.
        """
        look = _look(path, with_findings=False)
        if look.state is not VenvState.INSTALLED:
            return [look.problem or f"{path.name} is not installed"]
        problems = [*_lock_problems(path, look.marker), *file_problems(path)]
        if len(problems) > _MOST_PROBLEMS:
            more = len(problems) - _MOST_PROBLEMS
            problems = [*problems[:_MOST_PROBLEMS], f"and {more} more"]
        with contextlib.suppress(OSError):
            if problems:
                atomic_write_json(path / FOUND_BROKEN, problems)
            else:
                (path / FOUND_BROKEN).unlink(missing_ok=True)
        return problems

    def _sweep_build(self, target: Path) -> bool:
        try:
            fd = try_lock(target)
        except OSError:  # of somebody else, or on a disk that is read-only
            return False
        if fd is None:
            return False
        try:
            shutil.rmtree(build_folder(target), ignore_errors=True)
        finally:
            unlock(target, fd)
        return True

    def _info(self, path: Path, shared_bytes: int) -> VenvInfo:
        look = _look(path)
        marker = look.marker
        name = marker.name if marker else _name_of(path)
        fetch_bytes = 0
        with contextlib.suppress(BundleError):
            fetch_bytes = read_lock(_lock_text(path), LOCK_TEXT).fetch_bytes
        broken = look.state is VenvState.BROKEN
        return VenvInfo(
            name=name,
            title=name,
            about="",
            state=look.state,
            accelerator=marker.accelerator if marker else Accelerator.CPU,
            python=marker.python if marker else "",
            lock_hash=marker.lock_hash if marker else "",
            path=str(path),
            fetch_bytes=fetch_bytes,
            disk_bytes=marker.disk_bytes if marker else disk_bytes(path),
            shared_bytes=shared_bytes,
            installed_at=marker.installed_at if marker else None,
            used_at=_used_at(path),
            problem=look.problem,
            hint=rebuild_hint(name) if broken else "",
        )

    def _shared_bytes(self) -> dict[Path, int]:
        """Per venv, the bytes in files that another venv of this home has as well."""
        paths = [path for path in self.paths() if (path / MARKER).exists()]
        key = frozenset((path.name, _changed_at(path / MARKER)) for path in paths)
        if key != self._shared[0]:
            held = {path: dict(linked_files(path)) for path in paths}
            owners: dict[tuple[int, int], int] = {}
            for files in held.values():
                for file in files:
                    owners[file] = owners.get(file, 0) + 1
            found = {
                path: sum(size for file, size in files.items() if owners[file] > 1)
                for path, files in held.items()
            }
            self._shared = (key, found)
        return self._shared[1]


def python_of(path: Path) -> Path:
    return path / "bin" / "python"


def build_folder(target: Path) -> Path:
    return target.with_name(target.name + BUILD_SUFFIX)


def log_of(target: Path) -> Path:
    return target.with_name(target.name + LOG_SUFFIX)


def rebuild_hint(name: str) -> str:
    return f"`mosaic bundles install {name}` makes it again: a venv is never repaired"


def put_away(path: Path) -> Path:
    """From now on it is not there any more; what is returned is to be deleted."""
    trash = path.with_name(f"{_TRASH}{path.name}-{os.urandom(4).hex()}")
    path.rename(trash)
    sync_directory(path.parent)
    return trash


def delete_trash(trash: Path) -> None:
    """What cannot be deleted now is at the next start of the daemon."""
    if trash.is_dir() and not trash.is_symlink():
        shutil.rmtree(trash, ignore_errors=True)
    else:  # whatever somebody put there in place of a venv
        with contextlib.suppress(OSError):
            trash.unlink()


def broken_problem(path: Path) -> str:
    """Why the folder is no whole venv, in one sentence; empty when it is one, or not there."""
    return _look(path).problem


# -- Locks


def try_lock(target: Path) -> int | None:
    """The right to build or remove this venv, as a descriptor; None while somebody has it.

    Whoever inherits the descriptor has the right as well, until it ends.
    """
    path = _lock_path(target)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        fd = os.open(path, flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The one before us may have deleted the file that we had opened already.
            if os.path.samestat(os.fstat(fd), path.lstat()):
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def unlock(target: Path, fd: int) -> None:
    with contextlib.suppress(OSError):
        _lock_path(target).unlink()
    os.close(fd)


def _lock_path(target: Path) -> Path:
    return target.with_name(target.name + LOCK_SUFFIX)


@contextlib.contextmanager
def _lock_for_removal(path: Path, name: str) -> Iterator[None]:
    # Who merely looks whether it is locked holds it for a moment, too.
    deadline = time.monotonic() + _TAKE_LOCK_S
    while (fd := try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise BundleError(
                f"{name} is being installed.",
                hint="cancel that first, or wait for it",
                bundle=name,
            )
        time.sleep(0.01)
    try:
        yield
    finally:
        unlock(path, fd)


# -- What a folder is


def _look(path: Path, with_findings: bool = True) -> _Look:
    if not os.path.lexists(path):
        is_built = is_locked(_lock_path(path))
        return _Look(VenvState.INSTALLING if is_built else VenvState.ABSENT)
    try:
        data = read_json(path / MARKER)
        marker = VenvMarker.from_dict(data) if data is not None else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return _Look(VenvState.BROKEN, problem=f"its marker {MARKER} cannot be read: {error}")
    if marker is None:
        return _Look(VenvState.BROKEN, problem=f"it has no {MARKER}: it was never whole")
    if not python_of(path).exists():
        problem = f"the Python it was made from, {marker.interpreter}, is gone"
        return _Look(VenvState.BROKEN, marker, problem)
    if with_findings and (found := _findings(path)):
        return _Look(VenvState.BROKEN, marker, found)
    return _Look(VenvState.INSTALLED, marker)


def _findings(path: Path) -> str:
    try:
        found = read_json(path / FOUND_BROKEN)
    except (OSError, ValueError):
        return "a verification found it broken"
    return "; ".join(str(item) for item in found[:3]) if isinstance(found, list) else ""


def _lock_text(path: Path) -> str:
    with contextlib.suppress(OSError, BundleError, ValueError):
        return (read_bounded(path / LOCK_TEXT, _MOST_LOCK_BYTES) or b"").decode()
    return ""


def _lock_problems(path: Path, marker: VenvMarker | None) -> Iterator[str]:
    try:
        lock = read_lock(_lock_text(path), f"{path.name}/{LOCK_TEXT}")
    except BundleError as error:
        yield error.message
        return
    if marker is not None and lock.hash != marker.lock_hash:
        yield f"{LOCK_TEXT} is not the lock it was made from"
    for package in missing_packages(path, lock.packages):
        yield f"{package.name} {package.version} is not in it"


def _name_of(path: Path) -> str:
    """Of a venv whose marker does not say it."""
    return path.name.rpartition("-")[0] or path.name


# -- Files


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _used_at(path: Path) -> float | None:
    return _changed_at(path / _USED) or None


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _age(path: Path) -> float:
    return time.time() - _changed_at(path)
