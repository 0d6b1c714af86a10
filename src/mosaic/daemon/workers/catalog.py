"""Finds workers: those installed beside the daemon, and those announced by manifests.

A worker describes itself in its own interpreter (`python -m mosaic.worker.discovery`), never in the
daemon. The description is kept, and asked for again only when something it depends on has changed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import math
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import mosaic
from mosaic.contracts.capabilities import WORKERS_GROUP
from mosaic.contracts.worker_info import ENTRY_POINT_SOURCE
from mosaic.contracts.worker_manifest import WorkerManifest, parse_worker_manifest
from mosaic.daemon.workers.discovery import Announcement, describe
from mosaic.daemon.workers.entry import WorkerEntry, find_worker, unknown_worker
from mosaic.daemon.workers.path_links import PathLinks
from mosaic.errors import MosaicError
from mosaic.files import atomic_write_json, read_json
from mosaic.foreign.files import MAX_DOCUMENT_BYTES, read_regular
from mosaic.logs import get_logger
from mosaic.paths import Home

# A worker's package is small; whatever is larger is not walked to the end.
MAX_STAMPED_FILES = 2000
_SUFFIXES = (".py", ".json", ".toml")


log = get_logger(__name__)

CACHE_VERSION = 1
# How long an answer is given without looking at any file.
FRESH_S = 1.0
MAX_PROBES = 4
# A worker that did not answer may only have been slow: asked again, but not all the time.
RETRY_S = 30.0


class WorkerCatalog:
    """Answers from memory as long as nothing changed. Safe to use from several threads.

    `entries`, `find` and `resolve` may start processes when something did change: call them
    outside of the event loop.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._links = PathLinks(home)
        self._lock = threading.Lock()
        self._entries: list[WorkerEntry] = []
        self._checked_at = -FRESH_S
        self._sources: dict[str, dict[str, Any]] = {}
        self._retry_at: dict[str, float] = {}
        self._is_loaded = False

    @property
    def python(self) -> str:
        """The daemon's own interpreter."""
        return sys.executable

    @property
    def sdk_dir(self) -> str:
        """A folder that holds the `mosaic` package and nothing else, for other interpreters."""
        return self._links.sdk

    def path_of(self, entry: WorkerEntry) -> str:
        """A folder that holds MOSAIC and this worker and nothing else."""
        return self._links.path_of(entry)

    def entries(self, refresh: bool = False) -> list[WorkerEntry]:
        """All workers by name, broken ones included; `refresh` asks every one of them again."""
        with self._lock:
            if refresh or time.monotonic() - self._checked_at >= FRESH_S:
                self._look(refresh)
                self._checked_at = time.monotonic()
            return list(self._entries)

    def find(self, name: str) -> WorkerEntry | None:
        return find_worker(self.entries(), name)

    def resolve(self, name: str) -> WorkerEntry:
        """By name, module or package; raises UnknownWorkerError with close matches."""
        entries = self.entries()
        entry = find_worker(entries, name)
        if entry is None:
            raise unknown_worker(entries, name)
        return entry

    def _look(self, refresh: bool) -> None:
        if not self._is_loaded:
            self._sources = self._load_cache()
            self._is_loaded = True
        announced = self._announcements()
        stale = [item for item in announced.values() if refresh or self._is_stale(item)]
        if stale:
            with ThreadPoolExecutor(MAX_PROBES, thread_name_prefix="discovery") as pool:
                for item, entries in zip(stale, pool.map(describe, stale), strict=True):
                    self._keep(item, entries)
        is_changed = bool(stale) or self._sources.keys() != announced.keys()
        self._sources = {source: self._sources[source] for source in announced}
        if is_changed:
            self._save_cache()
        if is_changed or not self._entries:
            self._entries = self._merged()

    def _is_stale(self, item: Announcement) -> bool:
        known = self._sources.get(item.source)
        if known is None or known["fingerprint"] != item.fingerprint:
            return True
        return time.monotonic() >= self._retry_at.get(item.source, math.inf)

    def _keep(self, item: Announcement, entries: list[WorkerEntry]) -> None:
        self._retry_at.pop(item.source, None)
        if any(entry.error for entry in entries) and not item.problem:
            self._retry_at[item.source] = time.monotonic() + RETRY_S
        self._sources[item.source] = {
            "fingerprint": item.fingerprint,
            "workers": [entry.to_dict() for entry in entries],
        }
        log.info("workers.discovered", source=item.source, count=len(entries))

    def _announcements(self) -> dict[str, Announcement]:
        """Where workers come from at present, with what their descriptions depend on."""
        installed = installed_workers()
        announced = {
            ENTRY_POINT_SOURCE: Announcement(
                source=ENTRY_POINT_SOURCE,
                fingerprint=installed_fingerprint(installed),
                python=self.python,
                workers=tuple(installed),
            )
        }
        for path in sorted(self._home.worker_manifests.glob("*.toml")):
            announced[str(path)] = self._read_manifest(path)
        return announced

    def _read_manifest(self, path: Path) -> Announcement:
        text = ""
        try:
            text = read_regular(path, MAX_DOCUMENT_BYTES).decode()
            manifest = parse_worker_manifest(text, path.parent)
        except (MosaicError, OSError, UnicodeDecodeError) as error:
            return Announcement(
                source=str(path),
                fingerprint=f"broken: {error} {text}",
                python="",
                workers=((path.stem, ""),),
                problem=str(error),
            )
        return self._announcement(path, text, manifest)

    def _announcement(self, path: Path, text: str, manifest: WorkerManifest) -> Announcement:
        python = manifest.python or self.python
        is_foreign = python != self.python
        return Announcement(
            source=str(path),
            fingerprint=manifest_fingerprint(text, manifest),
            python=python,
            workers=((manifest.name, manifest.entry_point),),
            path_dirs=manifest.path,
            sdk_dir=self.sdk_dir if is_foreign else "",
        )

    def _merged(self) -> list[WorkerEntry]:
        """One usable entry per name; the installed worker wins over a manifest of the same name."""
        taken: dict[str, WorkerEntry] = {}
        merged: list[WorkerEntry] = []
        for source in self._sources.values():
            for entry in map(WorkerEntry.from_dict, source["workers"]):
                first = taken.setdefault(entry.name, entry)
                if first is not entry and not entry.error:
                    problem = f"the name {entry.name!r} is taken by another worker ({first.source})"
                    entry = replace(entry, error=problem)
                merged.append(entry)
        return sorted(merged, key=lambda entry: (entry.name, bool(entry.error)))

    def _load_cache(self) -> dict[str, dict[str, Any]]:
        try:
            data = read_json(self._home.worker_catalog)
            if data is None or data["version"] != CACHE_VERSION:
                return {}
            sources: dict[str, dict[str, Any]] = data["sources"]
            usable = {}
            for name, source in sources.items():
                entries = [WorkerEntry.from_dict(worker) for worker in source["workers"]]
                if source["fingerprint"] and not any(entry.error for entry in entries):
                    usable[name] = source
        except (OSError, ValueError, TypeError, KeyError, AttributeError, MosaicError):
            return {}  # only a cache: ask the workers again
        return usable

    def _save_cache(self) -> None:
        try:
            atomic_write_json(
                self._home.worker_catalog, {"version": CACHE_VERSION, "sources": self._sources}
            )
        except (OSError, ValueError) as error:
            log.warning("catalog.unsaved", error=str(error))


def installed_workers() -> list[tuple[str, str]]:
    """(name, "package:function") of every worker in this environment, without importing any."""
    found = importlib.metadata.entry_points(group=WORKERS_GROUP)
    return sorted({(point.name, point.value) for point in found})


def installed_fingerprint(workers: Iterable[tuple[str, str]]) -> str:
    parts = [*_common(), sys.executable, *_stamps(Path(folder) for folder in sys.path if folder)]
    for name, value in workers:
        parts += [name, value, *_package_stamps(_installed_package(value))]
    return _digest(parts)


def manifest_fingerprint(text: str, manifest: WorkerManifest) -> str:
    parts = [*_common(), text]
    if manifest.python is not None:
        python = Path(manifest.python)
        libraries = sorted((python.parent.parent / "lib").glob("python3*/site-packages"))
        parts += [*_stamps([python, *libraries])]
    top = manifest.package.partition(".")[0]
    for folder in manifest.path:
        parts += [*_package_stamps(Path(folder) / top), *_stamps([Path(folder) / f"{top}.py"])]
    return _digest(parts)


def _common() -> list[str]:
    root = Path(mosaic.__file__).parent
    shared = [*_package_stamps(root / "worker"), *_package_stamps(root / "contracts")]
    return [mosaic.__version__, sys.version, *shared]


def _installed_package(value: str) -> Path | None:
    top = value.partition(":")[0].partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return origin.parent if spec.submodule_search_locations else origin


def _package_stamps(path: Path | None) -> list[str]:
    if path is None:
        return []
    return list(_stamps([path])) if path.is_file() else list(_stamps(_source_files(path)))


def _source_files(folder: Path) -> Iterator[Path]:
    count = 0
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(files):
            if name.endswith(_SUFFIXES):
                count += 1
                if count > MAX_STAMPED_FILES:
                    return
                yield Path(where) / name


def _stamps(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            yield f"{path}:missing"
        else:
            yield f"{path}:{status.st_mtime_ns}:{status.st_size}"


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
