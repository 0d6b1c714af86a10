"""The bundles there are, what of them is installed beside MOSAIC, and their locks: from memory.

Reading all of it takes a good part of a second, and a run asks at its submission and at its launch:
it is read again only when a folder on the path, or a file of bundles, has changed.
"""

from __future__ import annotations

import platform
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from mosaic.bundles.accelerators import accelerator_here
from mosaic.bundles.definitions import BundleDefinition, BundleShelf, load_bundles
from mosaic.bundles.locks import Lock, lock_for, why_no_lock
from mosaic.bundles.presence import installed_versions, missing_requirements
from mosaic.contracts.bundles import Accelerator
from mosaic.errors import BundleError

# How long an answer is given without looking at any file.
FRESH_S = 1.0


class CachedShelf:
    """Safe to use from several threads; blocks while it reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checked_at = -FRESH_S
        self._stamps: tuple[str, ...] = ()
        self._shelf = BundleShelf({})
        self._versions: dict[str, str] = {}
        self._present: dict[str, bool] = {}
        self._locks: dict[tuple[str, Accelerator], Lock | BundleError] = {}
        self._accelerator: Accelerator | None = None

    @property
    def python(self) -> str:
        """The version of the interpreter that venvs are made from."""
        return platform.python_version()

    @property
    def accelerator(self) -> Accelerator:
        """What suits this machine; it does not change while the daemon runs."""
        if self._accelerator is None:
            self._accelerator = accelerator_here()
        return self._accelerator

    def current(self) -> BundleShelf:
        with self._lock:
            self._look()
            return self._shelf

    def joined(self, name: str) -> tuple[BundleDefinition, ...]:
        """BundleError when there is no such bundle."""
        return self.current().joined(name)

    def is_present(self, name: str) -> bool:
        """Whether all that these bundles require is installed beside MOSAIC itself."""
        with self._lock:
            self._look()
            if name not in self._present:
                joined = self._shelf.joined(name)
                missing = missing_requirements(joined, self._versions, self.python)
                self._present[name] = not missing and not any(item.own_python for item in joined)
            return self._present[name]

    def lock_of(self, name: str, accelerator: Accelerator) -> Lock:
        """BundleError, with what to do, when there is none for this machine."""
        with self._lock:
            self._look()
            key = (name, accelerator)
            if key not in self._locks:
                self._locks[key] = self._read(name, accelerator)
            found = self._locks[key]
        if isinstance(found, BundleError):
            raise found
        return found

    def why_no_lock(self, name: str, accelerator: Accelerator) -> str:
        """Why nobody made one; empty where there is one, whatever is wrong with it."""
        return why_no_lock(self.joined(name), self.python, accelerator)

    def _read(self, name: str, accelerator: Accelerator) -> Lock | BundleError:
        try:
            return lock_for(self._shelf, self._shelf.check_name(name), self.python, accelerator)
        except BundleError as error:
            return error

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._checked_at < FRESH_S:
            return
        folders = {item.folder for item in self._shelf.definitions.values()}
        stamps = tuple(_stamps(folders))
        if stamps != self._stamps or not self._stamps:
            self._shelf = load_bundles()
            self._versions = installed_versions()
            self._present, self._locks = {}, {}
            folders = {item.folder for item in self._shelf.definitions.values()}
            self._stamps = tuple(_stamps(folders))
        self._checked_at = now


def _stamps(bundle_folders: Iterable[Path]) -> Iterator[str]:
    for folder in sys.path:
        yield _stamp(Path(folder or "."))
    for bundle_folder in sorted(bundle_folders):
        for path in sorted(bundle_folder.glob("**/*")):
            yield _stamp(path)


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return f"{path}:missing"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}"
