"""A run's whole life with the real daemon, run host, worker, journal and stores."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mosaic.contracts.run_state import RunState
from mosaic.errors import (
    ConfigError,
    GpuError,
    InterpreterError,
    RunStateError,
    UnknownRunError,
    UnknownWorkerError,
)
from mosaic.front.worker_manifests import add_manifest
from tests import journal_lines
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.waiting import PATIENCE_S, wait_until

TWO_GPUS = {"cpus": 1, "memory_mb": 512, "gpus": {"requested": 2, "mandatory": True}}
LONG = {"episodes": 1_000_000, "max_steps_per_second": 500}


def states(record: object) -> list[str]:
    return [str(item.state) for item in record.transitions]  # type: ignore[attr-defined]


def stored_steps(daemon: DaemonHarness, run_id: str) -> int:
    with sqlite3.connect(daemon.home.run(run_id).telemetry) as connection:
        (count,) = connection.execute("SELECT count(*) FROM steps").fetchone()
    connection.close()
    return int(count)


def journal_steps(daemon: DaemonHarness, run_id: str) -> int:
    lines = journal_lines.content(daemon.home.run(run_id).journal).splitlines()
    return sum(json.loads(line)["type"] == "step" for line in lines)


def test_a_run_goes_through_all_states_and_leaves_the_promised_files(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config={"episodes": 5})
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.exit_code, record.failure_reason) == ("succeeded", 0, None)
    assert states(record) == ["INIT", "HSHK", "RDY", "EXEC", "TERM"]
    assert record.progress.episodes == 5
    assert record.progress.fraction == 1.0
    config = daemon.home.config(run_id)
    assert json.loads(config.read_bytes())["run_name"] == "test"
    (worker_config,) = daemon.home.configs.glob(f"worker-{run_id}-*.json")
    assert json.loads(worker_config.read_bytes())["episodes"] == 5
    for path in (config, worker_config, daemon.home.run(run_id).journal, daemon.home.registry):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert daemon.home.run(run_id).log("baseline", "stdout").exists()
    assert json.loads(daemon.home.run(run_id).manifest.read_bytes())["run_id"] == run_id
    assert stored_steps(daemon, run_id) == journal_steps(daemon, run_id) > 0


def test_the_socket_is_for_its_owner_only(daemon: DaemonHarness) -> None:
    socket = daemon.home.daemon_socket
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700


def test_killing_the_daemon_hurts_nothing_and_the_run_is_adopted(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config=LONG)
    daemon.wait_for(run_id, "EXEC")
    daemon.kill()
    journal = daemon.home.run(run_id).journal
    size = journal.stat().st_size
    wait_until(lambda: journal.stat().st_size > size, what="the worker to go on by itself")
    daemon.start()
    record = daemon.client.get_run(run_id)
    assert record.state is RunState.EXEC
    assert record.attempt == 1
    daemon.client.stop_run(run_id)
    record = daemon.wait_over(run_id)
    assert record.outcome == "canceled"
    assert stored_steps(daemon, run_id) == journal_steps(daemon, run_id) > 0


def test_an_exit_while_no_daemon_runs_is_recorded_later(daemon: DaemonHarness) -> None:
    run_id = daemon.submit_script("exits_with", "23", "--after", "0.5")
    daemon.wait_for(run_id, "RDY")
    daemon.kill()
    exit_file = daemon.home.run(run_id).attempt(1).exit
    wait_until(exit_file.exists, what="the run host to record the exit")
    daemon.start()
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.exit_code) == ("failed", 23)


def test_stopping_the_daemon_leaves_runs_alone(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config=LONG)
    daemon.wait_for(run_id, "EXEC")
    daemon.stop()
    assert not daemon.home.daemon_info.exists()
    daemon.start()
    assert daemon.client.get_run(run_id).state is RunState.EXEC
    daemon.client.stop_run(run_id)
    assert daemon.wait_over(run_id).outcome == "canceled"


def test_a_graceful_stop_lets_the_worker_finish_its_sentence(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config=LONG)
    daemon.wait_for(run_id, "EXEC")
    daemon.client.stop_run(run_id, reason="seen enough")
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.failure_reason, record.exit_code) == (
        "canceled",
        "user_cancel",
        0,
    )
    last = json.loads(journal_lines.content(daemon.home.run(run_id).journal).splitlines()[-1])
    assert last["type"] == "run_cancelled"


def test_pause_and_resume_of_a_worker(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config=LONG)
    daemon.wait_for(run_id, "EXEC")
    daemon.client.pause_run(run_id)
    daemon.wait_for(run_id, "PAUSE")
    steps = journal_steps(daemon, run_id)
    daemon.client.unpause_run(run_id)
    daemon.wait_for(run_id, "EXEC")
    wait_until(lambda: journal_steps(daemon, run_id) > steps, what="more steps")
    daemon.client.stop_run(run_id, grace_s=1)
    daemon.wait_over(run_id)


def test_pause_and_resume_of_a_plain_script(daemon: DaemonHarness) -> None:
    run_id = daemon.submit_script("hangs")
    daemon.wait_for(run_id, "RDY")
    assert daemon.client.pause_run(run_id).state is RunState.PAUSE
    assert daemon.client.unpause_run(run_id).state is RunState.EXEC
    daemon.client.stop_run(run_id, grace_s=0)
    assert daemon.wait_over(run_id).outcome == "canceled"


def test_a_crash_is_told_with_its_type_and_the_end_of_stderr(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"env_kwargs": {"no_such_argument": 1}})
    record = daemon.wait_over(run_id)
    assert record.outcome == "failed"
    assert record.failure is not None
    assert record.failure.kind == "worker_error"
    assert record.failure.error_type
    assert any("no_such_argument" in line for line in record.stderr_tail)
    assert "FAULT" in states(record)


def test_a_run_is_tried_again_as_often_as_its_retry_says(daemon: DaemonHarness) -> None:
    run_id = daemon.submit_script(
        "exits_with", "4", retry={"max_attempts": 3, "backoff_seconds": 0.05}
    )
    record = daemon.wait_over(run_id)
    assert record.attempt == 3
    assert states(record).count("FAULT") == 3
    assert record.outcome == "failed"


def test_the_same_key_is_the_same_run_and_the_same_config_is_not(daemon: DaemonHarness) -> None:
    document = run_document(config={"episodes": 1})
    first = daemon.client.start_run(document, client_key="k1")
    assert daemon.client.start_run(document, client_key="k1") == first
    assert daemon.client.start_run(document) != first
    for record in daemon.client.list_runs():
        daemon.wait_over(record.run_id)
    assert len(daemon.client.list_runs()) == 2


def test_a_full_machine_makes_runs_wait_and_priority_decides_who_is_next() -> None:
    with running_daemon(MOSAIC_CPUS="1") as daemon:
        first = daemon.submit(config=LONG)
        daemon.wait_for(first, "EXEC")
        low = daemon.submit(config={"episodes": 1}, priority=-5)
        high = daemon.submit(config={"episodes": 1}, priority=5)
        waiting = wait_until(lambda: daemon.client.get_run(low).waiting, what="a reason to wait")
        assert "waiting for 1 CPU; 0 are free" in waiting
        daemon.client.stop_run(first)
        assert daemon.wait_over(high).outcome == "succeeded"
        assert daemon.wait_over(low).outcome == "succeeded"
        started = {run_id: daemon.client.get_run(run_id).started_at for run_id in (high, low)}
        assert (started[high] or 0) < (started[low] or 0)


def test_stopping_a_queued_run_never_starts_it() -> None:
    with running_daemon(MOSAIC_CPUS="1") as daemon:
        first = daemon.submit(config=LONG)
        daemon.wait_for(first, "EXEC")
        queued = daemon.submit(config={"episodes": 1})
        record = daemon.client.stop_run(queued)
        assert (record.state, record.outcome) == (RunState.TERM, "canceled")
        assert not daemon.home.run(queued).attempt(1).directory.exists()
        daemon.client.stop_run(first)
        daemon.wait_over(first)


def test_max_steps_ends_the_run_as_planned(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 1_000_000}, schedule={"max_steps": 500})
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.stop_reason) == ("succeeded", "max_steps")
    assert stored_steps(daemon, run_id) == 500


def test_max_duration_ends_the_run_as_planned(daemon: DaemonHarness) -> None:
    # Before it hears of that it must have started, within these seconds and the grace.
    run_id = daemon.submit(config=LONG, schedule={"max_duration_seconds": 4})
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.stop_reason) == ("succeeded", "max_duration")


def test_a_memory_hog_is_stopped_at_its_limit(daemon: DaemonHarness) -> None:
    run_id = daemon.submit_script("eats_memory", resources={"cpus": 1, "memory_mb": 256})
    record = daemon.wait_over(run_id)
    assert record.failure_reason == "memory_limit"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"entry_point": "no_such_worker"}, UnknownWorkerError, "no_such_worker"),
        ({"config": {"episodes": -1}}, ConfigError, "episodes"),
        ({"config": {"episodez": 1}}, ConfigError, "episodez"),
        (
            {"entry_point": "/no/such/python", "arguments": ["x.py"]},
            InterpreterError,
            "/no/such/python",
        ),
        ({"resources": {"cpus": 4000, "memory_mb": 512}}, Exception, "4000 CPUs"),
        ({"resources": TWO_GPUS}, GpuError, "2 GPU"),
    ],
)
def test_what_cannot_run_is_refused_at_submission_by_name(
    daemon: DaemonHarness, changes: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        daemon.submit(**changes)
    assert words in str(caught.value)
    assert daemon.client.list_runs() == []


def test_optional_gpus_fall_back_to_the_cpu(daemon: DaemonHarness) -> None:
    resources = {"cpus": 1, "memory_mb": 512, "gpus": {"requested": 1, "mandatory": False}}
    run_id = daemon.submit(config={"episodes": 1}, resources=resources)
    assert daemon.wait_over(run_id).outcome == "succeeded"


def test_delete_refuses_a_live_run_and_removes_a_finished_one_wholly(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config=LONG)
    daemon.wait_for(run_id, "EXEC")
    with pytest.raises(RunStateError, match="not over"):
        daemon.client.delete_run(run_id)
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)
    assert not daemon.client.delete_run(run_id, for_good=True).is_in_trash
    with pytest.raises(UnknownRunError):
        daemon.client.get_run(run_id)
    assert not [path for path in daemon.home.trainer.rglob("*") if run_id in path.name]


def test_logs_of_a_successful_run_go_when_nobody_wants_them(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 1}, artifacts={"persist_logs": False})
    daemon.wait_over(run_id)
    wait_until(lambda: not daemon.home.run(run_id).logs.exists(), what="the logs to go")


def test_a_secret_reaches_the_worker_and_nothing_else(daemon: DaemonHarness) -> None:
    canary = "canary-9f1c77e2"
    run_id = daemon.submit_script(
        "prints_secret", "WANDB_API_KEY", environment={"WANDB_API_KEY": canary}
    )
    daemon.wait_over(run_id)
    log = b"".join(chunk.data for chunk in daemon.client.stream_log(run_id))
    assert b"***" in log, "the worker printed it, masked"
    assert canary.encode() not in log
    assert daemon.files_containing(canary.encode()) == []
    stored = json.loads(daemon.home.config(run_id).read_bytes())["environment"]
    assert stored["WANDB_API_KEY"].startswith("secret://")


def test_events_stream_without_gap_from_any_cursor(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 40})
    live = [
        event
        for batch in daemon.client.stream_events(run_id, follow=True)
        for event in batch.events()
    ]
    assert [event["seq"] for event in live] == list(range(len(live)))
    assert live[-1]["type"] == "run_completed"
    batches = list(daemon.client.stream_events(run_id))
    middle = batches[0].next_cursor
    rest = [
        event
        for batch in daemon.client.stream_events(run_id, cursor=middle)
        for event in batch.events()
    ]
    assert len(batches[0].events()) + len(rest) == len(live)


def test_equal_seeds_give_equal_digests_and_others_do_not(daemon: DaemonHarness) -> None:
    runs = [daemon.submit(config={"episodes": 4, "seed": seed}) for seed in (1, 1, 2)]
    first, same, other = (daemon.wait_over(run_id).metrics_digest for run_id in runs)
    assert len(first) == 64
    assert first == same != other


def test_watching_sees_the_run_end(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 3})
    seen = []
    for record in daemon.client.watch([run_id]):
        seen.append(record.state)
        if record.is_over:
            break
    assert seen[-1] is RunState.TERM


def test_recent_metrics_are_the_newest(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 10})
    daemon.wait_over(run_id)
    points = daemon.client.recent_metrics(run_id, 5, names=["rollout/episodic_return"])
    assert len(points) == 5
    assert points[-1].step == daemon.client.get_run(run_id).progress.steps


def test_a_second_daemon_ends_with_3_and_names_the_first(daemon: DaemonHarness) -> None:
    assert daemon.process is not None
    second = subprocess.run(
        [sys.executable, "-m", "mosaic.daemon", "--home", str(daemon.home.root)],
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert second.returncode == 3
    assert str(daemon.process.pid) in second.stderr
    assert daemon.client.health().pid == daemon.process.pid


def test_a_dry_run_creates_nothing_and_shows_the_command(daemon: DaemonHarness) -> None:
    submission = daemon.client.submit(run_document(), dry_run=True)
    assert "baseline_worker.cli" in submission.command
    assert all(check.ok for check in submission.preflight)
    assert daemon.client.list_runs() == []
    assert not list(daemon.home.runs.iterdir())


def test_a_worker_in_a_folder_of_its_own_is_found_and_runs(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    package = folder / "coin_worker"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from mosaic.contracts.capabilities import WorkerCapabilities\n"
        "def get_worker_metadata():\n"
        "    return WorkerCapabilities(worker_type='coin', stdout_events=True)\n"
    )
    (package / "cli.py").write_text(
        "import json\n"
        "for n in range(3):\n"
        "    print(json.dumps({'type': 'episode', 'episode_index': n, 'total_reward': n,"
        " 'steps': 1, 'terminated': True, 'truncated': False}))\n"
    )
    (folder / "worker.toml").write_text(
        'name = "coin"\nentry_point = "coin_worker:get_worker_metadata"\n'
    )
    assert add_manifest(daemon.home, folder).name == "coin"
    assert "coin" in [worker.name for worker in daemon.client.workers()]
    run_id = daemon.submit(entry_point="coin")
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.progress.episodes) == ("succeeded", 3)
    assert "EXEC" in states(record)


def test_time_between_submission_and_worker_is_recorded(daemon: DaemonHarness) -> None:
    before = time.time()
    run_id = daemon.submit(config={"episodes": 1})
    record = daemon.wait_over(run_id)
    assert before <= record.created_at <= (record.started_at or 0) <= (record.finished_at or 0)


KEEPER = """
import dataclasses, sys, threading
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.worker import worker_main

@dataclasses.dataclass(frozen=True)
class Config:
    pass

def train(run):
    asked = threading.Event()
    told = []
    run.control.on_command = lambda command: (told.append(command), asked.set())
    run.output_directory.mkdir(exist_ok=True)
    path = run.output_directory / "policy.bin"
    path.write_bytes(b"weights")
    run.checkpoint_saved(path, step=1, is_final=True)
    run.metric("ready", 1, step=0)
    asked.wait(60)
    run.metric("told", told[0]["seed"], step=1)

if __name__ == "__main__":
    sys.exit(worker_main(lambda: WorkerCapabilities("keeper"), Config, train))
"""


@pytest.fixture
def keeper(daemon: DaemonHarness, tmp_path: Path) -> str:
    """A worker that saves a checkpoint and then waits for a command."""
    package = tmp_path / "keeper_worker"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from mosaic.contracts.capabilities import WorkerCapabilities\n"
        "def get_worker_metadata():\n"
        "    return WorkerCapabilities('keeper', supports_checkpointing=True)\n"
    )
    (package / "cli.py").write_text(KEEPER)
    (tmp_path / "worker.toml").write_text(
        'name = "keeper"\nentry_point = "keeper_worker:get_worker_metadata"\n'
    )
    return add_manifest(daemon.home, tmp_path).name


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_command_reaches_the_worker_and_checkpoints_go_when_nobody_wants_them(
    daemon: DaemonHarness, keeper: str, is_kept: bool
) -> None:
    run_id = daemon.submit(entry_point=keeper, artifacts={"keep_checkpoints": is_kept})
    daemon.wait_for(run_id, "EXEC")
    assert daemon.client.control(run_id, {"command": "reset", "seed": 7})["ok"]
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.checkpoint_uri) == ("succeeded", "outputs/policy.bin")
    (point,) = daemon.client.recent_metrics(run_id, 1, names=["told"])
    assert point.value == 7
    checkpoint = daemon.home.run(run_id).directory / record.checkpoint_uri
    wait_until(lambda: checkpoint.exists() is is_kept, what="the keep rule")
    manifest = daemon.home.run(run_id).manifest
    wait_until(
        lambda: bool(json.loads(manifest.read_bytes())["checkpoints"]) is is_kept, what="the list"
    )
