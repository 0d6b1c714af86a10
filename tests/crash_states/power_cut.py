"""What a disk can hold after a power cut: a model of a POSIX file system without mercy.

Until an fsync says otherwise, each operation may have reached the disk or not, whatever became of
those before and after it. In particular:

- A file's data and its names are separate. fsync of a file makes sure of its data and size, not of
  its name; fsync of a folder makes sure of the names in it, not of the data behind them, nor of the
  folder's own name in the folder above.
- A write may be lost, whole, cut in the middle, or show as zeros: the file grew, the data did not
  arrive. Writes to one file are not ordered.
- A rename happens whole or not at all, and is sure once the folder it leads to is synced. The names
  in a folder are not ordered among each other. Changes to the names of the *same* file or folder
  are: no disk shows the second rename of a file without the first.
- A file that was changed through a mapping (SQLite's -shm, which it makes anew) holds rubbish.
- fdatasync is fsync; sync_file_range promises nothing.

Reordering needs no orders of its own: operations on different things commute, and of two on the
same thing the later one wins; so every order that a disk may choose looks, at the moment of the
cut, like a set of operations that were lost. Between two syncs the set of what may be lost only
grows; so it is enough to cut the power right before each sync and each word of the writer. Every
earlier moment is among these states, as the one in which all that came later is lost.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from tests.crash_states.operations import (
    ROOT,
    Change,
    Naming,
    Recording,
    Resize,
    Said,
    Sync,
    Write,
)

RUBBISH = b"\xa5" * 32_768


class Fate(Enum):
    LOST = "lost"
    KEPT = "kept"
    TORN = "torn"  # its first half arrived
    ZEROS = "zeros"  # the file has the size, but not the data


Fates = tuple[Fate, ...]


@dataclass(frozen=True)
class Effort:
    """All subsets of up to `exhaustive` operations; beyond that, chosen ones and a sample."""

    exhaustive: int
    with_pairs: bool
    samples: int


QUICK = Effort(exhaustive=3, with_pairs=False, samples=4)
THOROUGH = Effort(exhaustive=8, with_pairs=True, samples=40)
SEED = 20_240_229


class DiskState:
    """The names and contents that one choice of fates leaves."""

    def __init__(self, tree: Mapping[str, int | None], images: _Images, fates: Mapping[int, Fate]):
        self._tree = tree  # inode by path; None for a folder
        self._images = images
        self._fates = fates

    @property
    def paths(self) -> list[str]:
        return sorted(self._tree)

    @property
    def unknown_paths(self) -> set[str]:
        return {path for path, inode in self._tree.items() if inode in self._images.mapped}

    def content(self, path: str) -> bytes | None:
        """None for a folder."""
        inode = self._tree[path]
        return None if inode is None else self._images.image(inode, self._fates)[0]

    @property
    def digest(self) -> bytes:
        total = hashlib.blake2b(digest_size=16)
        for path in self.paths:
            inode = self._tree[path]
            content = b"" if inode is None else self._images.image(inode, self._fates)[1]
            total.update(path.encode() + b"\0" + content)
        return total.digest()

    def write_below(self, root: Path) -> None:
        for path in self.paths:  # a folder sorts before what is in it
            content = self.content(path)
            if content is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(content)


@dataclass(frozen=True)
class PowerCut:
    disk: DiskState
    before: str  # the operation that did not happen any more
    said: tuple[str, ...]  # by the writer so far
    damage: tuple[str, ...]  # what did not arrive whole


def undisturbed(recording: Recording) -> DiskState:
    """The disk when everything arrived."""
    return _Disk(recording).state(dict.fromkeys(recording.changes, Fate.KEPT))


def unsynced(recording: Recording) -> Recording:
    """The same writer, had it never called fsync."""
    operations = (each for each in recording.operations if not isinstance(each, Sync))
    return replace(recording, operations=tuple(operations))


def power_cuts(recording: Recording, effort: Effort) -> Iterator[PowerCut]:
    chance = random.Random(SEED)
    disk = _Disk(recording)
    all_changes = recording.changes
    safe: set[int] = set()
    pending: list[int] = []
    said: list[str] = []
    for index, operation in enumerate((*recording.operations, None)):
        if isinstance(operation, Naming | Write | Resize):
            if index in all_changes:
                pending.append(index)
            continue
        before = "the end" if operation is None else str(operation)
        kept = dict.fromkeys(safe, Fate.KEPT)
        changes = [all_changes[number] for number in pending]
        for fates in choices(changes, effort, chance):
            chosen = kept | dict(zip(pending, fates, strict=True))
            damage = tuple(
                f"{fate.value}: {change.what}"
                for change, fate in zip(changes, fates, strict=True)
                if fate is not Fate.KEPT
            )
            yield PowerCut(disk.state(chosen), before, tuple(said), damage)
        if isinstance(operation, Said):
            said.append(operation.text)
        elif isinstance(operation, Sync):
            safe |= synced({number: all_changes[number] for number in pending}, operation)
            pending = [number for number in pending if number not in safe]


def synced(pending: Mapping[int, Change], sync: Sync) -> set[int]:
    """Which of the pending changes a sync makes sure of."""
    changes = {number: change for number, change in pending.items() if number < sync.covers}
    sure = {
        number
        for number, change in changes.items()
        if (change.folder if isinstance(change, Naming) else change.inode) == sync.inode
    }
    # A later name of a file cannot be on the disk without the changes that led to it.
    named = {changes[n].inode: n for n in sorted(sure) if isinstance(changes[n], Naming)}
    led_there = {
        number
        for number, change in changes.items()
        if isinstance(change, Naming) and number < named.get(change.inode, -1)
    }
    return sure | led_there


def choices(changes: Sequence[Change], effort: Effort, chance: random.Random) -> Iterator[Fates]:
    """What may become of changes that no sync has made sure of."""
    for fates in _whole_or_lost(len(changes), effort, chance):
        if _is_possible(changes, fates):
            yield fates
    yield from _damaged(changes)
    for _ in range(effort.samples):
        fates = tuple(chance.choice(_possible_fates(change)) for change in changes)
        if _is_possible(changes, fates):
            yield fates


def _whole_or_lost(count: int, effort: Effort, chance: random.Random) -> Iterator[Fates]:
    both = (Fate.KEPT, Fate.LOST)
    recent = min(count, effort.exhaustive)
    # All subsets of the newest; where there are more, the older ones all arrived, or none did.
    for fates in itertools.product(both, repeat=recent):
        for older in both if count > recent else (Fate.KEPT,):
            yield (older,) * (count - recent) + fates
    if count == recent:
        return
    for number in range(count + 1):
        yield (Fate.KEPT,) * number + (Fate.LOST,) * (count - number)
    for number in range(count):
        for fate, others in (both, both[::-1]):
            yield tuple(fate if place == number else others for place in range(count))
    if effort.with_pairs:
        for pair in itertools.combinations(range(count), 2):
            yield tuple(Fate.LOST if place in pair else Fate.KEPT for place in range(count))
    for _ in range(effort.samples):
        yield tuple(chance.choice(both) for _ in range(count))


def _damaged(changes: Sequence[Change]) -> Iterator[Fates]:
    """Each write torn or full of zeros by itself: the last to arrive, and the only one not to."""
    for number, change in enumerate(changes):
        for fate in _possible_fates(change)[2:]:
            after = len(changes) - number - 1
            yield (Fate.KEPT,) * number + (fate,) + (Fate.LOST,) * after
            yield (Fate.KEPT,) * number + (fate,) + (Fate.KEPT,) * after


def _possible_fates(change: Change) -> tuple[Fate, ...]:
    return tuple(Fate) if isinstance(change, Write) else (Fate.LOST, Fate.KEPT)


def _is_possible(changes: Sequence[Change], fates: Fates) -> bool:
    """Whether no name of a file arrived without an earlier change of its names."""
    broken: set[int] = set()
    for change, fate in zip(changes, fates, strict=True):
        if isinstance(change, Naming):
            if fate is Fate.LOST:
                broken.add(change.inode)
            elif change.inode in broken:
                return False
    return True


class _Disk:
    def __init__(self, recording: Recording) -> None:
        self._initial = recording.initial
        self._images = _Images(recording)
        self._namings = {
            number: operation
            for number, operation in enumerate(recording.operations)
            if isinstance(operation, Naming)
        }

    def state(self, fates: Mapping[int, Fate]) -> DiskState:
        folders = {inode: dict(names) for inode, names in self._initial.folders.items()}
        for number, naming in self._namings.items():
            if fates.get(number, Fate.LOST) is Fate.KEPT:
                for folder, name, inode in naming.entries:
                    if inode is None:
                        folders.setdefault(folder, {}).pop(name, None)
                    else:
                        folders.setdefault(folder, {})[name] = inode
        tree: dict[str, int | None] = {}
        waiting = [("", ROOT)]
        while waiting:
            prefix, folder = waiting.pop()
            for name, inode in folders.get(folder, {}).items():
                path = f"{prefix}{name}"
                if self._images.is_file(inode):
                    tree[path] = inode
                else:
                    tree[path] = None
                    waiting.append((f"{path}/", inode))
        return DiskState(tree, self._images, fates)


class _Images:
    """Contents of files by the fates of what was written to them; most states share them."""

    def __init__(self, recording: Recording) -> None:
        self.mapped = recording.mapped
        self._initial = recording.initial.files
        self._changes: dict[int, list[tuple[int, Write | Resize]]] = {}
        self._folders = recording.folders
        for number, operation in enumerate(recording.operations):
            if isinstance(operation, Write | Resize):
                self._changes.setdefault(operation.inode, []).append((number, operation))
        self._known: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def is_file(self, inode: int) -> bool:
        return inode not in self._folders

    def image(self, inode: int, fates: Mapping[int, Fate]) -> tuple[bytes, bytes]:
        """(content, its hash)."""
        if inode in self.mapped:
            return RUBBISH, b"rubbish"
        changes = self._changes.get(inode, [])
        key = (inode, *(fates.get(number, Fate.LOST).value for number, _ in changes))
        if key not in self._known:
            content = bytearray(self._initial.get(inode, b""))
            for number, change in changes:
                _apply(content, change, fates.get(number, Fate.LOST))
            digest = hashlib.blake2b(content, digest_size=16).digest()
            self._known[key] = bytes(content), digest
        return self._known[key]


def _apply(content: bytearray, change: Write | Resize, fate: Fate) -> None:
    if fate is Fate.LOST:
        return
    if isinstance(change, Resize):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
        return
    data = b"" if fate is Fate.ZEROS else change.data
    if fate is Fate.TORN:
        data = data[: len(data) // 2]
    end = change.offset + (len(change.data) if fate is Fate.ZEROS else len(data))
    content.extend(bytes(max(0, end - len(content))))
    content[change.offset : change.offset + len(data)] = data
