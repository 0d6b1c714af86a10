from __future__ import annotations

import random
import stat
from pathlib import Path

import pytest

from mosaic.errors import JournalOffsetError, StoreError
from mosaic.telemetry.journal.files import append_chunk
from tests import journal_lines as lines


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_chunks_make_up_the_journal(journal: Path) -> None:
    assert append_chunk(journal, 0, b"a\nb\n") == 4
    assert append_chunk(journal, 4, b"c\n") == 6
    assert journal.read_bytes() == b"a\nb\nc\n"
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


def test_a_chunk_sent_again_changes_nothing(journal: Path) -> None:
    append_chunk(journal, 0, b"a\nb\n")
    assert append_chunk(journal, 0, b"a\nb\n") == 4
    assert append_chunk(journal, 2, b"b\nc\n") == 6
    assert append_chunk(journal, 0, b"a\n") == 2
    assert journal.read_bytes() == b"a\nb\nc\n"


def test_a_chunk_beyond_the_end_is_told_where_to_start(journal: Path) -> None:
    append_chunk(journal, 0, b"a\n")
    with pytest.raises(JournalOffsetError) as caught:
        append_chunk(journal, 3, b"b\n")
    assert caught.value.details["expected_offset"] == 2


def test_a_chunk_that_contradicts_the_journal_is_refused(journal: Path) -> None:
    append_chunk(journal, 0, b"a\nb\n")
    with pytest.raises(StoreError, match="contradicts"):
        append_chunk(journal, 2, b"x\nc\n")
    assert journal.read_bytes() == b"a\nb\n"


def test_a_chunk_must_end_with_a_newline(journal: Path) -> None:
    with pytest.raises(StoreError, match="whole lines"):
        append_chunk(journal, 0, b"a\nb")
    assert not journal.exists()


def test_what_a_crash_cut_off_is_completed_by_sending_it_again(journal: Path) -> None:
    journal.write_bytes(b"a\nbee")
    assert append_chunk(journal, 2, b"beef\nc\n") == 9
    assert journal.read_bytes() == b"a\nbeef\nc\n"


def test_a_torn_line_is_ended_before_a_new_one_and_the_new_one_can_be_resent(
    journal: Path,
) -> None:
    journal.write_bytes(b"a\ntorn")
    assert append_chunk(journal, 6, b"b\n") == 9
    assert append_chunk(journal, 6, b"b\n") == 9
    assert append_chunk(journal, 9, b"c\n") == 11
    assert journal.read_bytes() == b"a\ntorn\nb\nc\n"


def test_a_journal_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        append_chunk(tmp_path / "no" / "such" / "folder", 0, b"a\n")


def test_shuffled_and_doubled_chunks_end_in_the_same_journal(journal: Path) -> None:
    chosen = random.Random(3)
    content = b"".join([lines.registered(), *(lines.step(seq) for seq in range(1, 200))])
    starts = [0] + [place + 1 for place in range(len(content) - 1) if content[place] == 10]
    chunks = []
    for index, start in enumerate(starts):
        stop = starts[min(index + chosen.randrange(1, 9), len(starts) - 1)]
        chunks.append((start, content[start:] if stop <= start else content[start:stop]))
    for _ in range(500):
        if journal.exists() and journal.stat().st_size == len(content):
            break
        chosen.shuffle(chunks)
        for offset, chunk in chunks:
            try:
                append_chunk(journal, offset, chunk)
            except JournalOffsetError as error:
                assert error.details["expected_offset"] < offset
    assert journal.read_bytes() == content
