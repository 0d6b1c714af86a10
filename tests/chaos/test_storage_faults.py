"""Disks that are full or forbid to grow, leaked shared memory, rivals and damage (5, 6, 13, 15)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.registry.registry import Registry
from mosaic.errors import DiskSpaceError, MosaicError
from mosaic.paths import Home
from tests import journal_lines
from tests.chaos.announced_workers import announce_workers, emitting, printing
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon, python_run
from tests.chaos.descendants import no_process_left
from tests.chaos.extent import extent
from tests.chaos.figures import record
from tests.chaos.small_disk import fill, mounted_tmpfs
from tests.daemon_harness import run_document
from tests.registry_samples import end, launch, made_home, new_run, submit
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

ENDS_WHEN_TOLD = (
    "import os, sys, time\n"
    "while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
    "sys.exit(int(sys.argv[2]))"
)
LEAKS = (
    "import os, time\n"
    "run = os.environ['MOSAIC_RUN_ID']\n"
    "for name in (f'mosaic.{run}.ring', f'mosaic.fastlane.{run}'):\n"
    "    with open('/dev/shm/' + name, 'wb') as file: file.write(bytes(65536))\n"
    "print('leaked', flush=True)\n"
    "time.sleep(600)"
)


@contextlib.contextmanager
def daemon_on_small_disk(disk: Path, **environment: str) -> Iterator[ChaosDaemon]:
    with no_process_left():
        daemon = ChaosDaemon(disk / "home", **environment)
        try:
            daemon.start()
            yield daemon
        finally:
            daemon.close()
        daemon.assert_nothing_left()


def test_full_disk_stops_launching_only_and_heals_by_itself(tmp_path: Path) -> None:
    with (
        mounted_tmpfs("size=24m") as disk,
        daemon_on_small_disk(disk, MOSAIC_CPUS="4") as daemon,
    ):
        announce_workers(daemon.home)
        client = daemon.client
        pid = client.health().pid
        go, over = tmp_path / "go", tmp_path / "over"
        emits = daemon.submit(**emitting(steps=8000, per_second=500, go_file=str(go)))
        prints = daemon.submit(**printing("stdout_events", "800", "0.01"))
        exits = daemon.submit(**python_run(ENDS_WHEN_TOLD, str(over), "7"))
        dies = daemon.submit(**python_run(SLEEPER))
        waits = daemon.submit(**python_run("pass"))
        for run_id in (emits, prints, exits, dies):
            daemon.wait_for(run_id, "RDY", "EXEC")
        victim = daemon.live(dies).worker.pid
        assert client.get_run(waits).state == "INIT"
        go.touch()
        wait_until(lambda: client.get_run(emits).progress.steps > 100, 10, "first steps")

        began = time.monotonic()
        filler = fill(disk)
        wait_until(lambda: client.health().alarms, 5, "an alarm about the full disk")
        alarm_s = time.monotonic() - began

        # Two runs end while nobody can write their exit status down.
        over.touch()
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(DiskSpaceError):
            client.start_run(run_document(**python_run("pass")))
        hold_until = time.monotonic() + 4
        while time.monotonic() < hold_until:
            assert_reads_live_on(daemon, emits)
            fill(disk)  # whatever was freed by a rotated log or a checkpointed store
        record_waiting = client.get_run(waits)
        assert record_waiting.state == "INIT"
        assert "free" in record_waiting.waiting, record_waiting.waiting
        for run_id in (emits, prints):
            assert client.get_run(run_id).state == "EXEC"
        assert {client.get_run(run_id).state for run_id in (exits, dies)} == {"RDY"}

        filler.unlink()
        began = time.monotonic()
        wait_until(lambda: not client.health().alarms, 10, "the alarms to end")
        for run_id in (exits, dies, waits):
            daemon.wait_over(run_id, timeout_s=10 - (time.monotonic() - began))
        heal_s = time.monotonic() - began
        assert client.get_run(exits).exit_code == 7
        assert client.get_run(dies).signal == signal.SIGKILL
        assert client.get_run(waits).outcome == "succeeded"
        for run_id, steps in ((emits, 8000), (prints, 800)):
            assert daemon.wait_over(run_id, timeout_s=30).outcome == "succeeded"
            assert_journal_and_store_agree(daemon.home, run_id, steps)
        assert client.health().pid == pid
        record(
            "5",
            f"full disk: alarm after {alarm_s:.1f} s, all well {heal_s:.1f} s after there was "
            "room; 2/2 exit statuses kept, 8800/8800 steps stored",
        )


def assert_reads_live_on(daemon: ChaosDaemon, run_id: str) -> None:
    client = daemon.client
    assert client.get_run(run_id).run_id == run_id
    assert len(client.list_runs()) == 5
    client.recent_metrics(run_id)
    assert sum(len(batch.lines) for batch in client.stream_events(run_id)) > 0
    assert list(client.stream_log(run_id)) is not None


def assert_journal_and_store_agree(home: Home, run_id: str, steps: int) -> None:
    """Every step once, in both; no line torn, none quarantined, no sequence number missing."""
    files = home.run(run_id)
    events = [json.loads(line) for line in journal_lines.content(files.journal).splitlines()]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert sum(event["type"] == "step" for event in events) == steps
    with contextlib.closing(sqlite3.connect(files.telemetry)) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        row = store.execute("SELECT steps, missing, repeated, quarantined FROM ingest_state")
        assert row.fetchone() == (steps, 0, 0, 0)
        (stored,) = store.execute("SELECT count(DISTINCT seq) FROM steps").fetchone()
        assert stored == steps


def test_file_size_limit_of_the_daemon_is_an_alarm_that_ends_with_it(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes SQLite fail with SQLITE_IOERR_WRITE instead of SQLITE_FULL."""
    with chaos_daemon() as daemon:
        announce_workers(daemon.home)
        client = daemon.client
        go, over = tmp_path / "go", tmp_path / "over"
        emits = daemon.submit(**emitting(steps=20_000, per_second=5000, go_file=str(go)))
        exits = daemon.submit(**python_run(ENDS_WHEN_TOLD, str(over), "7"))
        for run_id in (emits, exits):
            daemon.wait_for(run_id, "RDY", "EXEC")
        assert daemon.process is not None
        pid = daemon.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (40_000, hard))
        began = time.monotonic()
        go.touch()
        over.touch()
        wait_until(lambda: client.health().alarms, 10, "an alarm")
        alarm_s = time.monotonic() - began
        wait_until(lambda: not is_alive(daemon.live(exits).host.pid), 10, "the run host to end")
        assert client.get_run(emits).run_id == emits
        assert len(client.list_runs()) == 2
        with contextlib.suppress(MosaicError):
            client.start_run(run_document(**python_run("pass")))

        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        began = time.monotonic()
        wait_until(lambda: not client.health().alarms, 10, "the alarms to end")
        assert daemon.wait_over(exits, timeout_s=10).exit_code == 7
        heal_s = time.monotonic() - began
        assert daemon.wait_over(emits).outcome == "succeeded"
        assert_journal_and_store_agree(daemon.home, emits, 20_000)
        record(
            "5",
            f"file size limit (EFBIG): alarm after {alarm_s:.1f} s, all well {heal_s:.1f} s after "
            "it was lifted; exit status kept, 20000/20000 steps stored",
        )


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def segments(run_ids: Sequence[str]) -> list[Path]:
    """Of these runs: others may be running on the machine."""
    return [path for run_id in run_ids for path in Path("/dev/shm").glob(f"mosaic.*{run_id}*")]


@pytest.mark.parametrize(("count", "is_daemon_up"), [(50, True), (10, False)])
def test_shared_memory_of_killed_runs_is_unlinked(count: int, is_daemon_up: bool) -> None:
    with chaos_daemon(MOSAIC_CPUS=str(count)) as daemon:
        run_ids = [daemon.submit(**python_run(LEAKS)) for _ in range(count)]
        for run_id in run_ids:
            daemon.wait_for_output(run_id, "leaked")
        assert len(segments(run_ids)) == 2 * count
        lives = [daemon.live(run_id) for run_id in run_ids]
        if not is_daemon_up:
            daemon.kill()
        for live in lives:
            for process in (live.host, live.worker):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        began = time.monotonic()
        if not is_daemon_up:
            assert len(segments(run_ids)) == 2 * count
            daemon.start()
        wait_until(lambda: not segments(run_ids), 5, "all of their shared memory to go")
        took_s = time.monotonic() - began
        for run_id in run_ids:
            failure = daemon.wait_over(run_id).failure
            assert failure is not None
            assert failure.kind == "lost"
        how = "while the daemon ran" if is_daemon_up else "while the daemon was dead too"
        record(
            "6",
            f"killpg -9 of {count} runs {how}: /dev/shm empty of them after {took_s:.1f} s",
        )


@pytest.mark.blocks_merge
def test_one_daemon_of_many_survives_and_the_others_name_it(tmp_path: Path) -> None:
    budget_s, rounds, count = 45.0, extent(50, 4), 10
    command = [sys.executable, "-m", "tests.chaos.rivals", str(tmp_path / "home")]
    environment = {**os.environ, "MOSAIC_MIN_FREE_MB": "1"}
    began, played = time.monotonic(), 0
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as rivals:
        assert rivals.stdin is not None
        assert rivals.stdout is not None
        while played < rounds and time.monotonic() - began < budget_s:
            # A killed daemon leaves its announcement behind: nobody may believe it.
            rivals.stdin.write(f"{count} {'SIGKILL' if played % 2 else 'SIGTERM'}\n")
            rivals.stdin.flush()
            assert_one_winner(json.loads(rivals.stdout.readline()), count)
            played += 1
        rivals.stdin.close()
    assert played >= extent(10, 2)
    took_s = time.monotonic() - began
    record(
        "13", f"{count} daemons at once: exactly 1 won in {played}/{played} rounds, {took_s:.0f} s"
    )


def assert_one_winner(outcome: dict[str, Any], count: int) -> None:
    assert len(outcome["winners"]) == 1
    assert outcome["announced"]
    assert len(outcome["losers"]) == count - 1
    for loser in outcome["losers"]:
        assert loser["status"] == 3, loser
        assert f"pid {outcome['winners'][0]})" in loser["said"], loser


async def test_no_run_is_forgotten_by_a_damaged_registry(tmp_path: Path) -> None:
    seeds, count = 100, 16
    killed, stopped = made_home(tmp_path / "killed"), made_home(tmp_path / "stopped")
    originals = [
        (stopped, await registry_with_runs(stopped, count)),
        (killed, await registry_with_runs(killed, count)),
    ]
    leave_as_after_a_kill(killed)
    restored = 0
    for seed in range(seeds):
        original, expected = originals[seed % 2]
        home = Home(tmp_path / "damaged")
        shutil.copytree(original.root, home.root)
        damage(home, random.Random(seed))
        registry = await Registry.open(home)
        try:
            records, _ = await registry.list()
            found = {item.run_id: (item.run_name, item.outcome, item.is_over) for item in records}
            assert found == expected, f"seed {seed}: {registry.recovery}"
            restored += bool(registry.recovery.damage)
        finally:
            await registry.close()
        shutil.rmtree(home.root)
    assert restored > seeds // 4
    record(
        "15",
        f"64 bytes of the registry damaged: all {count} runs known with their outcomes in "
        f"{seeds}/{seeds} seeds ({restored} needed the backup or the runs' directories)",
    )


async def registry_with_runs(home: Home, count: int) -> dict[str, tuple[str, Any, bool]]:
    registry = await Registry.open(home)
    runs: dict[str, tuple[str, Any, bool]] = {}
    for number in range(count):
        name = f"run {number}"
        run_id = await submit(registry, home, new_run(name))
        runs[run_id] = (name, None, False)
        if number % 3 > 0:
            await launch(registry, home, run_id)
        if number % 3 > 1:
            outcome = Outcome.SUCCEEDED if number % 2 else Outcome.FAILED
            await end(registry, run_id, RunState.HSHK, 1, outcome)
            runs[run_id] = (name, outcome, True)
        if number == count // 2:
            await registry.backup()
    leave_copy_beside(home)
    await registry.close()
    return runs


def leave_copy_beside(home: Home) -> None:
    """The files as they are before the last connection folds the write-ahead log into one."""
    aside = home.root / "as-after-a-kill"
    aside.mkdir()
    for path in home.trainer.glob("registry.*"):
        shutil.copy(path, aside)


def leave_as_after_a_kill(home: Home) -> None:
    for path in home.trainer.glob("registry.*"):
        path.unlink()
    for path in (home.root / "as-after-a-kill").iterdir():
        path.rename(home.trainer / path.name)


def damage(home: Home, chance: random.Random) -> None:
    """64 bytes, in one piece or scattered: in the registry, its write-ahead log or its backup."""
    log = home.registry.with_name("registry.sqlite-wal")
    others = [path for path in (log, home.registry_backup) if path.exists()]
    for path in [home.registry, *others] if chance.random() < 0.5 else [home.registry]:
        content = bytearray(path.read_bytes())
        if chance.random() < 0.5:
            start = chance.randrange(len(content) - 64)
            content[start : start + 64] = chance.randbytes(64)
        else:
            for _ in range(64):
                content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)


@pytest.mark.parametrize("with_backup", [True, False])
def test_live_run_is_adopted_although_the_registry_is_damaged(
    tmp_path: Path, with_backup: bool
) -> None:
    told = tmp_path / "told"
    with chaos_daemon() as daemon:
        over = daemon.submit(**python_run("pass"))
        daemon.wait_over(over)
        live = [daemon.submit(**python_run(ENDS_WHEN_TOLD, str(told), "7")) for _ in range(3)]
        for run_id in live:
            daemon.wait_for(run_id, "RDY")
        hosts = [daemon.live(run_id).host.pid for run_id in live]
        daemon.kill()
        chance = random.Random(15)
        for path in daemon.home.trainer.glob("registry*"):
            if with_backup and path == daemon.home.registry_backup:
                continue
            path.write_bytes(chance.randbytes(path.stat().st_size))
        daemon.start()
        assert daemon.client.get_run(over).outcome == "succeeded"
        for run_id in live:
            assert not daemon.client.get_run(run_id).is_over
        told.touch()
        assert [daemon.wait_over(run_id).exit_code for run_id in live] == [7, 7, 7]
        assert [daemon.live(run_id).host.pid for run_id in live] == hosts
        assert not daemon.attempt(live[0], 2).directory.exists()
        assert list(daemon.home.trainer.glob("registry.corrupt-*"))
        what = "registry" if with_backup else "registry and its backup"
        record("15", f"{what} overwritten while 3 runs were live: 3/3 adopted, exit codes right")


@pytest.mark.parametrize("content", [None, b"\xff{{", b"{}"])
def test_run_whose_config_is_lost_is_still_looked_after(
    tmp_path: Path, content: bytes | None
) -> None:
    told = tmp_path / "told"
    with chaos_daemon(MOSAIC_CPUS="1") as daemon:
        live = daemon.submit(**python_run(ENDS_WHEN_TOLD, str(told), "7"))
        daemon.wait_for(live, "RDY")
        queued = daemon.submit(**python_run("pass"))
        daemon.kill()
        for run_id in (live, queued):
            if content is None:
                daemon.home.config(run_id).unlink()
            else:
                daemon.home.config(run_id).write_bytes(content)
        daemon.start()
        failure = daemon.wait_over(queued).failure
        assert failure is not None
        assert "config" in failure.message
        told.touch()
        assert daemon.wait_over(live).exit_code == 7
