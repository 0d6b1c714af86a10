"""kill -9 of the daemon, again and again, while runs start, report and end (fault 2)."""

from __future__ import annotations

import random
import signal
import sqlite3
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.client.trainer_client import TrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.worker_manifest import WorkerManifest
from mosaic.errors import TrainerUnreachableError
from mosaic.processes import send_signal
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon, python_run
from tests.chaos.descendants import is_running
from tests.chaos.extent import assert_within, extent
from tests.chaos.figures import record
from tests.daemon_harness import run_document
from tests.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.blocks_merge]

WORKERS = Path(__file__).with_name("workers")
SCRIPT = """
import os, sys, time
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), b"started\\n")
time.sleep(float(sys.argv[2]))
sys.exit(int(sys.argv[3]))
"""
EXIT_CODES = 7


@dataclass(frozen=True)
class Order:
    """A run whose course is known beforehand."""

    number: int
    worker: str  # "" is a plain script
    proof: Path
    seconds: float

    @property
    def exit_code(self) -> int:
        return self.number % EXIT_CODES

    @property
    def steps(self) -> int:
        return 20 + self.number % 30 if self.worker else 0

    def document(self) -> dict[str, Any]:
        if not self.worker:
            details = (str(self.proof), str(self.seconds), str(self.exit_code))
            return python_run(SCRIPT, *details)
        config = {
            "proof": str(self.proof),
            "steps": self.steps,
            "pause_s": self.seconds / self.steps,
            "exit_code": self.exit_code,
        }
        return {"entry_point": self.worker, "metadata": {"worker": {"config": config}}}


def make_orders(chance: random.Random, folder: Path, count: int) -> list[Order]:
    kinds = ("", "", "", "", "counting", "lines")
    return [
        Order(number, kinds[number % len(kinds)], folder / str(number), chance.uniform(0.05, 1.2))
        for number in range(count)
    ]


def announce_workers(daemon: ChaosDaemon) -> None:
    for name in ("counting", "lines"):
        manifest = WorkerManifest(name, f"{name}_worker:get_worker_metadata", None, (str(WORKERS),))
        (daemon.home.worker_manifests / f"{name}.toml").write_text(manifest.to_toml())
    assert {"counting", "lines"} <= {worker.name for worker in daemon.client.workers()}


class Submitters:
    """Clients that hand in their runs over the whole time of the kills, daemon or no daemon."""

    def __init__(self, daemon: ChaosDaemon, orders: list[Order]) -> None:
        self.acknowledged: dict[int, str] = {}
        self.refusals = 0
        self._daemon = daemon
        self._orders = orders
        self._share = 0.0
        self._changed = threading.Condition()

    def allow(self, share: float) -> None:
        with self._changed:
            self._share = share
            self._changed.notify_all()

    def work(self, orders: Iterator[Order]) -> None:
        with TrainerClient(self._daemon.home, autostart=False) as client:
            for order in orders:
                self._wait_for_share(order.number / len(self._orders))
                self._submit(client, order)

    def _wait_for_share(self, due: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._share >= due, 300)

    def _submit(self, client: TrainerClient, order: Order) -> None:
        document = run_document(**self._daemon.with_canary(order.document()))
        deadline = time.monotonic() + 60
        while True:
            try:
                run_id = client.start_run(document, client_key=f"order-{order.number}")
            except TrainerUnreachableError:
                self.refusals += 1
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                self.acknowledged[order.number] = run_id
                return


def test_runs_survive_a_hundred_kills_of_the_daemon(tmp_path: Path) -> None:
    kills, count, seed = extent(110, 20), extent(260, 50), 3
    chance = random.Random(seed)
    orders = make_orders(chance, tmp_path, count)
    with chaos_daemon() as daemon:
        announce_workers(daemon)
        submitters = Submitters(daemon, orders)
        with ThreadPoolExecutor(3) as pool:
            queue = iter(orders)
            works = [pool.submit(submitters.work, _shared(queue)) for _ in range(3)]
            for number in range(kills):
                # Every other daemon is killed within 50 to 600 ms of its start, most of them while
                # they still recover; the others live as long after they have begun to serve.
                if number % 2:
                    wait_until(daemon.is_announced, 15, "the daemon to announce itself")
                time.sleep(chance.uniform(0.05, 0.6))
                daemon.kill()
                daemon.launch()
                submitters.allow((number + 1) / kills)
            wait_until(daemon.is_announced, 15, "the daemon to announce itself")
            for work in works:
                work.result(120)
        over = {n: daemon.wait_over(run_id, 60) for n, run_id in submitters.acknowledged.items()}
        _assert_nothing_lost(daemon, orders, over, kills, submitters.refusals)


def _shared(orders: Iterator[Order]) -> Iterator[Order]:
    """One queue for several threads; `next` of a list's iterator is atomic."""
    while (order := next(orders, None)) is not None:
        yield order


def _assert_nothing_lost(
    daemon: ChaosDaemon,
    orders: list[Order],
    over: dict[int, RunRecord],
    kills: int,
    refusals: int,
) -> None:
    count = len(orders)
    wrong = [
        f"{order.number}: {over[order.number].failure_reason} instead of {order.exit_code}"
        for order in orders
        if over[order.number].exit_code != order.exit_code
    ]
    starts = [len(order.proof.read_text().splitlines()) for order in orders]
    stored = {order.number: _stored_steps(daemon, over[order.number]) for order in orders}
    emitted = sum(order.steps for order in orders)
    lost = [order.number for order in orders if stored[order.number] != order.steps]
    known = {run.run_id for run in daemon.client.list_runs()}
    again = sum(run.attempt > 1 for run in over.values())
    adoptions = [entry["seconds"] for entry in daemon.logged("runs.adopted")]
    record(
        "2",
        f"kill -9 of the daemon — {kills} kills, {count} runs: {count - len(wrong)} right exit "
        f"codes, {sum(start > 1 for start in starts)} executed twice, {again} queued again after "
        f"a launch that never happened, {sum(stored.values())} of {emitted} steps stored, "
        f"{len(known)} of {count} acknowledged runs known, {refusals} refused calls repeated, "
        f"recovery took at most {max(adoptions):.3f} s in {len(adoptions)} starts",
    )
    assert wrong == []
    assert set(starts) == {1}
    assert lost == []
    assert known == {run.run_id for run in over.values()}
    assert len(known) == count
    assert_within(max(adoptions), 2)


def _stored_steps(daemon: ChaosDaemon, run: RunRecord) -> int:
    path = daemon.home.run(run.run_id).telemetry
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        (rows,) = connection.execute("SELECT count(DISTINCT step_index) FROM steps").fetchone()
        (total,) = connection.execute("SELECT count(*) FROM steps").fetchone()
    finally:
        connection.close()
    assert rows == total == run.progress.steps
    return int(total)


def test_a_hundred_live_runs_are_adopted_within_two_seconds() -> None:
    count, restarts = extent(100, 20), extent(5, 2)
    with chaos_daemon(MOSAIC_CPUS="128") as daemon:
        with ThreadPoolExecutor(4) as clients:
            runs = list(clients.map(lambda _: daemon.submit_python(SLEEPER), range(count)))
        workers = [daemon.live(run_id).worker.pid for run_id in runs]
        to_adopted, to_serving = [], []
        for _ in range(restarts):
            daemon.kill()
            since = time.monotonic()
            daemon.start()
            assert daemon.client.health().live_runs == count
            to_serving.append(time.monotonic() - since)
            to_adopted.append(daemon.logged("runs.adopted")[-1]["seconds"])
            assert all(map(is_running, workers))
        victims = runs[:10]
        for run_id in victims:  # adopted means watched: their end is noticed at once
            assert send_signal(daemon.live(run_id).worker, signal.SIGKILL)
        since = time.monotonic()
        for run_id in victims:
            assert daemon.wait_over(run_id).failure_reason == "signal_9"
        noticed = time.monotonic() - since
        record(
            "2",
            f"adoption of {count} live runs — {max(to_adopted):.3f} s, and {max(to_serving):.2f} s "
            f"from the start of the process to its first answer (slowest of {restarts} restarts), "
            f"10 ends noticed in {noticed:.2f} s",
        )
        assert_within(max(to_adopted), 2)
        assert_within(statistics.median(to_serving), 2)  # with the start of an interpreter


def test_what_ends_while_no_daemon_lives_is_recorded_by_the_next(tmp_path: Path) -> None:
    """The exit code, every event, and the moment of the end, though nobody was watching."""
    chance = random.Random(4)
    orders = [
        Order(number, ("", "counting", "lines")[number % 3], tmp_path / str(number), 0.5)
        for number in range(12)
    ]
    chance.shuffle(orders)
    with chaos_daemon() as daemon:
        announce_workers(daemon)
        runs = {order: daemon.submit(**order.document()) for order in orders}
        for run_id in runs.values():
            daemon.live(run_id)
        daemon.kill()
        for run_id in runs.values():
            wait_until(daemon.attempt(run_id).exit.exists, 30, f"the end of {run_id}")
        daemon.start()
        since = time.monotonic()
        over = {order: daemon.wait_over(run_id) for order, run_id in runs.items()}
        taken = time.monotonic() - since
        right = sum(run.exit_code == order.exit_code for order, run in over.items())
        stored = sum(_stored_steps(daemon, run) for run in over.values())
        emitted = sum(order.steps for order in orders)
        record(
            "2",
            f"ends without a daemon — {right}/{len(orders)} exit codes and {stored} of {emitted} "
            f"steps recorded {taken:.2f} s after the next start",
        )
        assert (right, stored) == (len(orders), emitted)
        assert_within(taken, 2)


def test_a_stop_that_was_acknowledged_outlives_the_daemon() -> None:
    count = 12
    with chaos_daemon() as daemon:
        stopped = 0
        for _ in range(count // 4):
            runs = [daemon.submit_python(SLEEPER) for _ in range(4)]
            for run_id in runs[1:]:  # one of them is stopped while its run host still starts
                daemon.live(run_id)
            for run_id in runs:
                daemon.client.stop_run(run_id)
            daemon.kill()
            daemon.start()
            stopped += sum(daemon.wait_over(run_id).outcome == "canceled" for run_id in runs)
        record("2", f"kill -9 of the daemon right after a stop — {stopped}/{count} canceled")
        assert stopped == count
