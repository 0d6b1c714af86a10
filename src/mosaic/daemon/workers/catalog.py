"""Finds workers: those installed beside the daemon, and those announced by manifests.

A worker describes itself in its own interpreter (`python -m mosaic.worker.discovery`), never in the
daemon. What it said is kept and asked for again only when something it depends on has changed.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import mosaic
from mosaic.contracts.worker_manifest import WorkerManifest, parse_worker_manifest
from mosaic.daemon.workers.discovery import Announcement, describe
from mosaic.daemon.workers.entry import (
    ENTRY_POINT_SOURCE,
    WorkerEntry,
    find_worker,
    unknown_worker,
)
from mosaic.daemon.workers.fingerprint import (
    installed_fingerprint,
    installed_workers,
    manifest_fingerprint,
)
from mosaic.errors import MosaicError
from mosaic.files import atomic_write_json, read_json
from mosaic.foreign_files import read_regular
from mosaic.foreign_json import MAX_DOCUMENT_BYTES
from mosaic.logs import get_logger
from mosaic.paths import Home

__all__ = ["WorkerCatalog", "WorkerEntry"]

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
        folder = self._home.trainer / "sdk"
        link, target = folder / "mosaic", Path(mosaic.__file__).parent
        with contextlib.suppress(OSError):
            if link.readlink() == target:
                return str(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".mosaic.{os.getpid()}.{threading.get_ident()}"
        temporary.symlink_to(target)
        temporary.replace(link)
        return str(folder)

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
