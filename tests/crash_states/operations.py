"""What a writer did to the disk, as a list: the vocabulary of recorder and model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

ROOT = 0  # the inode of the recorded folder


class Entry(NamedTuple):
    """One name in one folder; without an inode the name is gone."""

    folder: int
    name: str
    inode: int | None


@dataclass(frozen=True)
class Naming:
    """A name made, moved or removed: all of `entries` change at once or not at all."""

    what: str
    inode: int
    entries: tuple[Entry, ...]
    folder: int  # whose fsync makes sure of it


@dataclass(frozen=True)
class Write:
    what: str
    inode: int
    offset: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Resize:
    what: str
    inode: int
    size: int


@dataclass(frozen=True)
class Sync:
    """What concerned the inode among the first `covers` operations is on the disk for good."""

    what: str
    inode: int
    covers: int

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Said:
    """The writer told somebody something: what it is about to do, or what it has done."""

    text: str

    def __str__(self) -> str:
        return f"it said {self.text!r}"


Change = Naming | Write | Resize
Operation = Change | Sync | Said


@dataclass
class Tree:
    """Folders and files by inode; what the disk holds before the first operation."""

    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    files: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Recording:
    initial: Tree
    operations: tuple[Operation, ...]
    folders: frozenset[int] = frozenset({ROOT})  # inodes that are no files, at any time
    # Files whose content was changed through a mapping, so that nobody knows what they hold.
    mapped: frozenset[int] = frozenset()

    @property
    def changes(self) -> dict[int, Change]:
        """By their place among the operations; the content of mapped files does not count."""
        return {
            number: operation
            for number, operation in enumerate(self.operations)
            if isinstance(operation, Naming)
            or (isinstance(operation, Write | Resize) and operation.inode not in self.mapped)
        }
