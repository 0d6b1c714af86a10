"""Small file systems to fill up: a tmpfs of a few megabytes, mounted for one test."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

BLOCK = b"\0" * 4096


@contextlib.contextmanager
def mounted_tmpfs(options: str) -> Iterator[Path]:
    """An empty file system of its own, such as `size=16m`; skips where nobody may mount one."""
    with tempfile.TemporaryDirectory(prefix="mosaic-disk-") as folder:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
        try:
            mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no `mount` program: no small disk to fill")
        if mounted.returncode != 0:
            pytest.skip(f"this user may not mount a tmpfs: {mounted.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            # Lazy: whatever went wrong in the test must not leave a mount behind.
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Take every last block of the file system; deleting the returned file frees them again."""
    filler = folder / "filler"
    fd = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, BLOCK * 64)
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, BLOCK)
    finally:
        os.close(fd)
    return filler
