"""Subscribers that hang, floods of events, and chunks that come twice or late (8, 9, 26)."""

from __future__ import annotations

import contextlib
import random
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from mosaic.errors import JournalOffsetError, RunStateError, StoreError, UnauthenticatedError
from mosaic.wire.errors import from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerStub
from tests import journal_lines
from tests.chaos.announced_workers import announce_workers, emitting
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon, python_run
from tests.chaos.figures import record
from tests.chaos.follower import Follower
from tests.chaos.probing import Prober, p99
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos


@contextlib.contextmanager
def following(daemon: ChaosDaemon, run_id: str, folder: Path) -> Iterator[Follower]:
    follower = Follower(daemon.home.root, run_id, folder)
    try:
        yield follower
    finally:
        if follower.process.poll() is None:
            follower.process.send_signal(signal.SIGCONT)
            follower.process.kill()
        follower.process.wait()


def test_stopped_client_harms_nobody_and_misses_nothing(tmp_path: Path) -> None:
    steps, per_second, stopped_s = 56_000, 1000, 34.0
    with chaos_daemon() as daemon:
        announce_workers(daemon.home)
        # About 1 kB a step: far more than any socket buffer holds.
        run_id = daemon.submit(**emitting(steps=steps, per_second=per_second, padding=200))
        # So little that the buffers have room for the ping that tells the daemon.
        quiet_id = daemon.submit(**emitting(steps=56, per_second=1))
        for each in (run_id, quiet_id):
            daemon.wait_for(each, "EXEC")
        prober = Prober(daemon.client, run_id)
        with (
            following(daemon, run_id, tmp_path / "busy") as follower,
            following(daemon, quiet_id, tmp_path / "quiet") as quiet,
        ):
            wait_until(lambda: follower.sequence and quiet.sequence, 20, "first events")
            before, after = measure_by_turns(prober, follower)
            rss_before, prober.rss_mb = prober.rss_mb, 0.0
            # So long that the daemon gives up the connection of whoever does not answer.
            for client in (follower, quiet):
                client.process.send_signal(signal.SIGSTOP)
            after += prober.measure(stopped_s)
            growth = prober.rss_mb - rss_before
            received = len(follower.sequence)
            for client in (follower, quiet):
                client.process.send_signal(signal.SIGCONT)
            for each in (run_id, quiet_id):
                daemon.wait_over(each, timeout_s=60)
            wait_until(lambda: follower.is_done and quiet.is_done, 30, "both to catch up")
            assert quiet.was_disconnected
        count = assert_received_all(daemon, run_id, follower, steps)
        assert received < count - stopped_s / 2 * per_second
        assert_received_all(daemon, quiet_id, quiet, 0)
        ratio = p99(after) / p99(before)
        # A few milliseconds more or less are the noise of two cores, not the daemon's doing.
        assert ratio <= 1.5 or p99(after) - p99(before) <= 0.02
        assert growth <= 16
        record(
            "8",
            f"clients stopped, at last for {stopped_s:.0f} s: others' p99 {p99(before) * 1e3:.1f} "
            f"→ {p99(after) * 1e3:.1f} ms ({ratio:.2f}×), daemon {growth:+.1f} MB; "
            f"{count:,}/{count:,} events received, 0 gaps, also by the one whose connection was "
            "dropped",
        )


def assert_received_all(daemon: ChaosDaemon, run_id: str, follower: Follower, printed: int) -> int:
    """Every line of the journal and of the log, each once; returns the number of events."""
    count = journal_lines.content(daemon.home.run(run_id).journal).count(b"\n")
    assert follower.sequence == list(range(count))
    assert follower.states[-1] == "TERM"
    lines = follower.output.decode().splitlines()
    assert lines == [f"{number} steps" for number in range(1000, printed + 1, 1000)]
    return count


def measure_by_turns(prober: Prober, follower: Follower) -> tuple[list[float], list[float]]:
    """(while it follows, while it is stopped), in turns: whatever else is going on hits both."""
    running: list[float] = []
    stopped: list[float] = []
    prober.measure(2)
    for _ in range(4):
        running += prober.measure(2)
        follower.process.send_signal(signal.SIGSTOP)
        stopped += prober.measure(2)
        follower.process.send_signal(signal.SIGCONT)
        prober.measure(0.5)  # catching up is work, too
    return running, stopped


def test_flood_is_stored_whole_while_control_stays_quick(tmp_path: Path) -> None:
    workers, steps, per_second = 16, 18_000, 1500
    with chaos_daemon() as daemon:
        announce_workers(daemon.home)
        go = tmp_path / "go"
        config = {"steps": steps, "per_second": per_second, "padding": 4, "go_file": str(go)}
        runs = [daemon.submit(**emitting(**config)) for _ in range(workers)]
        for run_id in runs:
            daemon.wait_for(run_id, "RDY", timeout_s=60)
        with following(daemon, runs[0], tmp_path / "follower") as follower:
            wait_until(lambda: follower.states, 20, "the follower to be connected")
            follower.process.send_signal(signal.SIGSTOP)
            prober = Prober(daemon.client, runs[1])
            go.touch()
            answers = prober.measure(steps / per_second)
            for run_id in runs:
                assert daemon.wait_over(run_id, timeout_s=60).outcome == "succeeded"
            follower.process.send_signal(signal.SIGCONT)
            wait_until(lambda: follower.is_done, 30, "the hung subscriber to catch up")
            assert follower.sequence == list(range(len(follower.sequence)))
            assert len(follower.sequence) >= steps
        times: list[float] = []
        for run_id in runs:
            times += stored_times(daemon, run_id, steps)
        rate = workers * steps / (max(times) - min(times))
        assert rate >= 20_000 * 0.9, "the flood itself was too thin to prove anything"
        assert p99(answers) <= 0.5
        assert prober.rss_mb <= 200
        record(
            "9",
            f"flood of {rate:,.0f} events/s from {workers} workers, one subscriber hung: "
            f"{workers * steps:,} sent = stored, 0 dropped; control p99 "
            f"{p99(answers) * 1e3:.0f} ms (target 100), daemon {prober.rss_mb:.0f} MB",
        )


def stored_times(daemon: ChaosDaemon, run_id: str, steps: int) -> list[float]:
    """When the first and the last step happened, after checking that each was stored once."""
    with contextlib.closing(sqlite3.connect(daemon.home.run(run_id).telemetry)) as store:
        state = store.execute("SELECT steps, missing, repeated, quarantined FROM ingest_state")
        assert state.fetchone() == (steps, 0, 0, 0)
        query = "SELECT count(DISTINCT step_index), min(timestamp), max(timestamp) FROM steps"
        count, first, last = store.execute(query).fetchone()
        assert count == steps
        return [first, last]


class GrpcWorker:
    """A worker that publishes its journal itself, for a run whose process only sleeps."""

    def __init__(self, daemon: ChaosDaemon, run_id: str) -> None:
        self.run_id = run_id
        self._daemon = daemon
        self._channel = grpc.insecure_channel(f"unix:{daemon.home.daemon_socket}")
        self._stub: Any = TrainerStub(self._channel)
        self.attempt_token = daemon.attempt(run_id).token.read_text()
        self.session = ""
        self.offset = 0

    def register(self, token: str | None = None, attempt: int = 1) -> None:
        request = pb.RegisterWorkerRequest(
            run_id=self.run_id,
            attempt=attempt,
            attempt_token=self.attempt_token if token is None else token,
            schema_version=1,
            protocol="MOSAIC/1",
        )
        try:
            answer = self._stub.RegisterWorker(request, timeout=10)
        except grpc.RpcError as error:
            raise from_rpc(error) from error
        self.session, self.offset = answer.session_token, answer.journal_offset

    def publish(self, *chunks: tuple[int, bytes], session: str | None = None) -> list[int]:
        """(offset, bytes) in the order given; returns the acknowledged offsets."""
        token = self.session if session is None else session
        requests = [
            pb.PublishEventsRequest(
                run_id=self.run_id, session_token=token, offset=offset, chunk=chunk
            )
            for offset, chunk in chunks
        ]
        try:
            return [ack.next_offset for ack in self._stub.PublishEvents(iter(requests), timeout=20)]
        except grpc.RpcError as error:
            raise from_rpc(error) from error

    def rows(self) -> list[tuple[Any, ...]]:
        """Every event stored; the registration is none of these."""
        with contextlib.closing(
            sqlite3.connect(self._daemon.home.run(self.run_id).telemetry)
        ) as db:
            tables = {"metrics": "name, value, step", "steps": "step_index, reward, observation"}
            # Registrations differ in length, so cursors are told from where the chunks begin.
            return [
                (table, *row)
                for table, columns in tables.items()
                for row in db.execute(
                    f"SELECT cursor - {self.offset}, seq, {columns} FROM {table} ORDER BY cursor"
                )
            ]

    def close(self) -> None:
        self._channel.close()


@contextlib.contextmanager
def grpc_workers(daemon: ChaosDaemon, count: int) -> Iterator[list[GrpcWorker]]:
    runs = [daemon.submit(**python_run(SLEEPER)) for _ in range(count)]
    for run_id in runs:
        daemon.wait_for(run_id, "RDY")
    workers = [GrpcWorker(daemon, run_id) for run_id in runs]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


def chunks_from(offset: int, count: int) -> list[tuple[int, bytes]]:
    """Chunks of a few events each, with the offset at which each belongs."""
    chance = random.Random(26)
    chunks, seq = [], 1
    for _ in range(count):
        lines = b""
        for _ in range(chance.randint(1, 6)):
            maker = journal_lines.metric if chance.random() < 0.5 else journal_lines.step
            lines += maker(seq)
            seq += 1
        chunks.append((offset, lines))
        offset += len(lines)
    return chunks


def test_chunks_sent_twice_late_or_in_any_order_are_stored_once() -> None:
    with chaos_daemon() as daemon, grpc_workers(daemon, 2) as (clean, careless):
        clean.register()
        careless.register()
        chunks = chunks_from(clean.offset, 300)
        assert clean.publish(*chunks)[-1] == chunks[-1][0] + len(chunks[-1][1])
        chunks = chunks_from(careless.offset, 300)
        sent = publish_carelessly(careless, chunks)
        end = chunks[-1][0] + len(chunks[-1][1])
        with pytest.raises(StoreError):  # bytes that contradict what is there
            careless.publish((chunks[10][0], b"x" * 40 + b"\n"))
        with pytest.raises(StoreError):  # half a line
            careless.publish((end, b'{"type": "metric"'))
        for worker in (clean, careless):
            daemon.client.stop_run(worker.run_id, grace_s=0)
            daemon.wait_over(worker.run_id)
        published = [
            journal_lines.content(daemon.home.run(worker.run_id).journal)[worker.offset :]
            for worker in (clean, careless)
        ]
        assert published[0] == published[1] == b"".join(chunk for _, chunk in chunks)
        assert clean.rows() == careless.rows()
        assert len(clean.rows()) == published[0].count(b"\n")
        record(
            "26",
            f"{len(chunks)} chunks sent {sent} times, shuffled, repeated and resent from the "
            f"start: {len(clean.rows())} rows, identical to a clean run",
        )


def publish_carelessly(worker: GrpcWorker, chunks: list[tuple[int, bytes]]) -> int:
    """Shuffled windows, each chunk up to three times, going back by up to 40 chunks; returns how
    many were sent. A chunk ahead of the journal is refused with the offset that is missing."""
    chance = random.Random(27)
    sent, position = 0, 0
    while position < len(chunks):
        window = chunks[max(0, position - chance.randint(0, 40)) : position + 12]
        window *= chance.randint(1, 3)
        chance.shuffle(window)
        sent += len(window)
        try:
            worker.publish(*window)
        except JournalOffsetError as error:
            expected = int(error.details["expected_offset"])
        else:
            expected = max(offset + len(chunk) for offset, chunk in window)
        known = [index for index, (offset, _) in enumerate(chunks) if offset < expected]
        position = max(position, len(known))
        if position < len(chunks):
            worker.publish(chunks[position])
            sent, position = sent + 1, position + 1
    worker.publish(*chunks)
    return sent + len(chunks)


def test_publishing_needs_the_session_of_this_very_attempt() -> None:
    with chaos_daemon() as daemon, grpc_workers(daemon, 2) as (worker, other):
        refused = 0
        for token in ("", "wrong", other.attempt_token, worker.attempt_token[:-1]):
            with pytest.raises(UnauthenticatedError):
                worker.register(token)
            refused += 1
        with pytest.raises(RunStateError):
            worker.register(attempt=2)
        worker.register()
        other.register()
        outdated = worker.session
        worker.register()
        (chunk,) = chunks_from(worker.offset, 1)
        for session in ("", "wrong", other.session, outdated, worker.attempt_token):
            with pytest.raises(UnauthenticatedError):
                worker.publish(chunk, session=session)
            refused += 1
        size = daemon.home.run(worker.run_id).journal.stat().st_size
        assert size == worker.offset
        assert worker.publish(chunk) == [worker.offset + len(chunk[1])]
        record(
            "26", f"{refused}/{refused} wrong attempt and session tokens refused, 0 bytes written"
        )
