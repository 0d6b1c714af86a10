from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.errors import RequestError
from mosaic.telemetry import log_search
from mosaic.telemetry.log_search import (
    MAX_LINE_BYTES,
    FoundLine,
    blocks,
    log_files,
    matcher,
    search_logs,
)


def found(
    logs: Sequence[Path],
    text: str,
    is_regex: bool = False,
    ignore_case: bool = False,
    limit: int = 100,
) -> list[FoundLine]:
    wanted = matcher(text, is_regex, ignore_case)
    return list(search_logs(logs, wanted, limit, lambda log: None))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker.stdout.log"


def test_lines_are_found_with_their_numbers(log: Path) -> None:
    log.write_bytes(b"one\nloss nan\r\n\nLOSS NaN at 3\nloss nan")
    assert found([log], "loss nan") == [(0, 2, "loss nan"), (0, 5, "loss nan")]
    assert [match.line_number for match in found([log], "LOSS nan", ignore_case=True)] == [2, 4, 5]
    assert [match.line_number for match in found([log], r"at \d$", is_regex=True)] == [4]
    assert found([log], "at \\d$") == []
    assert found([log], "a", limit=2) == found([log], "a")[:2]


def test_rotated_files_are_one_log_oldest_first(log: Path) -> None:
    log.with_name(log.name + ".10").write_bytes(b"x oldest\n")
    log.with_name(log.name + ".2").write_bytes(b"x older\nother\n")
    log.with_name(log.name + ".1").write_bytes(b"x old")
    log.write_bytes(b"x new\n")
    log.with_name(log.name + ".bak").write_bytes(b"x not ours\n")
    assert [tuple(match)[1:] for match in found([log], "x")] == [
        (1, "x oldest"),
        (2, "x older"),
        (4, "x old"),
        (5, "x new"),
    ]
    assert [path.suffix for path in log_files(log)] == [".10", ".2", ".1", ".log"]


def test_letters_beyond_ascii_and_bytes_that_are_no_text(log: Path) -> None:
    log.write_bytes("GRÖSSE 3\nΣΊΣΥΦΟΣ\n".encode() + b"\xff\xfe broken \xc3\n")
    assert [match.line_number for match in found([log], "größe", ignore_case=True)] == [1]
    assert [match.line_number for match in found([log], "σίσυφος", ignore_case=True)] == [2]
    (match,) = found([log], "broken")
    assert match.line == "\ufffd\ufffd broken \ufffd"
    assert found([log], "broken \udcff") == []


def test_what_is_missing_or_no_file_is_passed_over(tmp_path: Path, log: Path) -> None:
    (tmp_path / "folder.log").mkdir()
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link.log").symlink_to(tmp_path / "secret")
    log.write_text("x\n")
    names = ("gone.log", "folder.log", "pipe.log", "link.log")
    logs = [*(tmp_path / name for name in names), log]
    assert found(logs, "x") == [(4, 1, "x")]


def test_of_an_endless_line_only_the_beginning_is_searched_and_little_is_held(log: Path) -> None:
    with log.open("wb") as file:
        file.write(b"start " + b"z" * (3 * log_search.BLOCK_BYTES) + b" end\nnext end\n")
    assert max(map(len, blocks(log))) <= log_search.BLOCK_BYTES + MAX_LINE_BYTES
    assert [match.line_number for match in found([log], "start")] == [1]
    assert found([log], "end") == [(0, 2, "next end")]
    (match,) = found([log], "start")
    assert len(match.line) == log_search.MAX_SHOWN + 1
    assert match.line.endswith("…")


def test_of_a_long_line_what_is_around_the_match_is_shown(log: Path) -> None:
    log.write_bytes(b"a" * 5000 + b" needle " + b"b" * 5000 + b"\n")
    (match,) = found([log], "needle")
    assert " needle " in match.line
    assert match.line.startswith("…") and match.line.endswith("…")


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=20),
    size=st.integers(1, 30),
)
def test_blocks_are_the_log_whatever_their_size(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "a.log"
    content = b"".join(line + b"\n" for line in lines)
    path.write_bytes(content)
    made = list(blocks(path, size))
    assert b"".join(made) == content
    assert all(block.endswith(b"\n") for block in made)


@pytest.mark.parametrize(
    ("text", "is_regex", "words"),
    [
        ("", False, "no text"),
        ("x" * 1001, False, "too long"),
        ("two\nlines", False, "line break"),
        ("(", True, "no regular expression"),
        ("a{99999999999999999999}", True, "no regular expression"),
        ("(" * 500 + ")" * 500, True, "no regular expression"),
    ],
)
def test_what_cannot_be_searched_for_is_refused(text: str, is_regex: bool, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        matcher(text, is_regex, False)
