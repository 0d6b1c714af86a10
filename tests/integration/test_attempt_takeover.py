"""What a daemon takes over: attempts of an older one, and those that somebody has meddled with."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sqlite3
import sys
from pathlib import Path
from typing import Any

from mosaic.contracts.run_files import AttemptFiles, LiveRecord
from mosaic.files import read_json
from mosaic.processes import is_alive
from tests.daemon_harness import DaemonHarness, contents_below
from tests.waiting import wait_until

WAITER = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
sys.exit(3)
"""


def python_run(daemon: DaemonHarness, program: str, *arguments: str, **changes: Any) -> str:
    return daemon.submit(
        entry_point=sys.executable, arguments=["-I", "-S", "-c", program, *arguments], **changes
    )


def attempt_of(daemon: DaemonHarness, run_id: str, number: int = 1) -> AttemptFiles:
    return daemon.home.run(run_id).attempt(number)


def live_record(daemon: DaemonHarness, run_id: str) -> LiveRecord:
    path = attempt_of(daemon, run_id).live
    data: Any = wait_until(lambda: read_json(path), what="live.json")
    return LiveRecord.from_dict(data)


def forget_proofs(daemon: DaemonHarness) -> None:
    """As in a registry whose runs were launched before there were proofs."""
    connection = sqlite3.connect(daemon.home.registry, isolation_level=None)
    assert connection.execute("DELETE FROM exit_proofs").rowcount > 0
    connection.close()


def test_an_attempt_of_an_older_version_is_settled_by_its_exit(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    """Its run host wrote no proof, and its daemon kept nothing to compare one with."""
    run_id = python_run(daemon, WAITER, str(tmp_path / "now"))
    daemon.wait_for(run_id, "RDY")
    files = attempt_of(daemon, run_id)
    host = live_record(daemon, run_id).host
    daemon.kill()
    forget_proofs(daemon)
    (tmp_path / "now").touch()
    wait_until(lambda: not is_alive(host), what="the host's end")
    document = read_json(files.exit)
    assert document is not None
    files.exit.write_text(json.dumps({k: v for k, v in document.items() if k != "proof"}))
    daemon.start()
    record = daemon.wait_over(run_id)
    assert (record.failure_reason, record.exit_code) == ("exit_code_3", 3)


def test_a_live_attempt_of_an_older_version_is_adopted_and_ends_by_itself(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = python_run(daemon, WAITER, str(tmp_path / "now"))
    daemon.wait_for(run_id, "RDY")
    daemon.kill()
    forget_proofs(daemon)
    daemon.start()
    (tmp_path / "now").touch()
    assert daemon.wait_over(run_id).failure_reason == "exit_code_3"


def test_a_worker_that_writes_its_own_exit_trains_on_and_is_believed_nothing(
    daemon: DaemonHarness,
) -> None:
    program = """
import json, os, time
folder = os.environ["MOSAIC_RUN_DIR"] + "/attempts/1"
document = {"run_id": os.environ["MOSAIC_RUN_ID"], "attempt": 1, "exit_code": 0, "signal": None,
            "started_at": 1.0, "finished_at": 2.0, "proof": "0" * 64}
with open(folder + "/exit.json", "w") as file:
    json.dump(document, file)
print("written", flush=True)
time.sleep(600)
"""
    run_id = python_run(daemon, program)
    log = daemon.home.run(run_id).log("command", "stdout")
    wait_until(lambda: log.exists() and "written" in log.read_text(), what="the forgery")
    worker = live_record(daemon, run_id).worker
    daemon.kill()
    daemon.start()
    record = daemon.client.get_run(run_id)
    assert not record.is_over
    assert is_alive(worker)
    daemon.client.stop_run(run_id, grace_s=0)
    assert daemon.wait_over(run_id).outcome == "canceled"
    assert not is_alive(worker)
    document = read_json(attempt_of(daemon, run_id).exit)
    assert document is not None and document["stop_reason"] == "user_cancel"


def test_the_proof_is_nowhere_before_the_run_host_reveals_it(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = python_run(daemon, WAITER, str(tmp_path / "now"))
    daemon.wait_for(run_id, "RDY")
    worker = live_record(daemon, run_id).worker
    seen = b"".join(
        Path(f"/proc/{worker.pid}/{name}").read_bytes() for name in ("environ", "cmdline")
    )
    home = b"".join(content for _, content in contents_below(daemon.home.root))
    (tmp_path / "now").touch()
    daemon.wait_over(run_id)
    document = read_json(attempt_of(daemon, run_id).exit)
    assert document is not None
    proof = document["proof"].encode()
    assert len(proof) == 64
    assert proof not in seen + home


def test_a_socket_that_only_looks_like_the_run_hosts_cannot_keep_a_run_alive(
    daemon: DaemonHarness,
) -> None:
    run_id = python_run(daemon, "import time; time.sleep(600)")
    daemon.wait_for(run_id, "RDY")
    path = daemon.home.control_socket(run_id, 1)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        daemon.client.stop_run(run_id, grace_s=0)
        connection, _ = listener.accept()
        connection.recv(4096)
        connection.sendall(b"no JSON\n" + b"x" * 200_000)
        connection.close()
        assert daemon.wait_over(run_id).outcome == "canceled"


def test_a_lock_that_a_stranger_holds_does_not_outlive_a_stop(daemon: DaemonHarness) -> None:
    run_id = python_run(daemon, "import time; time.sleep(600)")
    daemon.wait_for(run_id, "RDY")
    live = live_record(daemon, run_id)
    daemon.kill()
    os.kill(live.host.pid, 9)
    wait_until(lambda: not is_alive(live.worker), what="the worker's death")
    lock = os.open(attempt_of(daemon, run_id).lock, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        daemon.start()
        assert not daemon.client.get_run(run_id).is_over, "a held lock means alive"
        daemon.client.stop_run(run_id, grace_s=0)
        assert daemon.wait_over(run_id).outcome == "canceled"
    finally:
        os.close(lock)


def test_a_retry_begins_with_an_empty_folder_whatever_was_prepared_for_it(
    daemon: DaemonHarness,
) -> None:
    program = """
import os, sys
attempts = os.environ["MOSAIC_RUN_DIR"] + "/attempts"
if not os.path.lexists(attempts + "/2"):
    os.mkdir(attempts + "/2")
    os.mkfifo(attempts + "/2/host.log")
    os.mkfifo(attempts + "/2/lock")
    open(attempts + "/2/claim", "w").close()
    sys.exit(3)
"""
    run_id = python_run(daemon, program, retry={"max_attempts": 2, "backoff_seconds": 0.0})
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.attempt) == ("succeeded", 2)
    refused = attempt_of(daemon, run_id, 2).directory.with_name("2.refused-1")
    assert (refused / "host.log").is_fifo()


def test_a_run_that_cannot_be_taken_over_is_set_aside_and_the_others_are_served(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config={"episodes": 1_000_000, "max_steps_per_second": 50})
    other = daemon.submit(config={"episodes": 1_000_000, "max_steps_per_second": 50})
    daemon.wait_for(run_id, "EXEC")
    daemon.wait_for(other, "EXEC")
    worker = live_record(daemon, run_id).worker
    daemon.kill()
    connection = sqlite3.connect(daemon.home.run(run_id).telemetry, isolation_level=None)
    assert connection.execute("UPDATE lifecycle SET payload = x'ff'").rowcount > 0
    connection.close()
    daemon.start()
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.failure_reason) == ("failed", "unreadable")
    assert record.failure is not None
    assert record.failure.message.startswith("Its attempt files cannot be read: ")
    assert not is_alive(worker)
    assert daemon.client.get_run(other).state == "EXEC"
