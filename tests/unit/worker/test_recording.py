"""A recording that cannot be written ends, and nothing else does."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import mosaic.worker.recording as recording
from mosaic.telemetry.recordings.blocks import scan_blocks
from mosaic.worker.recording import RecordingFacts, RecordingWriter, recording_path

FACTS = RecordingFacts("Sample-v0", {}, 1, "|u1", (), 1)
LIMIT = 10**9


class SomeRun:
    def __init__(self, directory: Path | None, attempt: int) -> None:
        self.directory, self.attempt = directory, attempt


def test_each_attempt_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert recording_path(SomeRun(tmp_path, 3)) == tmp_path / "recordings" / "attempt-3.rec"
    assert recording_path(SomeRun(None, 1)) is None


def test_folder_and_file_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "attempt-1.rec"
    RecordingWriter(path, FACTS, LIMIT).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_unwritable_place_ends_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("a file where the folder should be")
    writer = RecordingWriter(tmp_path / "recordings" / "attempt-1.rec", FACTS, LIMIT)
    assert "cannot be written" in writer.why_ended
    writer.write_steps(0, 1, b"a", b"abcd", 0, [])
    writer.close()


def test_a_full_disk_leaves_whole_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "attempt-1.rec"
    writer = RecordingWriter(path, FACTS, LIMIT)
    writer.write_steps(0, 1, b"a", b"abcd", 0, [])
    size = path.stat().st_size

    def write_half(fd: int, data: bytes) -> None:
        os.write(fd, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recording, "write_all", write_half)
    writer.write_steps(1, 1, b"a", b"abcd", 0, [])
    assert writer.why_ended == "attempt-1.rec cannot be written: No space left on device"
    assert path.stat().st_size == size
    assert len(scan_blocks(path).blocks) == 2
    writer.write_steps(2, 1, b"a", b"abcd", 0, [])
    assert path.stat().st_size == size


def test_a_limit_below_the_first_block_ends_it_with_its_reason(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "attempt-1.rec", FACTS, limit_bytes=1)
    assert "limit" in writer.why_ended


def test_an_older_session_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "attempt-1.rec"
    kept: list[Any] = []
    for _ in range(2):
        RecordingWriter(path, FACTS, LIMIT).close()
        kept.append(path.read_bytes())
    assert kept[1] == kept[0] * 2
