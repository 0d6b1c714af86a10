"""The files of a log that rotates: `name.log` is the newest, `name.log.2` is older than `.1`."""

from __future__ import annotations

import re
from pathlib import Path


def log_files(path: Path) -> list[Path]:
    """Oldest first; the last one is `path` itself, whether it exists or not."""
    found_here = path.parent.glob(f"{path.name}.*")
    rotated = [found for found in found_here if re.fullmatch(r"\.[0-9]{1,9}", found.suffix)]
    rotated.sort(key=lambda found: -int(found.suffix[1:]))
    return [*rotated, path]
