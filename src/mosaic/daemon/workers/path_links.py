"""Folders for PYTHONPATH that hold single packages: links to MOSAIC and to workers.

Another interpreter gets these and nothing of the environment that MOSAIC is installed in: the
packages there are of other versions, or made for another Python.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path

import mosaic
from mosaic.contracts.capabilities import WORKERS_GROUP
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)


class PathLinks:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()

    @property
    def sdk(self) -> str:
        """A folder with MOSAIC alone."""
        return self._linked("sdk", {"mosaic": Path(mosaic.__file__).parent})

    def path_of(self, entry: WorkerEntry) -> str:
        """A folder with MOSAIC and this worker."""
        targets = worker_packages(entry) if entry.path_dirs == () else {}
        name = re.sub(r"[^A-Za-z0-9_-]", "_", entry.name)
        return self._linked(f"sdk-{name}", {**targets, "mosaic": Path(mosaic.__file__).parent})

    def _linked(self, name: str, targets: Mapping[str, Path]) -> str:
        folder = self._home.trainer / name
        with self._lock:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for present in folder.iterdir():
                if present.name not in targets:  # of an earlier version of it
                    with contextlib.suppress(OSError):
                        present.unlink()
            for link_name, target in targets.items():
                _link(folder / link_name, target)
        return str(folder)


def _link(link: Path, target: Path) -> None:
    with contextlib.suppress(OSError):
        if link.readlink() == target:
            return
    temporary = link.with_name(f".{link.name}.{os.getpid()}.{threading.get_ident()}")
    temporary.symlink_to(target)
    temporary.replace(link)


def worker_packages(entry: WorkerEntry) -> dict[str, Path]:
    """The worker's package, the others of its distribution, and what says which that is."""
    found: dict[str, Path] = {}
    for name in (entry.package, *_of_distribution(entry, found)):
        if name not in found and (path := _importable(name)) is not None:
            found[path.name] = path
    return found


def _of_distribution(entry: WorkerEntry, found: dict[str, Path]) -> list[str]:
    for point in importlib.metadata.entry_points(group=WORKERS_GROUP):
        distribution = point.dist
        is_ours = point.value.partition(":")[0].partition(".")[0] == entry.package
        if distribution is None or point.name != entry.name or not is_ours:
            continue
        for file in distribution.files or ():
            if file.name == "METADATA" and file.parent.suffix == ".dist-info":
                folder = Path(str(distribution.locate_file(file.parent)))
                found[folder.name] = folder
        return (distribution.read_text("top_level.txt") or "").split()
    return []


def _importable(name: str) -> Path | None:
    """The folder or file of a top-level package; None for what is no name of one."""
    if not name.isidentifier():
        return None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    origin = Path(spec.origin)
    return origin.parent if spec.submodule_search_locations else origin
