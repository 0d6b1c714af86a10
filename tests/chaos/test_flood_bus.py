"""A flood of events to eight subscribers on the bus, one of which hangs (8, 9)."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests import journal_lines
from tests.chaos.announced_workers import announce_workers, emitting
from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon
from tests.chaos.figures import record
from tests.chaos.probing import Prober, p99
from tests.integration.bus_client import BusClientProcess
from tests.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

WORKERS, SUBSCRIBERS = 16, 8
PER_SECOND = 1300
TURN_S, CATCH_UP_S, TURNS = 2.0, 0.5, 4
# Long enough that the daemon lets go of who takes nothing for 30 s.
FROZEN_S = 36.0
STEPS = int(PER_SECOND * ((2 * TURN_S + CATCH_UP_S) * TURNS + 8))


class WalWatch:
    """The most that all write-ahead logs of a home ever took together, in a thread."""

    def __init__(self, runs: Path) -> None:
        self.peak = 0
        self._runs = runs
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> WalWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            total = 0
            for path in self._runs.glob("*/telemetry.sqlite-wal"):
                with contextlib.suppress(FileNotFoundError):
                    total += path.stat().st_size
            self.peak = max(self.peak, total)


@contextlib.contextmanager
def subscribers(
    daemon: ChaosDaemon, runs: list[str], folder: Path
) -> Iterator[list[BusClientProcess]]:
    """The first has so many credits that only the transport can stop what is sent to it."""
    start = {"run_ids": runs, "cursors": dict.fromkeys(runs, 0), "is_timing": True}
    windows = [10_000_000] + [20_000] * (SUBSCRIBERS - 1)
    clients = [
        BusClientProcess(daemon.home.root, folder / str(number), **start, window=window)
        for number, window in enumerate(windows)
    ]
    try:
        wait_until(lambda: all(client.has_begun for client in clients), 60, "subscribers")
        yield clients
    finally:
        for client in clients:
            client.close()


def test_flood_reaches_every_subscriber_or_is_declared(tmp_path: Path) -> None:
    with chaos_daemon() as daemon:
        announce_workers(daemon.home)
        go = tmp_path / "go"
        config = {"steps": STEPS, "per_second": PER_SECOND, "padding": 4, "go_file": str(go)}
        runs = [daemon.submit(**emitting(**config)) for _ in range(WORKERS)]
        for run_id in runs:
            daemon.wait_for(run_id, "RDY", timeout_s=60)
        with (
            WalWatch(daemon.home.runs) as wal,
            subscribers(daemon, runs, tmp_path) as (hung, *others),
        ):
            prober = Prober(daemon.client, runs[1])
            go.touch()
            prober.measure(2)
            answers: list[float] = []
            frozen: list[tuple[float, float]] = []
            running: list[tuple[float, float]] = []
            cpu_before, began = cpu_seconds(daemon), time.monotonic()
            for _ in range(TURNS):  # in turns: whatever else is going on hits both
                answers += timed_turn(prober, running)
                hung.process.send_signal(signal.SIGSTOP)
                answers += timed_turn(prober, frozen)
                hung.process.send_signal(signal.SIGCONT)
                prober.measure(CATCH_UP_S)  # catching up is work, too
            cores = (cpu_seconds(daemon) - cpu_before) / (time.monotonic() - began)
            before_mb, prober.rss_mb = prober.rss_mb, 0.0
            hung.process.send_signal(signal.SIGSTOP)
            prober.measure(FROZEN_S)
            growth_mb = prober.rss_mb - before_mb
            rss_mb = max(before_mb, prober.rss_mb)
            for run_id in runs:
                assert daemon.wait_over(run_id, timeout_s=120).outcome == "succeeded"
            hung.process.send_signal(signal.SIGCONT)
            wait_until(
                lambda: all(client.is_done for client in (hung, *others)),
                120,
                "every subscriber's end",
            )
        stored, rate = stored_events(daemon, runs)
        coalesced = [assert_accounts_for_all(client, stored) for client in (hung, *others)]
        before, after = latencies(others, running), latencies(others, frozen)
        assert rate >= 20_000 * 0.9, "the flood itself was too thin to prove anything"
        # By the hub, or by gRPC, whose ping was not answered for as long.
        assert hung.was_disconnected
        assert not any(client.was_disconnected for client in others)
        assert rss_mb <= 200
        assert wal.peak <= 64e6
        total = sum(map(Counter.total, stored.values()))
        record(
            "9",
            f"flood of {rate:,.0f} events/s from {WORKERS} workers to {SUBSCRIBERS} subscribers: "
            f"{total:,} sent = stored, and each subscriber got all or was told; coalesced by "
            f"subscriber {coalesced} (the first hung); control p99 {p99(answers) * 1e3:.0f} ms, "
            f"daemon {rss_mb:.0f} MB and {cores:.0%} of a core, WAL {wal.peak / 1e6:.0f} MB",
        )
        record(
            "8",
            f"one of {SUBSCRIBERS} subscribers stopped under the flood: others' p99 from worker "
            f"to subscriber {p99(before) * 1e3:.0f} → {p99(after) * 1e3:.0f} ms "
            f"({p99(after) / p99(before):.2f}×); daemon {growth_mb:+.1f} MB; dropped after 30 s, "
            "resumed by its cursors, 0 gaps, 0 repeated",
        )


def cpu_seconds(daemon: ChaosDaemon) -> float:
    assert daemon.process is not None
    times = psutil.Process(daemon.process.pid).cpu_times()
    return times.user + times.system


def timed_turn(prober: Prober, turns: list[tuple[float, float]]) -> list[float]:
    began = time.time()
    answers = prober.measure(TURN_S)
    turns.append((began, time.time()))
    return answers


def latencies(clients: list[BusClientProcess], turns: list[tuple[float, float]]) -> list[float]:
    return [
        seconds
        for client in clients
        for at, seconds in client.account["latencies"]
        if any(began <= at < ended for began, ended in turns)
    ]


def stored_events(daemon: ChaosDaemon, runs: list[str]) -> tuple[dict[str, Counter[str]], float]:
    """Stored events by type, after checking that they are all that was sent, and their rate."""
    stored, times = {}, []
    for run_id in runs:
        with contextlib.closing(sqlite3.connect(daemon.home.run(run_id).telemetry)) as store:
            state = store.execute(
                "SELECT steps, episodes, metrics, events, missing, repeated, quarantined "
                "FROM ingest_state"
            )
            steps, episodes, metrics, events, *wrong = state.fetchone()
            assert (steps, wrong) == (STEPS, [0, 0, 0])
            times += store.execute("SELECT min(timestamp), max(timestamp) FROM steps").fetchone()
            kinds = dict(store.execute("SELECT type, count(*) FROM lifecycle GROUP BY type"))
        sent = journal_lines.content(daemon.home.run(run_id).journal).count(b"\n")
        assert events == sent == steps + episodes + metrics + sum(kinds.values())
        stored[run_id] = Counter({"step": steps, "episode": episodes, "metric": metrics, **kinds})
    return stored, len(runs) * STEPS / (max(times) - min(times))


def assert_accounts_for_all(client: BusClientProcess, stored: dict[str, Counter[str]]) -> int:
    """Delivered and declared coalesced together are what was stored; returns the coalesced."""
    total = 0
    for run_id, events in stored.items():
        run = client.account["runs"][run_id]
        assert Counter(run["delivered"]) + Counter(run["coalesced"]) == +events
        assert run["repeated"] == 0
        assert run["ended"]
        total += sum(run["coalesced"].values())
    return total
