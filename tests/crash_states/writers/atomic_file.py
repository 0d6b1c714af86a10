"""`mosaic.files.atomic_write`: the old content or the new, and the new once it has returned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mosaic.files import atomic_write
from tests.crash_states.proof import Announce

VERSIONS = 3


def content(version: int) -> bytes:
    return f"version {version}\n".encode() * 700


def prepare(root: Path) -> None:
    (root / "file").write_bytes(content(0))


def write(root: Path, announce: Announce) -> None:
    for version in range(1, VERSIONS + 1):
        announce(f"writing {version}")
        atomic_write(root / "file", content(version))
        announce(f"written {version}")


def recover(root: Path) -> bytes:
    return (root / "file").read_bytes()


def complaint(recovered: bytes, said: Sequence[str]) -> str:
    versions = [version for version in range(VERSIONS + 1) if recovered == content(version)]
    if not versions:
        return f"torn: {len(recovered)} bytes of no version"
    newest = int(said[-1].split()[1]) if said else 0
    acknowledged = newest - 1 if said and said[-1].startswith("writing") else newest
    if not acknowledged <= versions[0] <= newest:
        return f"lost: version {versions[0]} after {acknowledged} was acknowledged"
    return ""
