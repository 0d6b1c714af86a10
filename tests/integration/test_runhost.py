"""A real run host with real workers, most of which do everything wrong."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.events import EventType
from mosaic.contracts.worker_environment import RUN_ID
from mosaic.files import read_json
from mosaic.processes import ProcessIdentity, identity_of, is_alive
from mosaic.runhost.attempt_processes import kill_leftovers
from tests.integration.runhost_harness import (
    RUN_HOST,
    SOURCE,
    HostedRun,
    groups_of,
    is_running,
    misbehaving,
)
from tests.waiting import PATIENCE_S, wait_until

SECRET = "canary-5f2b9c-key"
MakeRun = Callable[..., HostedRun]

# A worker that takes commands as the SDK does: echoes them, ends at `stop`.
COMMANDED = """
import json, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    print("got", line, end="", flush=True)
    if json.loads(line)["command"] == "stop":
        sys.exit(0)
"""


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[MakeRun]:
    runs: list[HostedRun] = []

    def make(*argv: str, **changes: Any) -> HostedRun:
        runs.append(HostedRun(changes.pop("directory", tmp_path / "run"), argv, **changes))
        return runs[-1]

    yield make
    for run in runs:
        groups = groups_of(run)
        run.clean_up()
        assert not [group for group in groups if group.exists()], "a control group was left"


def script(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def pids_in(text: str, word: str) -> list[int]:
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith(word)]


@pytest.fixture
def host_without_groups() -> tuple[str, ...]:
    """A host in a mount namespace without control groups: what an unprivileged user has."""
    # They may be mounted in more than one place, as into a chroot.
    mounts = "awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts | sort -r"
    code = f'{mounts} | xargs -r umount -l; ! grep -q " cgroup" /proc/mounts && exec "$@"'
    command = ("unshare", "-m", "sh", "-c", code, "sh")
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("cannot make a mount namespace without control groups here")
    return (*command, *RUN_HOST)


def processes_of(run: HostedRun) -> list[int]:
    """Everyone who inherited the run's variables."""
    marker = f"{RUN_ID}={run.spec.run_id}".encode()
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and marker in _environment(entry)
    ]


def has_no_processes(run: HostedRun) -> bool:
    return not processes_of(run)


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


# -- how it ends ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 3, 137])
def test_exit_code_is_recorded(make_run: MakeRun, code: int) -> None:
    record = make_run(*misbehaving("exits_with", code)).run()
    assert (record.exit_code, record.signal, record.stop_reason) == (code, None, "")
    assert not record.was_killed
    assert record.finished_at >= record.started_at
    assert record.cpu_seconds > 0
    assert record.max_rss_mb > 1


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGABRT"])
def test_killed_worker_is_reported_with_its_signal(make_run: MakeRun, name: str) -> None:
    record = make_run(*misbehaving("crashes", name)).run()
    assert (record.exit_code, record.signal) == (None, signal.Signals[name])
    assert record.stop_reason == ""


def test_crash_leaves_its_last_words(make_run: MakeRun) -> None:
    record = make_run(*misbehaving("crashes")).run()
    assert record.exit_code == 1
    assert record.stderr_tail[-1] == "RuntimeError: this worker crashes on purpose"
    assert record.stderr_tail[0] == "Traceback (most recent call last):"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"argv": ("/no/such/python", "-c", "")}, "/no/such/python: No such file"),
        ({"argv": ("no-such-program",)}, "no-such-program: No such file"),
        ({"argv": ("/etc/passwd",)}, "/etc/passwd: Permission denied"),
        ({"cwd": "/no/such/folder"}, "/no/such/folder: No such file"),
        ({"environment": {"A": "a\0b"}}, "embedded null byte"),
    ],
)
def test_worker_that_cannot_be_started_is_recorded_with_what_the_system_said(
    make_run: MakeRun, changes: dict[str, Any], words: str
) -> None:
    argv = changes.pop("argv", misbehaving("exits_with", 0))
    run = make_run(*argv, **changes)
    host = run.start()
    record = run.exit()
    assert record.stop_reason == "start_failed"
    assert words in record.error
    assert (record.exit_code, record.signal) == (None, None)
    assert host.wait(PATIENCE_S) == 0
    assert not run.attempt.live.exists()


def test_worker_that_closes_its_output_is_waited_for(make_run: MakeRun) -> None:
    record = make_run(*misbehaving("closes_stdout", 0.3)).run()
    assert record.exit_code == 0
    assert record.finished_at - record.started_at >= 0.3


# -- at most once -----------------------------------------------------------------------------


def test_claimed_attempt_is_never_started_twice(make_run: MakeRun) -> None:
    run = make_run(*script("open('starts', 'a').write('x')"))
    run.run()
    assert run.start().wait(PATIENCE_S) == 3
    assert (run.files.directory / "starts").read_text() == "x"


def test_held_attempt_is_refused_while_its_host_lives(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"))
    run.start()
    live = run.live()
    assert run.start().wait(PATIENCE_S) == 3
    assert is_alive(live.worker)


def test_many_hosts_at_once_start_one_worker(make_run: MakeRun) -> None:
    run = make_run(*script("open('starts', 'a').write('x')"))
    hosts = [run.start() for _ in range(8)]
    assert sorted(host.wait(PATIENCE_S) for host in hosts) == [0] + [3] * 7
    assert (run.files.directory / "starts").read_text() == "x"


@pytest.mark.parametrize("keep", [0, 1, 50, -1])
def test_host_whose_daemon_died_halfway_starts_nothing(make_run: MakeRun, keep: int) -> None:
    run = make_run(*script("open('started', 'w')"))
    whole = json.dumps(run.spec.to_dict()).encode()
    assert run.start_with(whole[:keep]).wait(PATIENCE_S) == 2
    assert not run.attempt.claim.exists()
    assert not (run.files.directory / "started").exists()
    assert run.start_with(whole).wait(PATIENCE_S) == 0


def test_host_of_a_deleted_run_starts_nothing(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("exits_with", 0))
    run.files.directory.rmdir()
    assert run.start().wait(PATIENCE_S) == 2


def test_claim_and_live_name_host_and_worker(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"))
    host = run.start()
    live = run.live()
    claim = read_json(run.attempt.claim)
    assert claim is not None
    assert live.host == ProcessIdentity.from_dict(claim) == identity_of(host.pid)
    assert is_alive(live.worker)
    assert live.control_socket == run.spec.control_socket
    assert live.containment in ("cgroup", "subreaper")
    for path in (run.attempt.claim, run.attempt.live, run.attempt.lock):
        assert path.stat().st_mode & 0o777 == 0o600


# -- what the worker is given -----------------------------------------------------------------


def test_worker_gets_exactly_its_environment_and_default_signals(make_run: MakeRun) -> None:
    code = """
import json, os, signal
mask = open("/proc/self/status").read().split("SigIgn:")[1].split()[0]
print(json.dumps([dict(os.environ), os.getsid(0) == os.getpid(), int(mask, 16),
    sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), os.listdir("/proc/self/fd"),
    os.read(0, 1).decode()]))
"""
    run = make_run(*script(code), environment={"COLOUR": "blue"}, secrets={"KEY": SECRET})
    run.run()
    environment, leads_session, ignored, blocked, fds, stdin = json.loads(run.log("stdout"))
    environment.pop("LC_CTYPE", None)  # Python sets it by itself in a C locale
    assert environment == {**run.spec.environment, "KEY": "***"}
    assert leads_session
    # CPython itself ignores SIGPIPE (13) and SIGXFSZ (25); 32 and 33 belong to the C library.
    assert ignored & ~(0b11 << 31) == 1 << 12 | 1 << 24
    assert blocked == []
    assert set(fds) <= {"0", "1", "2", "3"}, "only the listing itself is open besides"
    assert stdin == ""


# -- nobody survives --------------------------------------------------------------------------


@pytest.mark.parametrize("repetition", range(3))
def test_worker_dies_with_a_killed_host(make_run: MakeRun, repetition: int) -> None:
    run = make_run(*misbehaving("hangs"))
    host = run.start()
    live = run.live()
    run.wait_for_output("ready")
    host.kill()
    wait_until(lambda: not is_running(live.worker.pid), what="the worker's death")
    assert not run.attempt.exit.exists()


def test_host_killed_at_any_moment_leaves_no_worker_and_no_lock(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for number in range(12):
        run = make_run(*misbehaving("hangs"), directory=tmp_path / str(number))
        host = run.start()
        # Twelve moments from before the claim to after live.json.
        with contextlib.suppress(subprocess.TimeoutExpired):
            host.wait(0.012 * number)
        host.kill()
        host.wait(PATIENCE_S)
        wait_until(functools.partial(has_no_processes, run), what="the worker's death")
        kill_leftovers(run.attempt, run.spec.run_id, run.spec.attempt)
        assert not [group for group in groups_of(run) if group.exists()]


def test_children_in_own_sessions_are_gone_after_a_normal_exit(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("forks", 6, "leave"))
    record = run.run()
    children = pids_in(run.log("stdout"), "child")
    assert len(children) == 6
    assert record.exit_code == 0
    assert record.swept_processes == 6
    assert not [pid for pid in children if is_running(pid)]


def test_children_in_own_sessions_are_gone_after_a_stop(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("forks", 6))
    run.start()
    children = pids_in(run.wait_for_output("ready"), "child")
    assert run.ask("status")["processes"] == 7
    run.ask("stop")
    record = run.exit()
    assert (record.stop_reason, record.signal) == ("user_cancel", signal.SIGTERM)
    assert record.swept_processes == 6
    assert not [pid for pid in children if is_running(pid)]


def test_children_left_by_a_killed_host_are_found_and_killed(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("forks", 6))
    host = run.start()
    children = pids_in(run.wait_for_output("ready"), "child")
    files, attempt = run.attempt, run.spec.attempt
    assert kill_leftovers(files, run.spec.run_id, attempt) == 0, "the host lives"
    host.kill()
    host.wait(PATIENCE_S)
    assert kill_leftovers(files, run.spec.run_id, attempt) >= 6
    assert not [pid for pid in children if is_running(pid)]
    assert kill_leftovers(files, run.spec.run_id, attempt) == 0


def test_without_control_groups_the_sweep_finds_everyone_too(
    make_run: MakeRun, host_without_groups: tuple[str, ...]
) -> None:
    run = make_run(*misbehaving("forks", 6))
    run.start(host_without_groups)
    children = pids_in(run.wait_for_output("ready"), "child")
    assert run.live().containment == "subreaper"
    assert run.ask("status")["processes"] == 7
    run.ask("stop")
    assert run.exit().swept_processes == 6
    assert not [pid for pid in children if is_running(pid)]


def test_without_control_groups_a_fork_bomb_is_swept_too(
    make_run: MakeRun, host_without_groups: tuple[str, ...]
) -> None:
    run = make_run(*misbehaving("fork_bomb", 1500), max_processes=50)
    run.start(host_without_groups)
    record = run.exit()
    assert (record.stop_reason, record.signal) == ("process_limit", signal.SIGKILL)
    assert record.swept_processes >= 50
    assert not processes_of(run)


def test_zombies_do_not_hold_up_the_end(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("zombie", 3))
    run.start()
    run.wait_for_output("ready")
    run.ask("stop")
    assert run.exit().signal == signal.SIGTERM


def test_fork_bomb_is_contained_and_swept(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("fork_bomb", 1500), max_processes=50)
    record = run.run()
    assert record.stop_reason == "process_limit"
    assert record.was_killed
    assert record.signal == signal.SIGKILL
    assert not processes_of(run)


# -- stopping and pausing ---------------------------------------------------------------------


def test_deaf_worker_is_killed_after_its_grace(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"))
    run.start()
    run.wait_for_output("ready")
    reply = run.ask("stop", reason="user_cancel", grace_s=0.5)
    assert reply["ok"]
    record = run.exit()
    assert (record.stop_reason, record.was_killed, record.signal) == ("user_cancel", True, 9)


def test_stop_is_idempotent_and_only_gets_sooner(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"))
    run.start()
    run.wait_for_output("ready")
    assert run.ask("stop", grace_s=60)["grace_s"] == pytest.approx(60, abs=1)
    assert run.ask("stop", grace_s=100)["grace_s"] < 60
    assert run.ask("status")["stopping"]
    assert not run.ask("pause")["ok"]
    assert run.ask("stop", grace_s=0.1, reason="other")["grace_s"] == pytest.approx(0.1, abs=0.1)
    record = run.exit()
    assert (record.stop_reason, record.was_killed) == ("user_cancel", True)


def test_stopped_process_wakes_up_to_the_stop(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("forks", 0))
    run.start()
    run.wait_for_output("ready")
    os.kill(run.live().worker.pid, signal.SIGSTOP)
    wait_until(lambda: run.ask("status")["state"] == "T", what="the stopped state")
    run.ask("stop")
    record = run.exit()
    assert (record.signal, record.was_killed) == (signal.SIGTERM, False)


def test_foreign_worker_is_paused_and_resumed_by_signals(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("forks", 2))
    run.start()
    children = pids_in(run.wait_for_output("ready"), "child")
    everyone = [run.live().worker.pid, *children]
    assert run.ask("pause") == {"ok": True}
    wait_until(lambda: {state(pid) for pid in everyone} == {"T"}, what="all stopped")
    assert run.ask("status")["paused"]
    assert run.ask("resume") == {"ok": True}
    wait_until(lambda: {state(pid) for pid in everyone} == {"S"}, what="all running")
    assert not run.ask("status")["paused"]
    assert not run.ask("send", line={"command": "reset"})["ok"]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_commands_reach_the_worker_on_stdin(make_run: MakeRun) -> None:
    run = make_run(*script(COMMANDED), control="stdin")
    run.start()
    run.wait_for_output("ready")
    assert run.ask("pause")["ok"]
    assert run.ask("status")["paused"]
    assert run.ask("resume")["ok"]
    assert run.ask("send", line={"command": "reset", "seed": 7})["ok"]
    assert run.ask("stop", reason="user_cancel")["ok"]
    record = run.exit()
    assert (record.exit_code, record.stop_reason, record.was_killed) == (0, "user_cancel", False)
    lines = [line[4:] for line in run.log("stdout").splitlines() if line.startswith("got ")]
    assert [json.loads(line) for line in lines] == [
        {"command": "pause"},
        {"command": "resume"},
        {"command": "reset", "seed": 7},
        {"command": "stop", "reason": "user_cancel", "grace_s": 5.0},
    ]


def test_stop_leaves_the_children_of_a_commanded_worker_alone_while_it_saves(
    make_run: MakeRun,
) -> None:
    code = """
import os, signal, sys, time
child = os.fork()
if child == 0:
    time.sleep(60)
signal.signal(signal.SIGTERM, lambda *_: None)
print("ready", flush=True)
sys.stdin.readline()
time.sleep(0.2)
sys.exit(40 if os.waitpid(child, os.WNOHANG) == (0, 0) else 41)
"""
    run = make_run(*script(code), control="stdin")
    run.start()
    run.wait_for_output("ready")
    run.ask("stop")
    record = run.exit()
    assert (record.exit_code, record.swept_processes) == (40, 1)


def test_worker_that_reads_no_commands_blocks_nobody(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"), control="stdin")
    run.start()
    run.wait_for_output("ready")
    replies = [run.ask("send", line={"text": "x" * 200_000}) for _ in range(8)]
    assert replies[0]["ok"]
    assert not replies[-1]["ok"]
    assert "full" in replies[-1]["error"]
    assert run.ask("stop", grace_s=0)["ok"]
    assert run.exit().was_killed


def test_terminated_host_stops_its_worker_and_records_it(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("forks", 1))
    host = run.start()
    run.wait_for_output("ready")
    host.send_signal(signal.SIGHUP)
    assert run.ask("status")["ok"], "SIGHUP is ignored"
    assert not run.ask("status")["stopping"]
    host.terminate()
    record = run.exit()
    assert (record.stop_reason, record.signal) == ("host_terminated", signal.SIGTERM)
    assert host.wait(PATIENCE_S) == 0


def test_control_socket_is_private_survives_bad_clients_and_is_removed(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"))
    run.start()
    run.live()
    path = Path(run.spec.control_socket)
    assert path.stat().st_mode & 0o777 == 0o600
    idle = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    for client in idle:
        client.connect(str(path))
    idle[0].sendall(b"garbage\n\xff\n{}\n")
    idle[1].sendall(b'{"command":')
    with socket.socket(socket.AF_UNIX) as endless:
        endless.connect(str(path))
        with pytest.raises(OSError):
            while True:
                endless.sendall(b"x" * 100_000)
    assert not run.ask("explode")["ok"]
    status = run.ask("status")
    assert status["ok"]
    assert status["pid"] == run.live().worker.pid
    assert status["uptime_s"] > 0
    assert status["memory_mb"] > 1
    run.ask("stop", grace_s=0)
    run.exit()
    for client in idle:
        client.close()
    wait_until(lambda: not path.exists(), what="the socket's removal")


# -- limits -----------------------------------------------------------------------------------


def test_memory_limit_ends_the_run(make_run: MakeRun) -> None:
    record = make_run(*misbehaving("eats_memory", 3000), memory_mb=150).run()
    assert (record.stop_reason, record.signal, record.was_killed) == ("memory_limit", 9, True)
    assert 150 < record.max_rss_mb < 3000


def sharing_memory(own_mb: int) -> tuple[str, ...]:
    """200 MB that nine processes share, and some more in each of the eight children."""
    return script(
        "import os, signal\n"
        "shared = bytearray(b'x') * (200 << 20)\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        f"        own = bytearray(b'x') * ({own_mb} << 20)\n"
        "        signal.pause()\n"
        "print('sharing', flush=True)\n"
        "signal.pause()\n"
    )


def test_memory_that_processes_share_counts_once(make_run: MakeRun) -> None:
    run = make_run(*sharing_memory(0), memory_mb=600)  # resident memory, added up: 1,800 MB
    run.start()
    run.wait_for_output("sharing")
    assert run.ask("status")["processes"] == 9
    # While one is being started, those read before and after it share with different numbers.
    wait_until(lambda: run.ask("status")["memory_mb"] > 200, what="all of its memory")
    assert run.ask("status")["memory_mb"] < 400
    # By then it has been held to its limit several times.
    wait_until(lambda: run.ask("status")["uptime_s"] > 2, what="a few looks at its memory")
    run.ask("stop")
    record = run.exit()
    assert record.stop_reason == "user_cancel"
    assert 200 < record.max_rss_mb < 400


def test_memory_that_each_process_has_for_itself_counts_in_full(make_run: MakeRun) -> None:
    record = make_run(*sharing_memory(100), memory_mb=600).run()
    assert (record.stop_reason, record.was_killed) == ("memory_limit", True)
    assert record.max_rss_mb > 600


def test_time_limit_lets_a_well_behaved_worker_end_by_itself(make_run: MakeRun) -> None:
    record = make_run(*misbehaving("forks", 0), max_duration_s=0.5).run()
    assert (record.stop_reason, record.signal, record.was_killed) == ("time_limit", 15, False)
    assert record.finished_at - record.started_at > 0.4


def test_time_limit_kills_a_deaf_worker(make_run: MakeRun) -> None:
    record = make_run(*misbehaving("hangs"), max_duration_s=0.5, grace_s=0.3).run()
    assert (record.stop_reason, record.signal, record.was_killed) == ("time_limit", 9, True)


# -- output -----------------------------------------------------------------------------------


def test_flood_is_kept_bounded_and_blocks_nobody(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("floods", 60), log_max_bytes=5_000_000, log_backups=2)
    run.start()
    assert run.ask("status")["ok"], "control works during the flood"
    record = run.exit()
    assert record.exit_code == 0
    files = sorted(run.files.logs.glob("worker.stdout.log*"))
    assert [file.name[-6:] for file in files] == ["ut.log", ".log.1", ".log.2"]
    assert all(file.stat().st_size <= 5_000_000 for file in files)
    assert all(file.read_bytes().endswith(b"x\n") for file in files)


def test_whole_output_is_in_the_logs_before_the_exit_is_recorded(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("floods", 10, "stderr"))
    record = run.run()
    assert len(run.log("stderr")) == 10_000_000
    assert record.stderr_tail == ("x" * 99,) * 20


@pytest.mark.parametrize("events", [False, True])
def test_garbage_is_logged_as_it_is(make_run: MakeRun, events: bool) -> None:
    run = make_run(*misbehaving("garbage"), stdout_events=events)
    assert run.run().exit_code == 0
    log = run.files.log("worker", "stdout").read_bytes()
    assert log.endswith(b"no newline at the end")
    assert len(log) > 300_000
    if events:
        # Of all that, two lines are events; the numbers are ours.
        assert [(event["type"], event["seq"]) for event in run.events()] == [
            ("step", 0),
            ("heartbeat", 1),
        ]


def test_overlong_lines_are_skipped_and_the_events_between_them_kept(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("long_lines", 3), stdout_events=True)
    assert run.run().exit_code == 0
    assert [event["step"] for event in run.events()] == [0, 1, 2, 3]
    assert '"oversized_lines": 3' in run.attempt.host_log.read_text()
    assert len(run.log("stdout")) > 9_000_000


def test_secret_is_in_no_file_of_the_run(make_run: MakeRun) -> None:
    run = make_run(
        *misbehaving("prints_secret", "CANARY"), secrets={"CANARY": SECRET}, stdout_events=True
    )
    record = run.run()
    assert record.exit_code == 1
    assert record.stderr_tail[-1] == "RuntimeError: cannot log in with ***"
    assert "key=*** again ******" in run.log("stdout")
    assert "split ***" in run.log("stdout")
    assert [event["payload"] for event in run.events()] == [{"key": "***"}]
    for path in run.files.directory.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_shared_memory_of_the_run_is_unlinked(make_run: MakeRun) -> None:
    prefix = f"mosaic.test.{os.getpid()}."
    run = make_run(*misbehaving("leaks_shm", prefix, 3), shm_prefixes=(prefix,))
    run.run()
    assert run.log("stdout").count(prefix) == 3
    assert not list(Path("/dev/shm").glob(f"{prefix}*"))


# -- events on stdout -------------------------------------------------------------------------


def test_printed_events_are_all_in_the_journal_with_contiguous_numbers(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("stdout_events", 20_000), stdout_events=True)
    assert run.run().exit_code == 0
    events = run.events()
    assert [event["seq"] for event in events] == list(range(len(events)))
    types = [event["type"] for event in events]
    assert types[:2] == [EventType.WORKER_REGISTERED, EventType.RUN_STARTED]
    assert types[-1] == EventType.RUN_COMPLETED
    assert types.count(EventType.STEP) == 20_000
    assert types.count(EventType.EPISODE) == 2_000
    assert all(isinstance(event["timestamp"], float) for event in events)
    assert "an ordinary line of text" in run.log("stdout")
    assert run.log("stdout").count("\n") == len(events) + 1


def test_second_attempt_continues_the_numbers_after_a_torn_line(make_run: MakeRun) -> None:
    first = make_run(*misbehaving("stdout_events", 10), stdout_events=True)
    first.run()
    written = len(first.events())
    with first.files.journal.open("ab") as journal:
        journal.write(b'{"type":"step","se')
    second = make_run(*misbehaving("stdout_events", 10), stdout_events=True, attempt=2)
    second.run()
    lines = first.files.journal.read_bytes().splitlines()
    assert lines[written] == b'{"type":"step","se'
    sound = lines[:written] + lines[written + 1 :]
    assert [json.loads(line)["seq"] for line in sound] == list(range(2 * written))


def test_step_limit_stops_the_run(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("stdout_events", 100_000, 0.002), stdout_events=True, max_steps=50)
    record = run.run()
    assert (record.stop_reason, record.was_killed) == ("max_steps", False)
    steps = [event for event in run.events() if event["type"] == EventType.STEP]
    assert 50 <= len(steps) < 100_000


# -- a full disk ------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take every last byte of the file system."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (65_536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_exit_on_a_full_disk_is_recorded_once_there_is_room(
    make_run: MakeRun, small_disk: Path
) -> None:
    run = make_run(*script(COMMANDED), control="stdin", directory=small_disk / "run")
    host = run.start()
    live = run.live()
    run.wait_for_output("ready")
    filler = fill(small_disk)
    run.ask("stop")
    wait_until(lambda: not is_running(live.worker.pid), what="the worker's end")
    assert run.ask("status")["state"] == "", "the host still answers"
    with pytest.raises(subprocess.TimeoutExpired):
        host.wait(1.5)
    assert not run.attempt.exit.exists()
    filler.unlink()
    record = run.exit()
    assert (record.exit_code, record.stop_reason) == (0, "user_cancel")
    assert host.wait(PATIENCE_S) == 0


def test_log_on_a_full_disk_loses_bytes_but_never_blocks_the_worker(
    make_run: MakeRun, small_disk: Path
) -> None:
    code = "import sys\nsys.stdout.write('x' * 5_000_000)\nprint('\\nready', file=sys.stderr)"
    run = make_run(*script(code), directory=small_disk / "run")
    run.start()
    # The log alone fills the disk; the exit is recorded when somebody makes room.
    wait_until(lambda: run.live().worker, what="the worker")
    log = run.files.log("worker", "stdout")
    wait_until(lambda: log.exists() and log.stat().st_size > 900_000, what="the full disk")
    wait_until(lambda: not is_running(run.live().worker.pid), what="the worker's end")
    log.unlink()
    record = run.exit()
    assert record.exit_code == 0
    assert record.stderr_tail == ("ready",)


def test_events_on_a_full_disk_wait_and_none_is_lost(make_run: MakeRun, small_disk: Path) -> None:
    run = make_run(
        *misbehaving("stdout_events", 3000),
        directory=small_disk / "run",
        stdout_events=True,
        log_max_bytes=10_000,
        log_backups=0,
    )
    fill(small_disk).rename(small_disk / "run.filler")
    filler = small_disk / "run.filler"
    # Just enough for the attempt's own files to begin with.
    with filler.open("ab") as file:
        file.truncate(filler.stat().st_size - 64 * 1024)
    run.start()
    wait_until(lambda: run.ask("status")["waiting_for_disk"], what="the journal to wait")
    assert not run.attempt.exit.exists()
    filler.unlink()
    assert run.exit().exit_code == 0
    events = run.events()
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert sum(event["type"] == EventType.STEP for event in events) == 3000


# -- our own faults ---------------------------------------------------------------------------


def test_fault_of_the_host_itself_ends_the_run_and_is_recorded(make_run: MakeRun) -> None:
    code = f"""
import sys
sys.path.append({str(SOURCE)!r})
from mosaic.runhost.launch import main
from mosaic.runhost.supervised_run import SupervisedRun
def status(self):
    raise RuntimeError("a fault of ours")
SupervisedRun.status = status
sys.exit(main())
"""
    run = make_run(*misbehaving("forks", 2))
    run.start((sys.executable, "-I", "-S", "-c", code))
    children = pids_in(run.wait_for_output("ready"), "child")
    with pytest.raises(json.JSONDecodeError):
        run.ask("status")
    record = run.exit()
    assert (record.stop_reason, record.signal) == ("host_failed", signal.SIGKILL)
    assert record.error == "The run host failed: a fault of ours"
    assert "Traceback" in run.attempt.host_log.read_text()
    assert not [pid for pid in children if is_running(pid)]


def test_run_deleted_while_it_runs_does_not_leave_its_host_behind(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("stdout_events", 1000, 0.01), stdout_events=True)
    host = run.start()
    run.live()

    def is_deleted() -> bool:  # the worker goes on writing meanwhile
        shutil.rmtree(run.files.directory, ignore_errors=True)
        return not run.files.directory.exists()

    wait_until(is_deleted, what="the folder to be gone")
    run.ask("stop", grace_s=0)
    assert host.wait(PATIENCE_S) == 0


# -- cost -------------------------------------------------------------------------------------


def test_the_host_stays_small(make_run: MakeRun) -> None:
    run = make_run(*misbehaving("hangs"))
    host = run.start()
    live = run.live()
    status = Path(f"/proc/{host.pid}/status").read_text()
    resident_kb = int(status.split("VmRSS:")[1].split()[0])
    assert resident_kb < 25_000
    assert live.to_dict()["host"]["pid"] == host.pid
