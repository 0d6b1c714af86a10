"""The registry on a real file: durable, idempotent, in groups, and honest when it cannot be."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.registry.reader import RunFilter
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import CorruptStoreError, RunStateError, StoreError, UnknownRunError
from mosaic.paths import Home
from tests.registry_samples import end, launch, made_home, new_run, step, submit


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


@pytest.fixture
async def registry(home: Home) -> AsyncIterator[Registry]:
    opened = await Registry.open(home)
    yield opened
    await opened.close()


async def test_a_run_is_stored_with_its_first_transition(registry: Registry, home: Home) -> None:
    new = new_run("my run", priority=3)
    run_id = await submit(registry, home, new)
    record = await registry.get(run_id)
    assert (record.run_name, record.state, record.priority) == ("my run", RunState.INIT, 3)
    assert [(item.state, item.reason) for item in record.transitions] == [
        (RunState.INIT, "submitted")
    ]
    assert record.revision > 0


async def test_a_client_key_means_one_run_however_often_it_is_submitted(
    registry: Registry, home: Home
) -> None:
    runs = [new_run(client_key="same") for _ in range(20)]
    answers = await asyncio.gather(*(registry.create_run(run) for run in runs))
    assert len({run_id for run_id, _ in answers}) == 1
    assert [created for _, created in answers].count(True) == 1
    assert await registry.find_client_key("same") == answers[0][0]
    assert await registry.find_client_key("other") is None


async def test_the_same_config_without_key_makes_two_runs(registry: Registry, home: Home) -> None:
    first, second = await submit(registry, home), await submit(registry, home)
    assert first != second
    assert (await registry.list())[1] == 2


async def test_a_whole_life_is_kept_with_every_reason(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    await launch(registry, home, run_id)
    await registry.update(run_id, RunState.HSHK, 1, transition=step(RunState.RDY, 1, "registered"))
    await registry.update(
        run_id, RunState.RDY, 1, transition=step(RunState.EXEC, 1, "first sample"), gpu_slots=(0, 2)
    )
    failure = FailureReason(FailureKind.EXIT_CODE, "exit code 3", "look", 3)
    await registry.update(
        run_id, RunState.EXEC, 1, transition=step(RunState.FAULT, 1, "bad"), failure=failure
    )
    await end(registry, run_id, RunState.FAULT, 1, Outcome.FAILED, progress=Progress(100, 200))
    record = await registry.get(run_id)
    assert [item.state for item in record.transitions] == [
        RunState.INIT, RunState.HSHK, RunState.RDY, RunState.EXEC, RunState.FAULT, RunState.TERM,
    ]  # fmt: skip
    assert (record.outcome, record.failure, record.gpu_slots) == (Outcome.FAILED, failure, (0, 2))
    assert record.progress == Progress(100, 200)
    assert record.is_over


@pytest.mark.parametrize(
    ("state", "attempt"), [(RunState.EXEC, 1), (RunState.HSHK, 2), (RunState.INIT, 0)]
)
async def test_whoever_acts_on_old_knowledge_is_refused(
    registry: Registry, home: Home, state: RunState, attempt: int
) -> None:
    run_id = await submit(registry, home)
    await launch(registry, home, run_id)
    with pytest.raises(RunStateError) as caught:
        await registry.update(run_id, state, attempt, transition=step(RunState.TERM, attempt))
    assert caught.value.details == {"state": "HSHK", "attempt": 1}


async def test_only_one_of_two_rivals_wins(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    rivals = [
        registry.update(run_id, RunState.INIT, 0, transition=step(RunState.HSHK, 1))
        for _ in range(10)
    ]
    answers = await asyncio.gather(*rivals, return_exceptions=True)
    assert sum(isinstance(answer, int) for answer in answers) == 1
    assert sum(isinstance(answer, RunStateError) for answer in answers) == 9
    assert len((await registry.get(run_id)).transitions) == 2


async def test_the_end_is_final(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    await end(registry, run_id, RunState.INIT, 0, Outcome.CANCELED)
    for state in RunState:
        with pytest.raises(RunStateError):
            await registry.update(run_id, RunState.TERM, 0, transition=step(state, 0))
    with pytest.raises(RunStateError, match="final"):
        await registry.update(run_id, RunState.TERM, 0, outcome=Outcome.SUCCEEDED)
    await registry.update(run_id, RunState.TERM, 0, checkpoint_uri="late")
    record = await registry.get(run_id)
    assert (record.outcome, record.checkpoint_uri) == (Outcome.CANCELED, "late")


async def test_an_illegal_transition_changes_nothing(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    with pytest.raises(RunStateError, match="cannot go from INIT to EXEC"):
        await registry.update(run_id, RunState.INIT, 0, transition=step(RunState.EXEC, 0))
    with pytest.raises(RunStateError, match="without an outcome"):
        await registry.update(run_id, RunState.INIT, 0, transition=step(RunState.TERM, 0))
    assert (await registry.get(run_id)).state is RunState.INIT


async def test_unknown_runs_are_named(registry: Registry) -> None:
    stranger = new_run().record.run_id
    for call in (
        registry.get(stranger),
        registry.delete(stranger),
        registry.update(stranger, RunState.INIT, 0, stalled="x"),
    ):
        with pytest.raises(UnknownRunError, match=stranger):
            await call


async def test_a_failing_operation_does_not_touch_the_others_of_its_group(
    registry: Registry, home: Home
) -> None:
    run_id = await submit(registry, home)
    good = [new_run(f"good {number}") for number in range(5)]
    bad = [
        registry.update(run_id, RunState.PAUSE, 9, stalled="x"),
        registry.update(run_id, RunState.INIT, 0, colour="red"),
        registry.create_run(new_run(run_id=run_id)),
    ]
    answers = await asyncio.gather(
        *(registry.create_run(run) for run in good[:3]),
        *bad,
        *(registry.create_run(run) for run in good[3:]),
        return_exceptions=True,
    )
    kinds = [type(answer) for answer in answers]
    assert kinds == [tuple, tuple, tuple, RunStateError, TypeError, StoreError, tuple, tuple]
    assert (await registry.list())[1] == 6


async def test_operations_that_wait_for_a_commit_share_the_next_one(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    real = RegistryStore.save_counters

    def counted(store: RegistryStore) -> None:
        commits.append(threading.get_ident())
        real(store)

    monkeypatch.setattr(RegistryStore, "save_counters", counted)
    await asyncio.gather(*(registry.create_run(new_run()) for _ in range(300)))
    assert len(commits) < 100
    assert len(set(commits)) == 1
    assert (await registry.list())[1] == 300


async def test_a_caller_hears_only_what_is_on_disk(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    other = sqlite3.connect(f"file:{home.registry}?mode=ro", uri=True)
    assert other.execute("SELECT count(*) FROM runs WHERE run_id = ?", (run_id,)).fetchone() == (1,)
    other.close()


async def test_everything_is_there_after_a_restart(home: Home) -> None:
    first = await Registry.open(home)
    run_id = await submit(first, home, new_run("kept", client_key="key"))
    slot, revision = await first.next_slot(), first.revision
    await first.close()
    second = await Registry.open(home)
    assert (await second.get(run_id)).run_name == "kept"
    assert await second.create_run(new_run(client_key="key")) == (run_id, False)
    assert await second.next_slot() == slot + 1
    assert second.revision > revision
    assert second.recovery.sentence == ""
    await second.close()


async def test_slots_are_never_handed_out_twice(registry: Registry) -> None:
    slots = await asyncio.gather(*(registry.next_slot() for _ in range(50)))
    assert sorted(slots) == list(range(1, 51))


async def test_lists_are_filtered_and_newest_first(registry: Registry, home: Home) -> None:
    ids = [
        await submit(registry, home, new_run(name, created_at=float(at), env_id=env))
        for at, (name, env) in enumerate(
            [("Ärger", "CartPole-v1"), ("second", "Pong"), ("third", "CartPole-v1")], start=1
        )
    ]
    await end(registry, ids[0], RunState.INIT, 0, Outcome.CANCELED)

    async def chosen(**wanted: Any) -> list[str]:
        return [record.run_id for record in (await registry.list(RunFilter(**wanted)))[0]]

    assert await chosen() == ids[::-1]
    assert await chosen(states=(RunState.TERM,)) == [ids[0]]
    assert await chosen(states=(RunState.INIT, RunState.EXEC)) == [ids[2], ids[1]]
    assert await chosen(outcomes=(Outcome.CANCELED,)) == [ids[0]]
    assert await chosen(contains="cartpole") == [ids[2], ids[0]]
    assert await chosen(contains="ärg") == [ids[0]]
    assert await chosen(contains="100%_") == []
    assert await chosen(run_ids=(ids[1], "unknown")) == [ids[1]]
    records, total = await registry.list(RunFilter(limit=2))
    assert ([record.run_id for record in records], total) == ([ids[2], ids[1]], 3)
    revision = registry.revision
    await registry.update(ids[1], RunState.INIT, 0, stalled="x")
    assert await chosen(after_revision=revision) == [ids[1]]


async def test_a_list_shows_every_change_at_once(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    for number in range(3):
        await registry.update(run_id, RunState.INIT, 0, stalled=f"reason {number}")
        ((record,), _) = await registry.list()
        assert record.stalled == f"reason {number}"
        assert record == (await registry.get(run_id)).__class__(
            **{**record.__dict__, "transitions": ()}
        )


async def test_progress_is_stored_in_batches_without_transitions(
    registry: Registry, home: Home
) -> None:
    ids = [await submit(registry, home) for _ in range(3)]
    records = [await registry.get(run_id) for run_id in ids]
    changed = [
        RunRecord(
            **{
                **record.__dict__,
                "progress": Progress(steps=7, last_return=-0.0),
                "last_heartbeat_at": 12.5,
                "stalled": "no heartbeat",
                "capabilities": {"worker_type": "sample"},
                "checkpoint_uri": "checkpoints/7",
            }
        )
        for record in records
    ]
    stranger = RunRecord(**{**records[0].__dict__, "run_id": new_run().record.run_id})
    await registry.update_progress([*changed, stranger])
    for run_id in ids:
        record = await registry.get(run_id)
        assert record.progress == Progress(steps=7, last_return=0.0)
        assert (record.last_heartbeat_at, record.stalled) == (12.5, "no heartbeat")
        assert record.capabilities == {"worker_type": "sample"}
        assert record.checkpoint_uri == "checkpoints/7"
        assert len(record.transitions) == 1


async def test_unfinished_runs_come_back_whole(registry: Registry, home: Home) -> None:
    queued, live, over = [await submit(registry, home) for _ in range(3)]
    await launch(registry, home, live)
    await end(registry, over, RunState.INIT, 0, Outcome.CANCELED)
    found = await registry.live_and_queued()
    assert [(record.run_id, record.state) for record in found] == [
        (queued, RunState.INIT),
        (live, RunState.HSHK),
    ]
    assert [item.state for item in found[1].transitions] == [RunState.INIT, RunState.HSHK]


async def test_only_a_run_that_is_over_can_be_deleted(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    with pytest.raises(RunStateError, match="not over"):
        await registry.delete(run_id)
    await end(registry, run_id, RunState.INIT, 0, Outcome.CANCELED)
    await registry.delete(run_id)
    assert await registry.list() == ([], 0)
    with sqlite3.connect(home.registry) as connection:
        assert connection.execute("SELECT count(*) FROM transitions").fetchone() == (0,)
    connection.close()


async def test_files_are_for_their_owner_only(registry: Registry, home: Home) -> None:
    await submit(registry, home)
    await registry.backup()
    files = list(home.trainer.glob("registry*"))
    assert {path.name for path in files} >= {
        "registry.sqlite", "registry.sqlite-wal", "registry.backup.sqlite",
    }  # fmt: skip
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


async def test_a_damaged_row_is_never_shown(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    with sqlite3.connect(home.registry) as connection:
        connection.execute("UPDATE runs SET outcome = 'succeeded', state = 'TERM'")
    connection.close()
    with pytest.raises(CorruptStoreError, match=run_id):
        await registry.get(run_id)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As on a full disk: no file of this process may grow beyond this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_fails_the_callers_and_is_survived(
    registry: Registry, home: Home
) -> None:
    kept = await submit(registry, home)
    wal = home.registry.with_name("registry.sqlite-wal")
    runs = [new_run(f"run {number}") for number in range(40)]
    with largest_file(wal.stat().st_size + 4096):
        answers = await asyncio.gather(
            *(registry.create_run(run) for run in runs), return_exceptions=True
        )
        failures = [answer for answer in answers if isinstance(answer, StoreError)]
        assert failures and all("disk space" in error.hint for error in failures)
        assert (await registry.get(kept)).run_id == kept
    stored = {answer[0] for answer in answers if isinstance(answer, tuple)}
    for run in runs:
        if run.record.run_id not in stored:
            assert await registry.create_run(run) == (run.record.run_id, True)
    assert (await registry.list())[1] == 41


async def test_a_store_without_room_recovers_when_room_comes_back(
    registry: Registry, home: Home
) -> None:
    await submit(registry, home)

    def limit(pages: int) -> Any:
        return registry._writer.call(
            lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        )

    (used,) = await asyncio.wrap_future(limit(1))
    answers = await asyncio.gather(
        *(registry.create_run(new_run("x" * 5000)) for _ in range(30)), return_exceptions=True
    )
    assert any(isinstance(answer, StoreError) for answer in answers)
    await asyncio.wrap_future(limit(100_000))
    before = (await registry.list())[1]
    assert before == 1 + sum(isinstance(answer, tuple) for answer in answers)
    await submit(registry, home)
    assert (await registry.list())[1] == before + 1
    assert used > 0


async def test_a_canceled_caller_does_not_disturb_the_writer(
    registry: Registry, home: Home
) -> None:
    tasks = [asyncio.create_task(registry.create_run(new_run())) for _ in range(50)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    created = {answer[0] for answer in answers if isinstance(answer, tuple)}
    assert len(created) >= 25
    listed = {record.run_id for record in (await registry.list())[0]}
    assert created <= listed


async def test_a_closed_registry_says_so_and_leaves_no_thread(home: Home) -> None:
    registry = await Registry.open(home)
    pending = [asyncio.create_task(registry.create_run(new_run())) for _ in range(20)]
    await asyncio.sleep(0)
    await registry.close()
    assert all(isinstance(answer, tuple) for answer in await asyncio.gather(*pending))
    for call in (registry.create_run(new_run()), registry.list()):
        with pytest.raises(StoreError, match="closed"):
            await call
    assert not [thread for thread in threading.enumerate() if "registry" in thread.name]
    assert not home.registry.with_name("registry.sqlite-wal").exists()


async def test_the_backup_is_a_whole_registry(registry: Registry, home: Home) -> None:
    run_id = await submit(registry, home)
    await registry.backup()
    with sqlite3.connect(f"file:{home.registry_backup}?immutable=1", uri=True) as backup:
        assert backup.execute("SELECT run_id FROM runs").fetchall() == [(run_id,)]
    backup.close()
    stamp = home.registry_backup.stat().st_mtime_ns
    await registry.backup()
    assert home.registry_backup.stat().st_mtime_ns == stamp, "nothing changed, nothing copied"
    assert not [name for name in os.listdir(home.trainer) if name.endswith(".tmp")]


async def test_what_proves_an_exit_is_kept_per_attempt_and_goes_with_its_run(
    registry: Registry, home: Home
) -> None:
    run_id = await submit(registry, home)
    await registry.keep_exit_proof(run_id, 1, "first")
    await registry.keep_exit_proof(run_id, 2, "second")
    assert await registry.exit_proof(run_id, 1) == "first"
    assert await registry.exit_proof(run_id, 2) == "second"
    assert await registry.exit_proof(run_id, 3) == "", "launched before there were proofs"
    await launch(registry, home, run_id)
    await end(registry, run_id, RunState.HSHK, 1, Outcome.SUCCEEDED)
    await registry.delete(run_id)
    assert await registry.exit_proof(run_id, 1) == ""
