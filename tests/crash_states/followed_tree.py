"""Follows the system calls of one process and says what each did to the recorded folder.

Calls speak of paths and descriptors; a disk knows inodes. This keeps the names, descriptors and
positions of the process, and turns each call that succeeded into operations on inodes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tests.crash_states.operations import (
    ROOT,
    Entry,
    Naming,
    Operation,
    Recording,
    Resize,
    Said,
    Sync,
    Tree,
    Write,
)


@dataclass
class Handle:
    """An open file; duplicated descriptors share one."""

    inode: int
    is_appending: bool
    position: int = 0


class FollowedTree:
    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.operations: list[Operation] = []
        self._initial = Tree()
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._sizes: dict[int, int] = {}
        self._handles: dict[int, Handle] = {}
        self._paths: dict[int, str] = {ROOT: "."}
        self._mapped: set[int] = set()
        self._take_in(root, ROOT)

    @property
    def recording(self) -> Recording:
        return Recording(
            self._initial, tuple(self.operations), frozenset(self._names), frozenset(self._mapped)
        )

    # ---- calls ---------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.operations.append(Said(text))

    def open(self, folder: int | None, path: str, flags: set[str], descriptor: int) -> None:
        place = self._place(folder, path)
        if place is None:
            self._handles.pop(descriptor, None)
            return
        parent, name = place
        inode = self._names[parent].get(name) if name else parent
        if inode is None:
            inode = self._new_inode(parent, name)
            self._sizes[inode] = 0
            self._name("create", parent, name, inode)
        elif "O_TRUNC" in flags:
            self._resize(inode, 0)
        if flags & {"O_SYNC", "O_DSYNC"}:
            raise NotImplementedError(f"{path}: files that sync with every write")
        self._handles[descriptor] = Handle(inode, "O_APPEND" in flags)

    def duplicate(self, descriptor: int, twin: int) -> None:
        if descriptor in self._handles:
            self._handles[twin] = self._handles[descriptor]
        else:
            self._handles.pop(twin, None)

    def close(self, descriptor: int) -> None:
        self._handles.pop(descriptor, None)

    def seek(self, descriptor: int, position: int) -> None:
        if descriptor in self._handles:
            self._handles[descriptor].position = position

    def write(self, descriptor: int, data: bytes, offset: int | None = None) -> None:
        handle = self._handles.get(descriptor)
        if handle is None or not data:
            return
        inode, start = handle.inode, offset
        if start is None:
            start = self._sizes[inode] if handle.is_appending else handle.position
            handle.position = start + len(data)
        what = f"write {self._paths[inode]} [{start}, {start + len(data)})"
        self.operations.append(Write(what, inode, start, data))
        self._sizes[inode] = max(self._sizes[inode], start + len(data))

    def truncate(self, descriptor: int, size: int) -> None:
        if descriptor in self._handles:
            self._resize(self._handles[descriptor].inode, size)

    def allocate(self, descriptor: int, end: int) -> None:
        handle = self._handles.get(descriptor)
        if handle is not None and end > self._sizes[handle.inode]:
            self._resize(handle.inode, end)

    def map_for_writing(self, descriptor: int) -> None:
        if descriptor in self._handles:
            self._mapped.add(self._handles[descriptor].inode)

    def sync(self, descriptor: int, covers: int) -> None:
        handle = self._handles.get(descriptor)
        if handle is not None:
            what = f"sync {self._paths[handle.inode]}"
            self.operations.append(Sync(what, handle.inode, covers))

    def make_folder(self, folder: int | None, path: str) -> None:
        place = self._place(folder, path)
        if place is not None:
            inode = self._new_inode(*place)
            self._names[inode] = {}
            self._name("mkdir", *place, inode)

    def link(self, folder: int | None, path: str, new_folder: int | None, new_path: str) -> None:
        source, target = self._place(folder, path), self._place(new_folder, new_path)
        if source is None and target is None:
            return
        assert source is not None and target is not None, f"{path} is linked across the border"
        self._name("link", *target, self._names[source[0]][source[1]])

    def rename(self, folder: int | None, path: str, new_folder: int | None, new_path: str) -> None:
        source, target = self._place(folder, path), self._place(new_folder, new_path)
        if source is None and target is None:
            return
        assert source is not None and target is not None, f"{path} is moved across the border"
        inode = self._names[source[0]].pop(source[1])
        if self._names[target[0]].get(target[1]) == inode:
            raise NotImplementedError("a rename of one link over another does nothing")
        what = f"rename {self._joined(*source)} to {self._joined(*target)}"
        entries = (Entry(*source, None), Entry(*target, inode))
        self.operations.append(Naming(what, inode, entries, target[0]))
        self._names[target[0]][target[1]] = inode
        self._paths[inode] = self._joined(*target)

    def remove(self, folder: int | None, path: str) -> None:
        place = self._place(folder, path)
        if place is not None:
            parent, name = place
            inode = self._names[parent].pop(name)
            entries = (Entry(parent, name, None),)
            self.operations.append(Naming(f"remove {self._joined(*place)}", inode, entries, parent))

    # ---- names and inodes ----------------------------------------------------------------------

    def _place(self, folder: int | None, path: str) -> tuple[int, str] | None:
        """(inode of the folder, name in it), or None outside of the recorded folder."""
        if path.startswith("/"):
            relative = os.path.relpath(path, self._root)
            start = ROOT
            if relative == ".." or relative.startswith("../"):
                return None
        elif folder in self._handles:
            start, relative = self._handles[folder].inode, path
        else:
            return None
        *above, name = [part for part in relative.split("/") if part not in ("", ".")] or [""]
        for part in above:
            start = self._names[start][part]
        return start, name

    def _name(self, verb: str, parent: int, name: str, inode: int) -> None:
        path = self._joined(parent, name)
        self._names[parent][name] = inode
        self._paths[inode] = path
        entries = (Entry(parent, name, inode),)
        self.operations.append(Naming(f"{verb} {path}", inode, entries, parent))

    def _resize(self, inode: int, size: int) -> None:
        self.operations.append(Resize(f"resize {self._paths[inode]} to {size}", inode, size))
        self._sizes[inode] = size

    def _new_inode(self, parent: int, name: str) -> int:
        inode = len(self._paths)
        self._paths[inode] = self._joined(parent, name)
        return inode

    def _joined(self, parent: int, name: str) -> str:
        return name if parent == ROOT else f"{self._paths[parent]}/{name}"

    def _take_in(self, folder: Path, inode: int) -> None:
        """What is there already counts as safe: it was written long ago."""
        for path in sorted(folder.iterdir()):
            assert not path.is_symlink(), f"{path} is a link"
            child = self._new_inode(inode, path.name)
            self._names[inode][path.name] = child
            if path.is_dir():
                self._names[child] = {}
                self._take_in(path, child)
            else:
                self._initial.files[child] = path.read_bytes()
                self._sizes[child] = len(self._initial.files[child])
        self._initial.folders[inode] = dict(self._names[inode])
