"""Stopping, pausing and killing a watched script, with the real daemon."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.integration.watching.watch_harness import REPORTS, Watcher
from tests.waiting import wait_until


def test_detached_it_shows_up_while_it_runs_and_pauses_with_all_its_processes(
    mosaic: Watcher,
) -> None:
    mosaic.script(
        "train.py",
        REPORTS
        + """
import time
print("started", flush=True)
for step in range(1, 10**9):
    say("metric", name="charts/SPS", value=1.0, step=step)
    time.sleep(0.005)
""",
    )
    daemon = mosaic.daemon
    # Behind a shell, so that the process that has to stand still is not the one we started.
    run_id = mosaic.detached("--", "bash", "-c", f"{sys.executable} train.py; true")
    wait_until(lambda: daemon.client.get_run(run_id).progress.steps > 10, what="steps")
    daemon.client.pause_run(run_id)
    daemon.wait_for(run_id, "PAUSE")
    journal = daemon.home.run(run_id).journal
    paused = mosaic.events(run_id, "metric")
    beats = len(mosaic.events(run_id, "heartbeat"))
    wait_until(lambda: len(mosaic.events(run_id, "heartbeat")) >= beats + 3, what="heartbeats")
    assert mosaic.events(run_id, "metric") == paused, journal
    daemon.client.unpause_run(run_id)
    wait_until(lambda: len(mosaic.events(run_id, "metric")) > len(paused), what="more metrics")
    daemon.client.stop_run(run_id)
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.exit_code) == ("canceled", 0)


def test_a_stop_is_a_ctrl_c_on_which_a_script_can_save(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        """
        import time
        try:
            print("started", flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            open("saved.pt", "w").write("weights")
        """,
    )
    daemon = mosaic.daemon
    run_id = mosaic.detached("--", sys.executable, "train.py")
    wait_until(lambda: "started" in mosaic.log(run_id, "stdout"), what="the script")
    daemon.client.stop_run(run_id)
    assert daemon.wait_over(run_id).outcome == "canceled"
    assert [entry["path"] for entry in mosaic.manifest(run_id)["checkpoints"]] == [
        str(mosaic.folder / "saved.pt")
    ]


def test_a_script_that_ignores_signals_is_killed_within_the_grace(mosaic: Watcher) -> None:
    mosaic.script(
        "train.py",
        """
        import signal, time
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: print("got", number, flush=True))
        print("started", flush=True)
        while True:
            time.sleep(600)
        """,
    )
    daemon = mosaic.daemon
    run_id = mosaic.detached("--", sys.executable, "train.py")
    wait_until(lambda: "started" in mosaic.log(run_id, "stdout"), what="the script")
    daemon.client.stop_run(run_id, grace_s=8)
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.exit_code) == ("canceled", 0)  # we ended it, in time
    assert mosaic.log(run_id, "stdout") == "started\ngot 2\ngot 15\n"
    notes = [event["payload"].get("note") for event in mosaic.events(run_id, "heartbeat")]
    assert "the script was killed by SIGKILL after it was told to stop" in notes


def test_a_script_killed_by_a_signal_is_a_run_killed_by_it(mosaic: Watcher) -> None:
    record = mosaic.record("--", "bash", "-c", "kill -SEGV $$", status=1)
    assert (record.exit_code, record.signal) == (None, 11)
    assert record.failure is not None
    assert "was killed by SIGSEGV" in record.failure.message


def test_a_time_limit_is_a_plan_not_a_failure(mosaic: Watcher) -> None:
    record = mosaic.record("--max-duration", "1", "--", "sleep", "600")
    assert (record.outcome, record.stop_reason) == ("succeeded", "max_duration")


def test_a_killed_worker_takes_its_script_and_its_pipe_along(mosaic: Watcher) -> None:
    daemon = mosaic.daemon
    run_id = mosaic.detached("--", "bash", "-c", "echo $$; exec sleep 600")
    script = int(wait_until(lambda: mosaic.log(run_id, "stdout"), what="the script"))
    pipes = list(Path("/dev/shm").glob(f"mosaic.{run_id}.bridge-*"))
    assert len(pipes) == 1
    (registered,) = mosaic.events(run_id, "worker_registered")
    os.kill(registered["pid"], signal.SIGKILL)
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.signal) == ("failed", signal.SIGKILL)
    assert not Path(f"/proc/{script}").exists()
    assert not pipes[0].exists()
