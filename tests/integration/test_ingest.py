"""Ingestion against killed processes, growing journals and full disks: nothing lost or doubled."""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.errors import StoreError
from mosaic.telemetry import queries
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.journal.files import append_chunk
from tests import journal_lines as lines
from tests.waiting import PATIENCE_S, wait_until

REPOSITORY = Path(__file__).parents[2]

# Ingests in small transactions until the journal has no more, then ends with status 0.
INGESTER = """
import sys
from pathlib import Path
from mosaic.telemetry.ingest import JournalIngest
run_id, journal, store, max_bytes = sys.argv[1:]
ingest = JournalIngest(run_id, Path(journal), Path(store))
print("started", flush=True)
while ingest.step(int(max_bytes)).has_more:
    pass
ingest.close()
"""

# Writes steps in whole lines with O_APPEND, as fast as it can.
WRITER = """
import os, sys
from tests import journal_lines as lines
from pathlib import Path
journal, count = Path(sys.argv[1]), int(sys.argv[2])
fd = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, lines.registered(0))
for first in range(1, count, 100):
    os.write(fd, b"".join(lines.step(seq) for seq in range(first, min(first + 100, count))))
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)


def stored_seqs(store: Path) -> list[int]:
    connection = sqlite3.connect(store)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            return []
        tables = ("steps", "episodes", "metrics", "lifecycle")
        union = " UNION ALL ".join(f"SELECT cursor, seq FROM {table}" for table in tables)
        return [seq for _, seq in connection.execute(f"{union} ORDER BY cursor")]
    finally:
        connection.close()


def ingest_all(ingest: JournalIngest, max_bytes: int = 1 << 20) -> None:
    while ingest.step(max_bytes).has_more:
        pass


def write_attempts(journal: Path, chosen: random.Random) -> tuple[list[int], int]:
    """Three attempts' lines with garbage among them; the good ones' seqs, how many are bad."""
    seqs: list[int] = []
    bad_lines = 0
    for attempt in (1, 2, 3):
        written = [lines.registered(len(seqs), attempt=attempt)]
        seqs.append(len(seqs))
        for _ in range(6000):
            kind = chosen.choice((lines.step, lines.step, lines.step, lines.episode, lines.metric))
            written.append(kind(len(seqs)))
            seqs.append(len(seqs))
            if chosen.random() < 0.01:
                written.append(b"garbage \xff\n")
                bad_lines += 1
        # Each worker dies in the middle of a line, which the next one ends.
        lines.append(journal, [*written, lines.step(0)[:40], b"\n"])
        bad_lines += 1
    return seqs, bad_lines


def is_killed(process: subprocess.Popen[str], after_s: float) -> bool:
    """Kill it so long after it has started to work; False when it was done before."""
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "started\n"
        try:
            assert process.wait(timeout=after_s) == 0
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=PATIENCE_S)
            return True


def test_killed_at_any_moment_it_stores_every_line_exactly_once(tmp_path: Path) -> None:
    journal, store = tmp_path / "events.jsonl", tmp_path / "telemetry.sqlite"
    chosen = random.Random(11)
    expected, bad_lines = write_attempts(journal, chosen)
    sizes = set()
    kills = 0
    patience_s = 0.05
    while is_killed(
        start(INGESTER, lines.RUN_ID, journal, store, 3000), chosen.uniform(0, patience_s)
    ):
        kills += 1
        if kills % 2:  # else nobody but the next ingester puts the log of the killed one right
            size = len(stored_seqs(store))
            if size in sizes:
                patience_s *= 1.5  # too little for this machine, with all that it does
            sizes.add(size)
        if kills == 60:
            patience_s = 60.0
    assert kills >= 10
    assert len(sizes) >= 5, "the kills did not fall into the work"
    assert stored_seqs(store) == expected
    assert queries.quarantine_summary(store).lines == bad_lines
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    report = ingest.step()
    ingest.close()
    assert (report.bytes_read, report.offset) == (0, journal.stat().st_size)
    assert report.attempt == 3


def test_a_journal_is_ingested_while_it_is_written(tmp_path: Path) -> None:
    journal, store = tmp_path / "events.jsonl", tmp_path / "telemetry.sqlite"
    count = 20_000
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    writer = start(WRITER, journal, count)

    def is_complete() -> bool:
        return ingest.step().progress.steps == count - 1

    try:
        wait_until(is_complete, what="all steps in the store")
        assert writer.wait(timeout=PATIENCE_S) == 0
    finally:
        writer.kill()
        writer.wait(timeout=PATIENCE_S)
        assert writer.stdout is not None
        writer.stdout.close()
        ingest.close()
    assert stored_seqs(store) == list(range(count))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Two megabytes of file system."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small disk is not permitted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)


def test_a_full_disk_stops_ingestion_and_it_goes_on_when_there_is_room(
    tmp_path: Path, small_disk: Path
) -> None:
    journal, store = tmp_path / "events.jsonl", small_disk / "telemetry.sqlite"
    count = 20_000
    lines.append(journal, (lines.step(seq) for seq in range(count)))
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    with pytest.raises(StoreError) as caught:
        ingest_all(ingest, 100_000)
    assert caught.value.details["sqlite"] == "SQLITE_FULL"
    assert "space" in caught.value.hint
    for _ in range(5):
        with pytest.raises(StoreError):
            ingest_all(ingest, 100_000)
    enlarge(small_disk)
    ingest_all(ingest, 100_000)
    ingest.close()
    assert stored_seqs(store) == list(range(count))
    assert not list(small_disk.glob("*.corrupt-*"))


def test_a_closed_store_can_be_read_on_a_full_disk(small_disk: Path) -> None:
    journal, store = small_disk / "events.jsonl", small_disk / "telemetry.sqlite"
    lines.append(journal, (lines.metric(seq) for seq in range(50)))
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    ingest_all(ingest)
    ingest.close()
    with pytest.raises(OSError, match="No space left"), (small_disk / "filler").open("wb", 0) as f:
        while True:
            f.write(bytes(4096))
    assert len(queries.recent_metrics(store, 100)) == 50


def test_a_published_chunk_cut_by_a_full_disk_is_completed_by_sending_it_again(
    small_disk: Path,
) -> None:
    journal = small_disk / "events.jsonl"
    chunk = b"".join(lines.step(seq) for seq in range(20_000))
    with pytest.raises(StoreError, match="No space left"):
        append_chunk(journal, 0, chunk)
    assert 0 < journal.stat().st_size < len(chunk)
    enlarge(small_disk)
    assert append_chunk(journal, 0, chunk) == len(chunk)
    assert journal.read_bytes() == chunk


# A limit on the size of files answers with EFBIG, which SQLite reports as an I/O error.
LIMITED = """
import json, resource, sys
from pathlib import Path
from mosaic.errors import StoreError
from mosaic.telemetry.ingest import JournalIngest
run_id, journal, store = sys.argv[1:]
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, unlimited[1]))
ingest = JournalIngest(run_id, Path(journal), Path(store))
codes = []
for _ in range(3):
    try:
        while ingest.step(50_000).has_more:
            pass
    except StoreError as error:
        codes.append(error.details["sqlite"])
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
while ingest.step(50_000).has_more:
    pass
ingest.close()
print(json.dumps(codes))
"""


def test_an_io_error_stops_ingestion_and_it_goes_on_when_it_is_gone(tmp_path: Path) -> None:
    journal, store = tmp_path / "events.jsonl", tmp_path / "telemetry.sqlite"
    count = 5000
    lines.append(journal, (lines.step(seq) for seq in range(count)))
    process = start(LIMITED, lines.RUN_ID, journal, store)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    codes = json.loads(output)
    assert codes
    assert all(code.startswith("SQLITE_IOERR") for code in codes)
    assert stored_seqs(store) == list(range(count))


def test_a_flood_of_garbage_takes_bounded_memory(tmp_path: Path) -> None:
    journal, store = tmp_path / "events.jsonl", tmp_path / "telemetry.sqlite"
    with journal.open("wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 20).replace(b"\n", b"x"))
        file.write(b"\n" * 500_000)
        file.write(lines.step(1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ingest = JournalIngest(lines.RUN_ID, journal, store)
    ingest_all(ingest)
    report = ingest.step()
    ingest.close()
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mb < 40
    assert (report.quarantined_total, report.progress.steps) == (1, 1)
