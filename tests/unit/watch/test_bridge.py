"""Where the processes of a script report."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mosaic.watch import bridge


def test_the_bridge_is_ours_alone_and_gone_afterwards(tmp_path: Path) -> None:
    with bridge.bridge_pipe("01HZZZZZZZZZZZZZZZZZZZZZZZ", tmp_path) as pipe:
        assert pipe.parent.parent == tmp_path
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert pipe.parent.stat().st_mode & 0o777 == 0o700
    assert not pipe.parent.exists()


def test_it_is_on_the_disk_where_there_is_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = os.statvfs(tmp_path)
    enough = free.f_bavail * free.f_frsize
    monkeypatch.setattr(bridge, "MIN_MEMORY_BYTES", enough * 2)
    with bridge.bridge_pipe("01HZZZZZZZZZZZZZZZZZZZZZZZ", tmp_path) as pipe:
        assert pipe.parent.parent != tmp_path
        assert pipe.parent.stat().st_mode & 0o777 == 0o700
    assert not pipe.parent.exists()
    assert list(tmp_path.iterdir()) == []
