"""Fingerprints of what a worker's description depends on, cheap enough to take at every submit."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import mosaic
from mosaic.contracts.worker_manifest import WorkerManifest

ENTRY_POINT_GROUP = "mosaic.workers"
# A worker's package is small; whatever is larger is not walked to the end.
MAX_FILES = 2000
_SUFFIXES = (".py", ".json", ".toml")


def installed_workers() -> list[tuple[str, str]]:
    """(name, "package:function") of every worker in this environment, without importing any."""
    found = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
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
                if count > MAX_FILES:
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
