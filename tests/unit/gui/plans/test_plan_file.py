"""Plans on disk: read within limits, and never written over what somebody else has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.errors import RequestError
from mosaic.front.plan_check import MOST_BYTES
from mosaic.gui.plans.model.plan_file import (
    Changed,
    PlanDocument,
    PlanFile,
    read_plan,
    stamp_of,
    write_plan,
)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data", [b"!a.\n", "// é 😀\n".encode(), b"", b"!a.\r\n!b.\r\n", b"x\xc2\xa0y"]
)
def test_what_is_read_and_saved_is_the_same_to_the_byte(tmp_path: Path, data: bytes) -> None:
    found = read_plan(written(tmp_path / "mine.asl", data))
    assert "\r" not in found.text
    again = write_plan(found, found.stamp)
    assert isinstance(again, PlanFile) and again.path.read_bytes() == data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff\xfe", "not text in UTF-8"),
        (b"a\0b", "it holds NULs"),
        (b"x" * (MOST_BYTES + 1), "larger than"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        read_plan(written(tmp_path / "mine.asl", data))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "nowhere"):
        with pytest.raises(RequestError, match="cannot be opened"):
            read_plan(tmp_path / name)
    with pytest.raises(RequestError, match="cannot be opened"):
        read_plan(Path("/dev/zero"))
    with pytest.raises(RequestError, match="not a regular file"):
        write_plan(PlanFile(tmp_path / "pipe", "x", None))
    with pytest.raises(RequestError, match="cannot be saved"):
        write_plan(PlanFile(tmp_path / "no" / "folder", "x", None))


@pytest.mark.parametrize("text", ["\udc00", "x" * (MOST_BYTES + 1)])
def test_what_cannot_be_read_again_is_not_saved(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "mine.asl", b"before")
    with pytest.raises(RequestError, match="cannot be saved"):
        write_plan(PlanFile(path, text, None))
    assert path.read_bytes() == b"before"


def test_what_somebody_else_has_written_is_kept_until_a_person_knows(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.asl", b"first")
    document = PlanDocument()
    document.take(read_plan(path))
    written(path, b"theirs, longer")
    wanted = document.as_saved("mine")
    assert wanted is not None
    refused = write_plan(wanted, document.seen)
    assert isinstance(refused, Changed) and path.read_bytes() == b"theirs, longer"
    assert "changed by another program" in document.news(refused.stamp)
    assert document.news(refused.stamp) == "", "it is said once"
    assert isinstance(write_plan(wanted, document.seen), PlanFile)
    assert path.read_bytes() == b"mine"


def test_a_file_that_is_gone_is_made_again(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.asl", b"first")
    document = PlanDocument()
    document.take(read_plan(path))
    path.unlink()
    assert "not there any more" in document.news(stamp_of(path))
    wanted = document.as_saved("mine")
    assert wanted is not None and isinstance(write_plan(wanted, document.seen), PlanFile)
    assert path.read_bytes() == b"mine"


def test_rights_and_links_stay(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.asl", b"first")
    path.chmod(0o640)
    link = tmp_path / "link.asl"
    link.symlink_to(path)
    write_plan(PlanFile(link, "second", None))
    assert link.is_symlink() and path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_document_knows_what_is_not_saved(tmp_path: Path) -> None:
    document = PlanDocument()
    document.begin()
    assert document.title("") == "New plan" and document.title("x") == "New plan · not saved"
    assert document.as_saved("x") is None and document.news(None) == ""
    document.take(read_plan(written(tmp_path / "mine.asl", b"x")))
    assert document.title("x") == "mine.asl" and document.is_changed("y")
    document.begin("template")
    assert not document.is_changed("template") and document.path is None
