"""Live events from the real daemon: several speeds, a frozen client, a killed daemon."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from mosaic.client import AsyncTrainerClient
from mosaic.errors import ConfigError, RequestError, UnknownRunError
from mosaic.wire.answers import BusBatch, BusNotice
from mosaic.wire.errors import from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerStub
from tests import journal_lines
from tests.daemon_harness import DaemonHarness
from tests.integration.bus_client import BusClientProcess
from tests.waiting import wait_until

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "runbus.md"
# Longer than any test; and more credits than any test has samples.
ENDLESS = 10_000_000
AMPLE = 1_000_000


def paced(steps: int, per_second: int) -> dict[str, Any]:
    return {"total_timesteps": steps, "episodes": None, "max_steps_per_second": per_second}


def written(daemon: DaemonHarness, run_id: str) -> Counter[str]:
    """What the worker sent, by type of event."""
    lines = journal_lines.content(daemon.home.run(run_id).journal).splitlines()
    return Counter(json.loads(line)["type"] for line in lines)


@contextmanager
def subscriber(daemon: DaemonHarness, out: Path, **options: Any) -> Iterator[BusClientProcess]:
    client = BusClientProcess(daemon.home.root, out, **options)
    try:
        wait_until(lambda: client.has_begun, what="a subscriber to begin")
        yield client
    finally:
        client.close()


def assert_accounts_for_all(client: BusClientProcess, run_id: str, sent: Counter[str]) -> None:
    run = client.account["runs"][run_id]
    assert Counter(run["delivered"]) + Counter(run["coalesced"]) == sent
    assert run["repeated"] == 0
    assert run["ended"]


def test_clients_of_any_speed_account_for_every_event(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = daemon.submit(config=paced(ENDLESS, 2000))
    start = {"run_ids": [run_id], "cursors": {run_id: 0}}
    with (
        subscriber(daemon, tmp_path / "fast", **start, window=AMPLE) as fast,
        subscriber(daemon, tmp_path / "slow", **start, window=40, pause_s=0.1) as slow,
        subscriber(daemon, tmp_path / "patient", **start, window=400, lossless=True) as patient,
        subscriber(daemon, tmp_path / "frozen", **start, window=200) as frozen,
    ):
        wait_until(lambda: frozen.steps(run_id), what="first events")
        frozen.process.send_signal(signal.SIGSTOP)
        enough = fast.steps(run_id) + 3000
        wait_until(lambda: fast.steps(run_id) > enough, what="events nobody takes")
        daemon.client.stop_run(run_id, grace_s=10)
        wait_until(lambda: fast.is_done, what="the fast one to be done")
        frozen.process.send_signal(signal.SIGCONT)
        others = (slow, patient, frozen)
        wait_until(lambda: all(client.is_done for client in others), what="the others to be done")
    sent = written(daemon, run_id)
    for client in (fast, slow, patient, frozen):
        assert_accounts_for_all(client, run_id, sent)
    lifecycle = {kind: count for kind, count in sent.items() if "_" in kind or kind == "heartbeat"}
    for client in (slow, frozen):
        run = client.account["runs"][run_id]
        assert run["coalesced"]["step"] > 0
        assert run["delivered"].items() >= lifecycle.items()
    for client in (fast, patient):
        assert client.account["runs"][run_id]["coalesced"] == {}


def test_subscription_outlives_a_killed_daemon(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit(config=paced(ENDLESS, 1500))
    daemon.wait_for(run_id, "EXEC")
    # The second is starved most of the time: lifecycle events come ahead of its cursor.
    start = {"run_ids": [run_id], "cursors": {run_id: 0}}
    with (
        subscriber(daemon, tmp_path / "ample", **start, window=AMPLE) as ample,
        subscriber(daemon, tmp_path / "scarce", **start, window=5, pause_s=0.05) as scarce,
        subscriber(daemon, tmp_path / "all", run_ids=[], window=AMPLE) as of_all,
    ):
        clients = (ample, scarce, of_all)
        wait_until(lambda: all(client.steps(run_id) for client in clients), what="first events")
        daemon.kill()
        daemon.start()
        before = of_all.steps(run_id)
        wait_until(lambda: of_all.steps(run_id) > before + 500, what="events after the kill")
        daemon.client.stop_run(run_id, grace_s=10)
        wait_until(lambda: ample.is_done and scarce.is_done, what="subscribers to be done")
        wait_until(lambda: of_all.account["runs"][run_id]["ended"], what="the end of the run")
        seen_by_all = of_all.account["runs"][run_id]
    sent = written(daemon, run_id)
    for client in (ample, scarce):
        assert_accounts_for_all(client, run_id, sent)
    assert ample.account["runs"][run_id]["coalesced"] == {}
    assert (seen_by_all["repeated"], seen_by_all["skipped"]) == (0, 0)


def test_runs_that_began_while_the_daemon_was_away_are_followed_from_their_start(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    known = daemon.submit(config=paced(ENDLESS, 1000))
    daemon.wait_for(known, "EXEC")
    with subscriber(daemon, tmp_path / "all", run_ids=[], window=AMPLE) as client:
        wait_until(lambda: client.steps(known), what="events of the first run")
        client.process.send_signal(signal.SIGSTOP)
        daemon.kill()
        daemon.start()
        passed_by = daemon.submit()  # begins and ends before the client looks again
        daemon.wait_over(passed_by)
        client.process.send_signal(signal.SIGCONT)
        daemon.client.stop_run(known, grace_s=5)
        wait_until(
            lambda: all(
                client.account["runs"].get(run_id, {}).get("ended") for run_id in (known, passed_by)
            ),
            what="the ends of both",
        )
        assert_accounts_for_all(client, passed_by, written(daemon, passed_by))
        seen = client.account["runs"][known]
        assert (seen["repeated"], seen["skipped"]) == (0, 0)


def test_any_cursor_goes_on_without_gap(daemon: DaemonHarness) -> None:
    run_id = daemon.submit()
    daemon.wait_over(run_id)
    client = daemon.client

    def batches(cursor: int) -> list[BusBatch]:
        with client.subscribe(run_id, cursors={run_id: cursor}) as bus:
            items = list(bus)
        assert isinstance(items[-1], BusNotice)
        assert items[-1].kind == "ENDED"
        return [item for item in items if isinstance(item, BusBatch)]

    lines = [line for batch in batches(0) for line in batch.lines]
    assert lines == journal_lines.content(daemon.home.run(run_id).journal).splitlines()
    cursor = len(b"".join(lines[:7])) + 7
    assert [line for batch in batches(cursor) for line in batch.lines] == lines[7:]
    with client.subscribe([run_id]) as bus:
        assert [item for item in bus if isinstance(item, BusBatch)] == []


def test_example_of_the_reference_works(
    daemon: DaemonHarness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(daemon.home.root))
    example = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    run_id = daemon.submit(config=paced(2000, 1000))
    exec(example, {"run_id": run_id})
    *events, end = capsys.readouterr().out.splitlines()
    assert end == "ENDED {}"
    assert "'type': 'run_completed'" in events[-1]


def test_only_types_asked_for_and_errors_that_say_what_is_wrong(daemon: DaemonHarness) -> None:
    run_id = daemon.submit()
    daemon.wait_over(run_id)
    client = daemon.client
    with client.subscribe([run_id], types=["episode", "run_completed"], cursors={run_id: 0}) as bus:
        events = [event for item in bus if isinstance(item, BusBatch) for event in item.events()]
    assert Counter(event["type"] for event in events) == {"episode": 3, "run_completed": 1}
    with pytest.raises(ConfigError, match="'steps' is not a type"):
        next(client.subscribe([run_id], types=["steps"]))
    with pytest.raises(ConfigError, match="lies beyond"):
        next(client.subscribe([run_id], cursors={run_id: 10**9}))
    for stranger in ("01JQ0000000000000000000000", "../etc"):
        with pytest.raises(UnknownRunError, match=stranger):
            next(client.subscribe([stranger]))


async def test_asyncio_clients_follow_all_runs_to_come(daemon: DaemonHarness) -> None:
    async with (
        AsyncTrainerClient(home=daemon.home, autostart=False) as client,
        client.subscribe() as bus,
        asyncio.timeout(30),
    ):
        first = asyncio.ensure_future(anext(bus))
        await client.health()
        runs = [await asyncio.to_thread(daemon.submit) for _ in range(2)]
        lines: dict[str, list[bytes]] = {run_id: [] for run_id in runs}
        ended: set[str] = set()
        item = await first
        while True:
            if isinstance(item, BusBatch):
                lines[item.run_id] += item.lines
            elif item.kind == "ENDED":
                ended.add(item.run_id)
            if len(ended) == 2:
                break
            item = await anext(bus)
    for run_id in runs:
        content = journal_lines.content(daemon.home.run(run_id).journal)
        assert lines[run_id] == content.splitlines()


def test_strange_streams_of_requests_are_borne(daemon: DaemonHarness) -> None:
    run_id = daemon.submit()
    daemon.wait_over(run_id)
    sent = written(daemon, run_id)
    first = pb.SubscribeRequest(run_ids=[run_id, run_id], cursors={run_id: 0}, credits=1)
    with grpc.insecure_channel(f"unix:{daemon.home.daemon_socket}") as channel:
        stub: Any = TrainerStub(channel)
        with pytest.raises(grpc.RpcError) as refused:
            list(stub.Subscribe(iter([]), timeout=10))
        assert isinstance(from_rpc(refused.value), RequestError)
        # All credits at once, and nothing more to say; what later requests name is not looked at.
        later = pb.SubscribeRequest(run_ids=["../etc"], credits=2**32 - 1)
        messages = list(stub.Subscribe(iter([first, later, later]), timeout=10))
        delivered = Counter(json.loads(line)["type"] for item in messages for line in item.events)
        coalesced: Counter[str] = Counter()
        for item in messages:
            coalesced.update(item.control.coalesced)
        assert delivered + coalesced == sent
        assert messages[-1].control.kind == "ENDED"
        # Somebody who never grants anything is starved, and does no harm.
        mean = stub.Subscribe(iter([pb.SubscribeRequest(run_ids=[run_id], cursors={run_id: 0})]))
        kinds = [next(mean).control.kind for _ in range(3)]
        assert "STARVED" in kinds
        assert daemon.client.health().healthy
        mean.cancel()
