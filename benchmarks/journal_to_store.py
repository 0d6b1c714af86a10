"""How many steps per second get from a journal into the store, and end to end from a worker.

    python benchmarks/journal_to_store.py [--steps 300000]

1. Ingest alone, from a prepared journal, against the plain way in the same run: `json.loads` a
   line, one INSERT a row, one commit per 1,000 rows. Both keep the same columns.
2. End to end: a child process reports steps through the worker SDK as fast as it can while this
   process ingests. Nothing may be lost: rows are counted and their sequence must be unbroken.

Predicted before the first run, on two idle cores: 200,000 steps/s for ingest alone, 4 times the
plain way, and end to end what the worker's side can write, about 100,000 steps/s. The targets are
120,000 and 50,000. Measured in four runs on two cores that others used at times too: 153,000 to
225,000 alone, 4.9 to 5.5 times the plain way, 92,000 to 152,000 end to end.

Microseconds of CPU per step tell the same on a machine that is not idle: with a core for each
side, the slower side is the rate.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.store.schema import COLUMNS
from mosaic.worker.assignment import Assignment
from mosaic.worker.event_writer import EventWriter
from mosaic.worker.journal import Journal

RUN_ID = "01JQ0000000000000000000000"
ROUNDS = 3
EPISODE_STEPS = 200
INGEST_TARGET = 120_000
END_TO_END_TARGET = 50_000


def write_steps(journal_path: Path, count: int) -> None:
    """What a worker does: CartPole-like steps through the SDK."""
    journal = Journal(journal_path)
    writer = EventWriter(journal, Assignment(RUN_ID, "agent_0", "bench"))
    chosen = random.Random(0)
    observations = [[round(chosen.uniform(-2, 2), 7) for _ in range(4)] for _ in range(1000)]
    for index in range(count):
        place = index % EPISODE_STEPS
        writer.step(
            episode_index=index // EPISODE_STEPS,
            step_index=place,
            action=index & 1,
            observation=observations[index % 1000],
            reward=1.0,
            terminated=place == EPISODE_STEPS - 1,
            truncated=False,
        )
    journal.close()


@dataclass
class Spent:
    """The best of several rounds, each over the same number of steps."""

    steps: int
    wall_s: float = math.inf
    cpu_s: float = math.inf

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall_s = min(self.wall_s, time.perf_counter() - wall)
        self.cpu_s = min(self.cpu_s, time.process_time() - cpu)

    @property
    def rate(self) -> float:
        return self.steps / self.wall_s

    def show(self, name: str, more: str = "") -> None:
        cpu_us = self.cpu_s / self.steps * 1e6
        print(f"{name:24} {self.rate:>9,.0f} steps/s, {cpu_us:5.1f} us of CPU a step{more}")


def ingest_all(journal: Path, store: Path) -> float:
    """Seconds of the longest single step."""
    ingest = JournalIngest(RUN_ID, journal, store)
    longest = 0.0
    has_more = True
    while has_more:
        before = time.perf_counter()
        has_more = ingest.step().has_more
        longest = max(longest, time.perf_counter() - before)
    ingest.close()
    return longest


def ingest_plainly(journal: Path, store: Path) -> None:
    columns = COLUMNS["steps"]
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"CREATE TABLE steps ({', '.join(columns)}, PRIMARY KEY (cursor))")
    insert = f"INSERT INTO steps VALUES ({', '.join('?' * len(columns))})"
    cursor = 0
    with journal.open("rb") as file:
        for number, line in enumerate(file):
            event = json.loads(line)
            event["cursor"] = cursor
            event["action"] = json.dumps(event["action"])
            event["observation"] = json.dumps(event["observation"])
            connection.execute(insert, [event.get(column) for column in columns])
            cursor += len(line)
            if number % 1000 == 999:
                connection.commit()
    connection.commit()
    connection.close()


def assert_complete(store: Path, count: int) -> None:
    connection = sqlite3.connect(store)
    found = connection.execute("SELECT count(*), min(seq), max(seq) FROM steps").fetchone()
    distinct = connection.execute("SELECT count(DISTINCT seq) FROM steps").fetchone()
    connection.close()
    assert found == (count, 0, count - 1), f"steps were lost or doubled: {found}"
    assert distinct == (count,), "sequence numbers repeat"


@contextlib.contextmanager
def busy_thread() -> Iterator[None]:
    """Somebody else who wants the interpreter all the time."""
    is_over = threading.Event()

    def spin() -> None:
        while not is_over.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def measure_ingest(folder: Path, count: int) -> float:
    journal = folder / "events.jsonl"
    writing, ours, plain, beside = Spent(count), Spent(count), Spent(count), Spent(count)
    with writing.measured():
        write_steps(journal, count)
    longest = 0.0
    for number in range(ROUNDS):
        store = folder / f"ours-{number}.sqlite"
        with ours.measured():
            longest = max(longest, ingest_all(journal, store))
        assert_complete(store, count)
        with plain.measured():
            ingest_plainly(journal, folder / f"plain-{number}.sqlite")
    with busy_thread(), beside.measured():
        ingest_all(journal, folder / "beside.sqlite")
    print(f"journal: {count:,} steps, {journal.stat().st_size / count:.0f} bytes a line")
    writing.show("worker side alone:")
    ours.show("ingest alone:", f", longest step {longest * 1000:.0f} ms")
    plain.show("json.loads and INSERT:", f", {plain.cpu_s / ours.cpu_s:.1f} times as much")
    beside.show("ingest and busy thread:")
    return ours.rate


def measure_end_to_end(folder: Path, count: int) -> float:
    journal, store = folder / "events.jsonl", folder / "telemetry.sqlite"
    ingest = JournalIngest(RUN_ID, journal, store)
    writer = subprocess.Popen([sys.executable, __file__, "--write", journal, "--steps", str(count)])
    try:
        while not ingest.step().events:  # the clock starts with the first step
            assert writer.poll() in (None, 0), "the writer failed"
            time.sleep(0.001)
        spent = Spent(count)
        with spent.measured():
            _follow(ingest, writer, count)
    finally:
        writer.kill()
        writer.wait()
        ingest.close()
    assert_complete(store, count)
    spent.show("worker to store:", f", all {count:,} arrived")
    return spent.rate


def _follow(ingest: JournalIngest, writer: subprocess.Popen[bytes], count: int) -> None:
    while True:
        has_ended = writer.poll() is not None
        report = ingest.step()
        if report.progress.steps >= count or (has_ended and not report.bytes_read):
            return
        if not report.has_more:
            time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--write", type=Path, help="only write steps to this journal")
    arguments = parser.parse_args()
    if arguments.write:
        write_steps(arguments.write, arguments.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        alone = measure_ingest(Path(folder), arguments.steps)
    with tempfile.TemporaryDirectory() as folder:
        end_to_end = measure_end_to_end(Path(folder), arguments.steps)
    for name, rate, target in (
        ("ingest alone", alone, INGEST_TARGET),
        ("worker to store", end_to_end, END_TO_END_TARGET),
    ):
        print(f"{name}: {'reaches' if rate >= target else 'MISSES'} its {target:,} steps/s")


if __name__ == "__main__":
    main()
