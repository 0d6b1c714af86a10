"""The Python clients against the real daemon: on demand, shared, and through its death."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mosaic.client import AsyncTrainerClient, TrainerClient
from mosaic.client.daemon_process import ensure_daemon, living_daemon, stop_daemon
from mosaic.contracts.run_state import Outcome
from mosaic.errors import RunStateError, TrainerUnreachableError
from mosaic.paths import Home
from mosaic.processes import is_alive, send_signal
from tests.daemon_harness import run_document
from tests.waiting import PATIENCE_S, wait_until


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home without daemon; whatever daemon a test starts there is stopped."""
    monkeypatch.setenv("MOSAIC_CPUS", "16")
    monkeypatch.setenv("MOSAIC_MEMORY_MB", "16384")
    home = Home(tmp_path)
    yield home
    stop_daemon(home)
    if home.runtime.exists():
        home.runtime.rmdir()  # fails when a socket is left in it


def kill_daemon(home: Home) -> None:
    info = living_daemon(home)
    assert info is not None
    assert send_signal(info.identity, signal.SIGKILL)
    # A killed process takes a moment to die, and until then it looks alive.
    wait_until(lambda: not is_alive(info.identity), what="the death of the daemon")


def slow(steps: int = 4000) -> dict[str, object]:
    config = {"total_timesteps": steps, "episodes": None, "max_steps_per_second": 2000}
    return run_document(config=config)


def test_first_call_starts_the_daemon_and_stop_ends_it(home: Home) -> None:
    with TrainerClient(home) as client:
        health = client.health()
        assert Path(health.home) == home.root
    info = living_daemon(home)
    assert info is not None
    assert info.identity.pid == health.pid
    assert stop_daemon(home) is True
    assert not is_alive(info.identity)
    assert not home.daemon_socket.exists()
    assert stop_daemon(home) is False


def test_frozen_daemon_is_reported_and_can_be_stopped(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = ensure_daemon(home)
    monkeypatch.setattr("mosaic.client.daemon_process.ANSWER_TIMEOUT_S", 0.3)
    send_signal(info.identity, signal.SIGSTOP)
    with (
        TrainerClient(home, autostart=False) as client,
        pytest.raises(TrainerUnreachableError, match="did not answer"),
    ):
        client.health()
    assert stop_daemon(home) is True


def test_wait_goes_on_when_the_daemon_is_killed(home: Home) -> None:
    with TrainerClient(home) as client:
        run_id = client.start_run(slow())
        next(iter(client.stream_events(run_id, follow=True)))
        kill_daemon(home)
        record = client.wait(run_id, timeout=PATIENCE_S)
    assert record.outcome is Outcome.SUCCEEDED
    assert record.progress.steps == 4000


def test_events_are_whole_when_the_daemon_is_killed_in_between(home: Home) -> None:
    with TrainerClient(home) as client:
        run_id = client.start_run(slow())
        sequence: list[int] = []
        kills = 0
        for batch in client.stream_events(run_id, follow=True):
            sequence += [event["seq"] for event in batch.events()]
            # Batches that were under way still arrive after a kill; then there is nobody to kill.
            if kills < 3 and len(sequence) > 500 * (kills + 1) and living_daemon(home):
                kills += 1
                kill_daemon(home)
        again = [e["seq"] for b in client.stream_events(run_id) for e in b.events()]
    assert kills == 3
    assert sequence == again == sorted(set(sequence))


def test_threads_share_a_client_through_the_death_of_the_daemon(home: Home) -> None:
    with TrainerClient(home) as client, ThreadPoolExecutor(4) as pool:
        run_ids = list(pool.map(lambda _: client.start_run(run_document()), range(4)))
        waiting = [pool.submit(client.wait, run_id, 60) for run_id in run_ids]
        kill_daemon(home)
        outcomes = {future.result(PATIENCE_S).outcome for future in waiting}
    assert outcomes == {Outcome.SUCCEEDED}


async def test_who_asks_all_the_time_leaves_a_stopped_daemon_alone(home: Home) -> None:
    async with AsyncTrainerClient(home, wakes=False) as client:
        with pytest.raises(TrainerUnreachableError):
            await client.list_runs()
        await client.wake()
        assert await client.list_runs() == []
        await asyncio.to_thread(kill_daemon, home)
        assert await client.list_runs() == [], "one that was killed is brought back"
        await asyncio.to_thread(stop_daemon, home)
        with pytest.raises(TrainerUnreachableError):
            await client.list_runs()
        assert living_daemon(home) is None
        assert (await client.wake()).pid


async def test_async_client_does_everything_the_other_does(home: Home) -> None:
    async with AsyncTrainerClient(home) as client:
        assert (await client.submit(run_document(), dry_run=True)).run_id == ""
        run_id = await client.start_run(slow(), client_key="mine")
        assert await client.start_run(slow(), client_key="mine") == run_id
        waiting = asyncio.create_task(client.wait(run_id, timeout=PATIENCE_S))
        async for record in client.watch([run_id]):
            if record.state == "EXEC":
                break
        await client.pause_run(run_id)
        async for record in client.watch([run_id]):
            if record.state == "PAUSE":
                break
        await asyncio.to_thread(kill_daemon, home)
        await client.unpause_run(run_id)
        assert (await waiting).outcome is Outcome.SUCCEEDED
        assert [run.run_id for run in await client.list_runs()] == [run_id]
        assert (await client.get_run(run_id)).transitions
        assert await client.recent_metrics(run_id, 5)
        assert await client.workers()
        assert (await client.health()).live_runs == 0
        events = [batch async for batch in client.stream_events(run_id, types=["run_completed"])]
        assert sum(len(batch.lines) for batch in events) == 1
        assert [chunk async for chunk in client.stream_log(run_id, "stderr")] == []
        with pytest.raises(RunStateError):
            await client.stop_run(run_id)
        assert (await client.delete_run(run_id, for_good=True)).freed_bytes > 0
