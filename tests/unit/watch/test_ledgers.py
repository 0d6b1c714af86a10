"""What a process writes into its ledger and what is read there, whole and in order."""

from __future__ import annotations

import errno
import math
import mmap
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.contracts.ledger import (
    EVALUATION,
    FILE_BYTES,
    FIRST_RECORDS,
    HEAD_BYTES,
    NO_STEP,
    RECORD,
    RECORDED,
    RING_RECORDS,
    TRUNCATED,
    WINDOW_RECORDS,
    ledger_name,
    ledger_number,
    record_offset,
)
from mosaic.injection.ledger_writer import LedgerWriter
from mosaic.watch.bridge import Ledgers
from mosaic.watch.messages import Episode, Message, Metric, Progress


class Stage:
    """A writer and a reader of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.writer = LedgerWriter(str(folder), self.said.append)
        self.ledgers = Ledgers(folder)

    def read(self, *, is_last: bool = False) -> list[Message]:
        taken: list[Message] = []
        self.ledgers.read(taken.append, is_last=is_last)
        return taken

    @property
    def path(self) -> Path:
        return self.folder / ledger_name(self.writer.number)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    yield Stage(tmp_path)


def test_values_and_episodes_arrive_as_they_were(stage: Stage) -> None:
    writer = stage.writer
    writer.value("charts/episodic_return", 21.5, 100)
    writer.value("ütf-8, and longer than one of the parts a name comes in", math.inf, NO_STEP)
    writer.value("charts/episodic_return", -0.0, 2**53)
    writer.episode(0, 7.25, 20, 3, TRUNCATED)
    writer.episode(1, -1.0, 2**40, 70_000, EVALUATION | RECORDED)
    writer.steps(20)
    number = writer.number
    assert stage.read() == [
        Metric("charts/episodic_return", 21.5, 100),
        Metric("ütf-8, and longer than one of the parts a name comes in", math.inf, None),
        Metric("charts/episodic_return", -0.0, 2**53),
        Episode(7.25, 20, 3, is_truncated=True),
        Episode(-1.0, 2**32 - 1, 2**16 - 1, is_evaluation=True, process=number, number=1),
        Progress(20, number),
    ]
    assert stage.read() == []


def test_a_process_that_is_gone_has_told_everything(stage: Stage) -> None:
    pid = os.fork()
    if pid == 0:
        for step in range(3_000):
            stage.writer.value("loss", step / 2, step)
        stage.writer.episode(0, 1.0, 200, 0, 0)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    *values, episode, progress = stage.read(is_last=True)
    assert values == [Metric("loss", step / 2, step) for step in range(3_000)]
    assert isinstance(episode, Episode)
    assert isinstance(progress, Progress) and progress.steps == 200, "counted by its episodes"


def test_a_hundred_thousand_values_between_two_looks(stage: Stage) -> None:
    for step in range(100_000):
        stage.writer.value("loss", 0.5, step)
    assert [each.step for each in stage.read() if isinstance(each, Metric)] == list(range(100_000))


def test_memory_of_what_was_read_is_given_back(stage: Stage) -> None:
    for _ in range(5):
        for step in range(WINDOW_RECORDS):
            stage.writer.value("loss", 0.5, step)
        assert len(stage.read()) == WINDOW_RECORDS
    used = stage.path.stat().st_blocks * 512
    assert used <= 2 * WINDOW_RECORDS * RECORD.size + HEAD_BYTES


class Unpunched(mmap.mmap):
    """Of a file system that keeps the blocks of its files."""

    def madvise(self, *arguments: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


@pytest.mark.parametrize("memory", [mmap.mmap, Unpunched])
def test_the_ring_goes_on_where_it_began(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, memory: type[mmap.mmap]
) -> None:
    monkeypatch.setattr("mosaic.watch.bridge.mmap.mmap", memory)
    ring = 4 * WINDOW_RECORDS
    for module in ("mosaic.contracts.ledger", "mosaic.injection.ledger_writer"):
        monkeypatch.setattr(f"{module}.RING_RECORDS", ring)
    expected = 0
    for _ in range(40):
        for _ in range(ring // 10):
            stage.writer.value("loss", 0.5, expected)
            expected += 1
        found = [each.step for each in stage.read() if isinstance(each, Metric)]
        assert found == list(range(expected - ring // 10, expected))
    assert expected > 3 * ring
    assert not stage.said


def test_what_nobody_reads_is_counted_and_said(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = 3 * WINDOW_RECORDS
    for module in ("mosaic.contracts.ledger", "mosaic.injection.ledger_writer"):
        monkeypatch.setattr(f"{module}.RING_RECORDS", ring)
    for step in range(ring):
        stage.writer.value("loss", 0.5, step)
    stage.writer.episode(0, 1.0, 1, 0, 0)
    assert stage.said == [
        "values and episodes from here on are not kept: they come faster than they can be stored"
    ]
    kept = [each.step for each in stage.read(is_last=True) if isinstance(each, Metric)]
    assert kept == list(range(len(kept)))
    assert len(kept) + stage.ledgers.lost_values == ring
    assert stage.ledgers.lost_episodes == 1


def test_a_full_disk_is_said_and_harms_nobody(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(fd: int, offset: int, length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    stage.writer.value("loss", 0.5, 1)
    stage.writer.episode(0, 1.0, 1, 0, 0)
    stage.writer.steps(1)
    stage.writer.close()
    assert stage.said[0].endswith("not kept: No space left on device")
    assert stage.read(is_last=True) == []


def test_many_threads_lose_nothing(stage: Stage) -> None:
    def log(thread: int) -> None:
        for step in range(10_000):
            stage.writer.value(f"thread-{thread}", 1.0, step)

    threads = [threading.Thread(target=log, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found: dict[str, list[int | None]] = {}
    for message in stage.read(is_last=True):
        assert isinstance(message, Metric)
        found.setdefault(message.name, []).append(message.step)
    assert found == {f"thread-{number}": list(range(10_000)) for number in range(4)}


def test_a_place_whose_writer_was_interrupted_is_left_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("mosaic.watch.bridge.time.monotonic", lambda: now)
    stage.writer.value("loss", 1.0, 1)
    stage.writer.book.take()
    stage.writer.value("loss", 3.0, 3)
    assert stage.read() == [Metric("loss", 1.0, 1)]
    now += 0.5
    assert stage.read() == [], "it may still come"
    now += 0.6
    assert stage.read() == [Metric("loss", 3.0, 3)]


def test_a_closed_ledger_is_read_and_removed_and_the_process_may_go_on(stage: Stage) -> None:
    stage.writer.steps(10)
    stage.writer.value("loss", 1.0, 1)
    first = stage.path
    stage.writer.close()
    stage.writer.value("loss", 2.0, 2)
    stage.writer.steps(15)
    assert stage.path != first
    found = stage.read()
    assert [each for each in found if isinstance(each, Metric)] == [
        Metric("loss", 1.0, 1),
        Metric("loss", 2.0, 2),
    ]
    assert sum(each.steps for each in found if isinstance(each, Progress)) == 15
    assert [each.name for each in stage.folder.iterdir()] == [stage.path.name]


def test_a_child_has_a_ledger_of_its_own(stage: Stage) -> None:
    stage.writer.value("loss", 1.0, 1)
    number = stage.writer.number
    stage.writer.start_over()
    stage.writer.value("loss", 2.0, 2)
    assert stage.writer.number not in (0, number)
    assert stage.read() == [Metric("loss", 1.0, 1), Metric("loss", 2.0, 2)]


@pytest.mark.parametrize(
    "content",
    [b"", b"x" * 100, b"mosaic-1", bytes(HEAD_BYTES), os.urandom(HEAD_BYTES + 100_000)],
    ids=["empty", "short", "magic", "zeros", "random"],
)
def test_what_is_no_ledger_is_left_alone(stage: Stage, content: bytes) -> None:
    (stage.folder / "123.ledger").write_bytes(content)
    (stage.folder / "pipe").write_bytes(b"")
    os.mkfifo(stage.folder / "124.ledger")
    (stage.folder / "125.ledger").symlink_to("/dev/zero")
    stage.writer.value("loss", 1.0, 1)
    assert stage.read() == [Metric("loss", 1.0, 1)]
    stage.read(is_last=True)


def test_garbage_in_a_ledger_is_no_message(stage: Stage) -> None:
    stage.writer.value("loss", 1.0, 1)
    with stage.path.open("r+b") as file:
        file.seek(record_offset(2))
        file.write(os.urandom(RECORD.size * (FIRST_RECORDS - 2)))
    for message in stage.read(is_last=True):
        assert isinstance(message, Metric | Episode | Progress)
        if isinstance(message, Metric):
            assert message.name == "loss"


@pytest.mark.parametrize("name", ["x.ledger", "1.ledger.ledger", "1", "-1.ledger", "1.head"])
def test_other_names_are_no_ledgers(name: str) -> None:
    assert ledger_number(name) is None


def test_windows_are_whole_pages_of_memory() -> None:
    for place in (0, FIRST_RECORDS, WINDOW_RECORDS, RING_RECORDS - WINDOW_RECORDS):
        assert record_offset(place) % 4096 == 0
    assert FILE_BYTES % 4096 == 0
