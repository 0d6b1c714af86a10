"""A folder that shows TensorBoard some runs under their names: one link for each of their logs.

TensorBoard's own way to name folders (`--logdir_spec`) knows no commas or colons in names, and
rules out its fast loader.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from mosaic.errors import RequestError

MAX_NAME_BYTES = 200


class LogTree:
    """`logs` is the folder to show. Made empty; `remove` leaves nothing behind."""

    def __init__(self, parent: Path | None = None) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="mosaic-tensorboard-", dir=parent))
        self.logs = self.root / "logs"
        self.logs.mkdir()
        self._names: set[str] = set()

    def add(self, name: str, folder: Path) -> str:
        """Show a folder, which may still have to appear; returns the name it got."""
        link = self._free_place(name)
        link.symlink_to(folder.absolute(), target_is_directory=True)
        return link.name

    def new_place(self, name: str) -> Path:
        """Where a folder of that name may be made, for logs that are only made to be shown."""
        return self._free_place(name)

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def names(self) -> list[str]:
        return sorted(self._names)

    def _free_place(self, name: str) -> Path:
        chosen = free_name(name, self._names)
        self._names.add(chosen)
        return self.logs / chosen


def free_name(name: str, taken: Collection[str]) -> str:
    """The name as far as a file can have it; with a number where it is taken already."""
    plain = "".join("_" if c in "/\\\0" or not c.isprintable() else c for c in name).strip(" .")
    plain = plain.encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "run"
    # File systems of other machines do not tell upper from lower case.
    lowered = {one.casefold() for one in taken}
    for number in range(1, len(taken) + 2):
        candidate = plain if number == 1 else f"{plain} ({number})"
        if candidate.casefold() not in lowered:
            return candidate
    raise RequestError(f"There is no free name left for {name!r}")
