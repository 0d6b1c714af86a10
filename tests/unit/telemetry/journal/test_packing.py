from __future__ import annotations

import errno
import gzip
import os
import random
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.errors import StoreError
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.journal import files as journal_files
from mosaic.telemetry.journal import packing as journal_packing
from mosaic.telemetry.journal.files import (
    MemberHead,
    opened_journal,
    packed_member,
    packed_path,
    read_head,
    stored_path,
)
from mosaic.telemetry.journal.packing import pack_journal, packed_copy
from mosaic.telemetry.journal.reader import JournalChunk, read_chunk, read_raw_events
from mosaic.telemetry.queries import quarantine_summary, recent_metrics
from tests import journal_lines as lines


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def small_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_packing.stretches, "__defaults__", (1000,))


def events(count: int) -> bytes:
    return lines.registered() + b"".join(
        lines.metric(seq, value=seq / 7, at=seq) for seq in range(1, count)
    )


def members(packed: Path) -> Iterator[tuple[int, MemberHead]]:
    data, offset = packed.read_bytes(), 0
    while offset < len(data):
        head = read_head(data[offset : offset + 64])
        yield offset, head
        offset += head.member_bytes


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_packed_journal_is_a_gzip_file_with_the_same_bytes(journal: Path) -> None:
    content = events(20_000)
    journal.write_bytes(content)
    saved = pack_journal(journal)
    packed = packed_path(journal)
    assert files(journal.parent) == {"events.jsonl.gz"}
    assert saved == len(content) - packed.stat().st_size > 0
    assert gzip.decompress(packed.read_bytes()) == content
    assert subprocess.run(["zcat", packed], capture_output=True, check=True).stdout == content
    assert packed.stat().st_mode & 0o777 == 0o600
    heads = [head for _, head in members(packed)]
    assert [head.text_start for head in heads[1:]] == [head.text_end for head in heads[:-1]]
    assert heads[-1] == MemberHead(len(content), 0, heads[-1].member_bytes)
    assert all(content[head.text_end - 1 : head.text_end] == b"\n" for head in heads)


def test_short_journals_links_and_missing_ones_stay(journal: Path) -> None:
    assert pack_journal(journal) is None
    journal.write_bytes(b"x" * journal_packing.MIN_BYTES)
    assert pack_journal(journal) is None
    journal.rename(journal.with_name("elsewhere"))
    journal.symlink_to("elsewhere")
    assert pack_journal(journal, min_bytes=1) is None
    assert files(journal.parent) == {"events.jsonl", "elsewhere"}


def line_lists() -> st.SearchStrategy[list[bytes]]:
    printable = st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"."))
    return st.lists(printable | st.just(b"y" * 700), max_size=40)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    written=line_lists(),
    rest=st.binary(max_size=5).map(lambda text: text.replace(b"\n", b".")),
    member=st.integers(1, 400),
    max_bytes=st.integers(1, 600),
    data=st.data(),
)
def test_any_offset_gives_what_the_plain_journal_gave(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    written: list[bytes],
    rest: bytes,
    member: int,
    max_bytes: int,
    data: Any,
) -> None:
    """Members of any length, offsets anywhere, reads of any size."""
    journal = tmp_path / "events.jsonl"
    content = b"".join(line + b"\n" for line in written) + rest
    packed_path(journal).unlink(missing_ok=True)
    journal.write_bytes(content)
    offset = data.draw(st.integers(0, len(content) + 2))
    end = data.draw(st.none() | st.integers(0, len(content)))
    expected = read_chunk(journal, offset, max_bytes, end)
    monkeypatch.setattr(journal_packing.stretches, "__defaults__", (member,))
    assert content == b"" or pack_journal(journal, min_bytes=0) is not None
    assert content == b"" or not journal.exists()
    assert read_chunk(journal, offset, max_bytes, end) == expected


def test_lines_that_are_too_long_are_passed_over_in_both_forms(journal: Path) -> None:
    long = b"z" * (3 * MAX_LINE_BYTES)
    journal.write_bytes(lines.step(0) + long + b"\n" + lines.step(1))

    def read_all() -> list[JournalChunk]:
        chunks = [read_chunk(journal, 0, 100_000)]
        while chunks[-1].next_offset < (chunks[-1].size or 0):
            chunks.append(read_chunk(journal, chunks[-1].next_offset, 100_000))
        return chunks

    expected = read_all()
    assert pack_journal(journal)
    assert read_all() == expected


@pytest.mark.usefixtures("small_members")
def test_events_are_streamed_and_stores_rebuilt_from_a_packed_journal(journal: Path) -> None:
    journal.write_bytes(events(500))
    expected = read_raw_events(journal, 0)
    assert pack_journal(journal, min_bytes=0)
    assert read_raw_events(journal, 0) == expected
    store = journal.with_name("telemetry.sqlite")
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    assert ingest.step().offset == expected[1]
    ingest.close()
    store.write_bytes(b"this is no database" * 1000)
    again = JournalIngest(lines.RUN_ID, journal, store)
    assert again.step().events == 500
    again.close()
    assert len(recent_metrics(store, 1000)) == 499


@pytest.mark.usefixtures("small_members")
@pytest.mark.parametrize("part", ["head", "body", "checksum"])
def test_a_damaged_member_is_named_and_the_rest_is_read(journal: Path, part: str) -> None:
    content = events(500)
    journal.write_bytes(content)
    pack_journal(journal, min_bytes=0)
    packed = packed_path(journal)
    placed = list(members(packed))
    offset, head = placed[3]
    place = {"head": 3, "body": 60, "checksum": head.member_bytes - 2}[part]
    data = bytearray(packed.read_bytes())
    data[offset + place] ^= 0xFF
    packed.write_bytes(data)
    with opened_journal(journal) as found:
        text = found.read(found.size, 0)
    assert len(text) == len(content)
    assert text[: head.text_start] == content[: head.text_start]
    assert text[head.text_end :] == content[head.text_end :]
    lost = text[head.text_start : head.text_end].decode()
    assert lost.startswith(f"[events.jsonl.gz is damaged at byte {offset}")
    assert lost.endswith("\n")
    store = journal.with_name("telemetry.sqlite")
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    report = ingest.step()
    ingest.close()
    gone = content[head.text_start : head.text_end].count(b"\n")
    assert (report.events, report.quarantined) == (500 - gone, 1)
    (sample,) = quarantine_summary(store).samples
    assert f"damaged at byte {offset}".encode() in sample.sample


@pytest.mark.usefixtures("small_members")
def test_a_stretch_of_zeros_over_several_members_costs_only_those(journal: Path) -> None:
    content = events(500)
    journal.write_bytes(content)
    pack_journal(journal, min_bytes=0)
    packed = packed_path(journal)
    placed = list(members(packed))
    (first, lost_from), (behind, lost_to) = placed[2], placed[6]
    data = bytearray(packed.read_bytes())
    data[first:behind] = bytes(behind - first)
    packed.write_bytes(data)
    with opened_journal(journal) as found:
        assert found.size == len(content)
        assert found.read(lost_from.text_start, 0) == content[: lost_from.text_start]
        rest = found.read(found.size, lost_to.text_start)
    assert rest == content[lost_to.text_start :]


def test_what_was_lost_is_as_long_as_it_was_and_takes_no_memory(journal: Path) -> None:
    damaged, lost = 2**22, 2**31
    packed = packed_path(journal)
    packed.write_bytes(bytes(damaged) + packed_member(b"x\n", lost) + packed_member(b"", lost + 2))
    with opened_journal(journal) as found:
        assert found.size == lost + 2
        assert found.read(40, 0).startswith(b"[events.jsonl.gz is damaged at byte 0")
        assert found.read(10, lost // 2) == b" " * 10
        assert found.read(12, lost - 10) == b" " * 9 + b"\nx\n"
        assert found.read(1, lost - 1) == b"\n"


@pytest.mark.usefixtures("small_members")
def test_a_packed_journal_that_is_cut_off_gives_what_is_left(journal: Path) -> None:
    content = events(500)
    journal.write_bytes(content)
    pack_journal(journal, min_bytes=0)
    packed = packed_path(journal)
    offset, head = list(members(packed))[5]
    os.truncate(packed, offset + 20)
    with opened_journal(journal) as found:
        assert found.read(10**6, 0) == content[: head.text_start]


def test_rubbish_and_lies_are_read_in_bounded_memory(journal: Path) -> None:
    packed = packed_path(journal)
    chosen = random.Random(3)
    for content in (
        b"",
        chosen.randbytes(100_000),
        packed_member(b"x\n", 2**60),  # text from far beyond
        packed_member(b"x\n", 0) + packed_member(b"x\n", 2**60),
        packed_member(b"x\n", 0) * 100,
    ):
        packed.write_bytes(content)
        assert len(read_chunk(journal, 0, 1000).lines) <= 1


def test_a_gap_that_claims_to_have_been_huge_is_read_in_bounded_memory(journal: Path) -> None:
    """What was lost between two members can be claimed to have been a thousand times its bytes."""
    hole = b"\x00" * 2_000_000
    claimed = len(hole) * 1000
    packed_path(journal).write_bytes(
        packed_member(b"{}\n", 0) + hole + packed_member(b"last\n", claimed)
    )
    tracemalloc.start()
    try:
        with opened_journal(journal) as opened:
            assert opened.size == claimed + 5
            note = opened.read(100, 3)
            assert len(note) == 100 and note.startswith(b"[events.jsonl.gz is damaged at byte")
            assert opened.read(50, 1_000_000) == b" " * 50
            assert opened.read(10, claimed - 5) == b"    \nlast\n"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


class Crash(BaseException):
    """The process is gone: nothing behind this point happens."""


@pytest.mark.parametrize("step", ["write", "fsync", "rename", "unlink_plain"])
def test_a_crash_at_any_step_loses_nothing_and_the_next_attempt_heals(
    journal: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    content = events(3000)
    journal.write_bytes(content)

    def die(*_: Any, **__: Any) -> Any:
        raise Crash

    with monkeypatch.context() as patch:
        unlink = Path.unlink

        def dying_unlink(path: Path, missing_ok: bool = False) -> None:
            # After a crash nobody tidies up either.
            if path == journal or has_begun(path):
                raise Crash
            unlink(path, missing_ok)

        def has_begun(path: Path) -> bool:
            return path.suffix == ".tmp" and path.exists()

        patch.setattr(Path, "unlink", dying_unlink)
        if step == "write":
            patch.setattr(journal_packing, "packed_member", die)
        elif step == "fsync":
            patch.setattr(os, "fsync", die)
        elif step == "rename":
            patch.setattr(Path, "rename", die)
        with pytest.raises(Crash):
            pack_journal(journal)
    assert journal.read_bytes() == content
    assert packed_path(journal).exists() == (step == "unlink_plain")
    chunk = read_chunk(journal, 0, 10**7)
    assert b"".join(line + b"\n" for line in chunk.lines) == content
    assert stored_path(journal) == journal
    assert pack_journal(journal)
    assert files(journal.parent) == {"events.jsonl.gz"}
    assert gzip.decompress(packed_path(journal).read_bytes()) == content


def test_what_a_crash_left_goes_even_when_there_is_nothing_to_pack(journal: Path) -> None:
    journal.with_name("events.jsonl.gz.tmp").write_bytes(b"half")
    assert pack_journal(journal) is None
    assert files(journal.parent) == set()


def test_a_full_disk_leaves_the_plain_journal(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.write_bytes(events(3000))

    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal_packing, "write_all", full)
    with pytest.raises(StoreError, match="cannot be packed: No space left"):
        pack_journal(journal)
    assert files(journal.parent) == {"events.jsonl"}


def test_a_packed_file_that_is_not_the_same_never_replaces_the_journal(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = events(3000)
    journal.write_bytes(content)
    monkeypatch.setattr(
        journal_packing, "packed_member", lambda text, start: packed_member(text[::-1], start)
    )
    with pytest.raises(StoreError, match="not the same"):
        pack_journal(journal)
    assert files(journal.parent) == {"events.jsonl"}


def test_a_journal_that_still_grows_is_kept(journal: Path) -> None:
    journal.write_bytes(events(3000))
    late = lines.metric(3000)
    copy = packed_copy(journal)
    assert copy is not None
    lines.append(journal, [late])
    with pytest.raises(StoreError, match="grew"):
        copy.put_in_place()
    copy.discard()
    assert files(journal.parent) == {"events.jsonl"}
    assert journal.read_bytes().endswith(late)


def test_packing_stops_when_it_is_asked_to(journal: Path) -> None:
    journal.write_bytes(events(3000))
    assert pack_journal(journal, should_stop=lambda: True) is None
    assert files(journal.parent) == {"events.jsonl"}


def test_the_index_of_a_file_is_read_once(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.write_bytes(events(3000))
    pack_journal(journal)
    read_chunk(journal, 0, 1000)
    monkeypatch.setattr(journal_files, "_members", None)
    assert read_chunk(journal, 5000, 1000).lines
