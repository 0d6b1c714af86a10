"""The last lines of stderr are kept in bounded memory and shown as a terminal would."""

from __future__ import annotations

import os
from pathlib import Path

from mosaic.runhost.output_lines import KEPT_BYTES, MAX_LINE_CHARACTERS, LastLines
from mosaic.runhost.shared_memory import unlink_shared_memory


def test_last_lines_are_kept_whatever_the_chunks() -> None:
    kept = LastLines()
    for number in range(10_000):
        text = b"line %d\n" % number
        kept.feed(text[:3])
        kept.feed(text[3:])
    assert kept.lines(2) == ("line 9998", "line 9999")


def test_progress_bar_shows_only_its_last_state() -> None:
    kept = LastLines()
    kept.feed(b" 10%\r 20%\r100%\ndone\r\n")
    assert kept.lines(20) == ("100%", "done")


def test_flood_without_newline_is_bounded() -> None:
    kept = LastLines()
    for _ in range(100):
        kept.feed(b"x" * KEPT_BYTES)
    (line,) = kept.lines(20)
    assert len(line) == MAX_LINE_CHARACTERS
    assert len(kept._bytes) <= 2 * KEPT_BYTES


def test_broken_text_is_replaced_not_refused() -> None:
    kept = LastLines()
    kept.feed(b"\xff\xfe broken")
    assert kept.lines(1) == ("\ufffd\ufffd broken",)


def test_only_segments_with_the_prefix_are_unlinked(tmp_path: Path) -> None:
    for name in ("mosaic.fastlane.A", "mosaic.fastlane.A.1", "mosaic.fastlane.B", "other"):
        (tmp_path / name).touch()
    removed = unlink_shared_memory(["mosaic.fastlane.A", ""], folder=tmp_path)
    assert sorted(removed) == ["mosaic.fastlane.A", "mosaic.fastlane.A.1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mosaic.fastlane.B", "other"]


def test_what_took_the_place_of_a_segment_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "run.folder").mkdir()
    (tmp_path / "run.folder" / "file").touch()
    (tmp_path / "run.folder" / "link").symlink_to(kept)
    (tmp_path / "run.link").symlink_to(kept)
    os.mkfifo(tmp_path / "run.pipe")
    assert len(unlink_shared_memory(["run"], folder=tmp_path)) == 3
    assert list(tmp_path.iterdir()) == [kept]


def test_no_shared_memory_folder_is_no_error(tmp_path: Path) -> None:
    assert unlink_shared_memory(["x"], folder=tmp_path / "missing") == ()
