"""A daemon whose every change to the file system is written down by strace, its children's too."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.chaos_daemon import ChaosDaemon
from tests.waiting import wait_until

_CHANGES = (
    *("creat", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "rename", "renameat"),
    *("renameat2", "link", "linkat", "symlink", "symlinkat", "truncate", "mknod", "mknodat"),
    *("chmod", "fchmodat", "chown", "lchown", "fchownat"),
)
# A call that another thread interrupted has no result on its line; it is taken for done.
_LINE = re.compile(
    r"(?P<pid>\d+) +(?P<call>\w+)\((?P<arguments>.*)"
    r"(?:\) += (?P<result>-?\d+)| <unfinished \.\.\.>$)"
)
_WRITING = re.compile(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)")
# A directory descriptor with its path (or AT_FDCWD with the current directory), and a string.
_TOKEN = re.compile(r'(?:AT_FDCWD|\d+)<(?P<folder>(?:[^>\\]|\\.)*)>|"(?P<text>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Change:
    call: str
    path: Path


class TracedDaemon(ChaosDaemon):
    def __init__(self, root: Path, trace: Path, **environment: str) -> None:
        if shutil.which("strace") is None:
            pytest.skip("strace is not installed: nobody can see which files are opened")
        if subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode:
            pytest.skip("strace may not trace here: nobody can see which files are opened")
        super().__init__(root, **environment)
        self.trace = trace

    def launch(self, *arguments: str) -> None:
        # -D: strace is the grandchild, so the process we start is the daemon itself.
        strace = ["strace", "-D", "-f", "-y", "-s", "8192", "-o", str(self.trace), "--seccomp-bpf"]
        calls = f"trace=openat,open,{','.join(_CHANGES)}"
        command = [sys.executable, "-m", "mosaic.daemon", "--home", str(self.home.root)]
        self.process = subprocess.Popen(
            [*strace, "-e", calls, *command, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def text(self) -> str:
        return self.trace.read_text(errors="replace")

    def changes(self) -> Iterator[Change]:
        """Every file opened for writing, made, renamed or deleted, once the daemon has ended."""
        exited = re.compile(rf"^{self.pid} +\+\+\+ ", re.MULTILINE)
        wait_until(lambda: exited.search(self.text), 10, "strace to end")
        folders: dict[str, Path] = {}
        for line in self.text.splitlines():
            match = _LINE.match(line)
            if match is None or int(match["result"] or 0) < 0:
                continue
            paths = _paths(match["arguments"], folders, match["pid"])
            is_open = match["call"] in ("open", "openat")
            if not is_open or _WRITING.search(match["arguments"]):
                for path in paths:
                    yield Change(match["call"], path)

    def start(self, *arguments: str) -> None:
        super().start(*arguments)
        assert self.process is not None
        self.pid = self.process.pid


def _paths(arguments: str, folders: dict[str, Path], pid: str) -> list[Path]:
    """The paths a call is about; relative ones below the directory it names or last named."""
    current, found = folders.get(pid), []
    for token in _TOKEN.finditer(arguments):
        if token["folder"] is not None:
            current = Path(_unquoted(token["folder"]))
            if token[0].startswith("AT_FDCWD"):
                folders[pid] = current
        else:
            path = Path(_unquoted(token["text"]))
            found.append(path if path.is_absolute() or current is None else current / path)
    return found


def _unquoted(text: str) -> str:
    raw = text.encode("latin-1", "replace").decode("unicode_escape").encode("latin-1", "replace")
    return raw.decode("utf-8", "surrogateescape")
