"""The files of a log that rotates: `name.log` is the newest, `name.log.2` is older than `.1`."""

from __future__ import annotations

from pathlib import Path


def log_files(path: Path) -> list[Path]:
    """Oldest first; the last one is `path` itself, whether it exists or not."""
    rotated = [found for found in path.parent.glob(f"{path.name}.*") if found.suffix[1:].isdigit()]
    rotated.sort(key=lambda found: -int(found.suffix[1:]))
    return [*rotated, path]
