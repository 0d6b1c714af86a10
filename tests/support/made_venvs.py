"""Folders that look like venvs, without a Python that runs."""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from mosaic.bundles.locks import Lock
from mosaic.bundles.venv_store import LOCK_TEXT, MARKER, VenvMarker
from mosaic.files import atomic_write_json


def site_of(venv: Path) -> Path:
    return venv / "lib" / "python3.11" / "site-packages"


def add_package(
    venv: Path, name: str, version: str, more: Mapping[str, bytes] | None = None
) -> None:
    """`more`: further files in its record, with their SHA-256."""
    site = site_of(venv)
    module, info = site / name / "__init__.py", site / f"{name}-{version}.dist-info"
    module.parent.mkdir(parents=True)
    info.mkdir()
    module.write_text(f"VERSION = {version!r}\n")
    hashes = {f"{name}/__init__.py": hashlib.sha256(module.read_bytes()).digest(), **(more or {})}
    lines = [f"{file},sha256={_shown(digest)},1" for file, digest in hashes.items()]
    lines += [f"{name}/__pycache__/__init__.cpython-311.pyc,,", f"{info.name}/RECORD,,"]
    (info / "RECORD").write_text("\n".join(lines) + "\n")


def make_venv(path: Path, lock: Lock, python: Path = Path(sys.executable)) -> Path:
    """As whole as `building` leaves one, as far as a store can tell."""
    for package in lock.packages:
        add_package(path, package.name, package.version)
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to(python)
    (path / LOCK_TEXT).write_text(lock.text)
    marker = VenvMarker(
        lock.bundle, lock.hash, "3.11.7", str(python), lock.accelerator, 1000.0, 4096
    )
    atomic_write_json(path / MARKER, marker.to_dict())
    return path


def _shown(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
