"""Subscribers that hang, floods of events, and chunks that come twice or late (8, 9, 26)."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mosaic.client import TrainerClient
from mosaic.errors import JournalOffsetError, StoreError, UnauthenticatedError
from mosaic.wire.errors import from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerStub
from tests.chaos.announced_workers import announce_workers, emitting
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon, python_run
from tests.chaos.figures import record
from tests.chaos.follower import Follower
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

PACE_S = 0.005


class Prober:
    """Calls the daemon like a busy user interface and notes how long each answer took."""

    def __init__(self, client: TrainerClient, run_id: str) -> None:
        self._client = client
        self._run_id = run_id
        self.rss_mb = 0.0

    def measure(self, duration_s: float) -> list[float]:
        answers: list[float] = []
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            for call in (self._health, self._get, self._list):
                began = time.perf_counter()
                call()
                answers.append(time.perf_counter() - began)
                time.sleep(PACE_S)
        return answers

    def _health(self) -> None:
        self.rss_mb = max(self.rss_mb, self._client.health().rss_mb)

    def _get(self) -> None:
        self._client.get_run(self._run_id)

    def _list(self) -> None:
        self._client.list_runs(limit=50)


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


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
    steps, per_second, stopped_s = 50_000, 1000, 36.0
    with chaos_daemon() as daemon:
        announce_workers(daemon.home)
        # About 1 kB a step: far more than any socket buffer holds.
        run_id = daemon.submit(**emitting(steps=steps, per_second=per_second, padding=200))
        daemon.wait_for(run_id, "EXEC")
        prober = Prober(daemon.client, run_id)
        with following(daemon, run_id, tmp_path / "follower") as follower:
            wait_until(lambda: follower.sequence, 20, "the follower to receive events")
            prober.measure(2)
            before, rss_before = prober.measure(8), prober.rss_mb
            follower.process.send_signal(signal.SIGSTOP)
            received = len(follower.sequence)
            after = prober.measure(stopped_s)
            rss_after = prober.rss_mb
            follower.process.send_signal(signal.SIGCONT)
            daemon.wait_over(run_id, timeout_s=60)
            wait_until(lambda: follower.is_done, 30, "the follower to catch up")
            sequence, was_dropped = follower.sequence, follower.was_disconnected
            assert follower.states[-1] == "TERM"
            lines = follower.output.decode().splitlines()
        # The first lines register and start the run, the last one completes it.
        journal = daemon.home.run(run_id).journal.read_bytes().splitlines()
        assert sequence == list(range(len(journal)))
        assert received < len(sequence) / 2
        assert lines == [f"{number} steps" for number in range(1000, steps + 1, 1000)]
        ratio, growth = p99(after) / p99(before), rss_after - rss_before
        # A millisecond more or less is the noise of two cores, not the daemon's doing.
        assert ratio <= 1.5 or p99(after) - p99(before) <= 0.01
        assert growth <= 16
        record(
            "8",
            f"client stopped for {stopped_s:.0f} s ({'dropped' if was_dropped else 'kept'}): others' "
            f"p99 {p99(before) * 1e3:.1f} → {p99(after) * 1e3:.1f} ms ({ratio:.2f}×), daemon "
            f"+{growth:.1f} MB, {len(sequence)}/{len(journal)} events received, 0 gaps",
        )


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
