"""The journal under real faults: kill -9, a full disk, forks, readers that leave or stall."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing.event_check import assert_valid_journal, parse_journal
from mosaic.testing.worker_process import clean_environment
from tests.waiting import PATIENCE_S, wait_until

SENDER = """
import sys, time
from pathlib import Path
from mosaic.worker.journal import Journal
journal = Journal(Path(sys.argv[1]))
print("ready", flush=True)
n = 0
while True:
    journal.append(f'"type":"metric","timestamp":{time.time()},"name":"n","value":{n},"step":{n}')
    n += 1
    if n % 100 == 0:
        time.sleep(0.001)
"""


def start(code: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=clean_environment({}), **options
    )


def finish(process: subprocess.Popen[bytes], timeout_s: float = PATIENCE_S) -> int:
    try:
        return process.wait(timeout_s)
    finally:
        process.kill()
        process.wait()


def is_longer(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size > size


def test_killed_writer_loses_no_written_line_and_the_next_continues(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    before = 0
    for _ in range(5):
        process = start(SENDER, str(path), stdout=subprocess.DEVNULL)
        try:
            wait_until(partial(is_longer, path, before + 100_000))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_S)
        before = path.stat().st_size
    lines = path.read_bytes().split(b"\n")
    seqs = []
    torn = 0
    for line in lines[:-1]:
        try:
            seqs.append(json.loads(line)["seq"])
        except ValueError:
            torn += 1
    assert torn <= 4, "only the end of each killed writer may be torn"
    # A number is used twice at most where a torn line had taken it.
    assert seqs == sorted(seqs) and len(set(seqs)) == len(seqs)
    assert seqs == list(range(len(seqs)))


def test_what_was_sent_reaches_the_disk_by_itself_and_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    code = """
import os, signal, sys, time
from pathlib import Path
from mosaic.worker.journal import Journal
journal = Journal(Path(sys.argv[1]))
for n in range(1000):
    journal.append(f'"n":{n}')
while Path(sys.argv[1]).read_bytes().count(b"\\n") < 1000:  # nobody flushes
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert finish(start(code, str(path))) == -signal.SIGKILL
    assert len(parse_journal(path.read_bytes())) == 1000


def test_real_file_size_limit_is_survived(tmp_path: Path) -> None:
    """EFBIG in the middle of a line, then room again: nothing lost, nothing torn."""
    path = tmp_path / "events.jsonl"
    code = """
import resource, sys, time
from pathlib import Path
from mosaic.worker.journal import Journal
journal = Journal(Path(sys.argv[1]))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (10_007, hard))
for n in range(5000):
    journal.append(f'"type":"metric","timestamp":1.0,"name":"n","value":{n},"step":{n}')
while Path(sys.argv[1]).stat().st_size < 10_007:
    time.sleep(0.01)
assert not journal.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert journal.close()
"""
    process = start(code, str(path), stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors.decode()
    events = parse_journal(path.read_bytes())
    assert_valid_journal(events)
    assert [event["step"] for event in events] == list(range(5000))


@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)"])
def test_forked_child_does_not_repeat_the_events_of_its_parent(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "events.jsonl"
    code = f"""
import os, sys, time
from pathlib import Path
from mosaic.worker.journal import Journal
journal = Journal(Path(sys.argv[1]))
for round in range(20):
    for n in range(500):
        journal.append(f'"type":"metric","timestamp":1.0,"name":"n","value":1,"step":{{n}}')
    pid = os.fork()
    if pid == 0:
        journal.append('"type":"metric","timestamp":1.0,"name":"child","value":1,"step":1')
        assert journal.flush()
        {ending}
    assert os.waitpid(pid, 0)[1] == 0
"""
    assert finish(start(code, str(path))) == 0
    events = parse_journal(path.read_bytes())
    assert_valid_journal(events)
    assert len(events) == 20 * 500
    assert {event["name"] for event in events} == {"n"}


def test_forked_child_of_a_worker_dies_of_sigterm(tmp_path: Path) -> None:
    code = """
import os, signal, sys, time
from mosaic.worker.control import Control, listen_to_signals
listen_to_signals(Control())
for _ in range(50):
    pid = os.fork()
    if pid == 0:
        time.sleep(20)
        os._exit(0)
    os.kill(pid, signal.SIGTERM)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != -signal.SIGTERM:
        sys.exit(1)
"""
    assert finish(start(code), timeout_s=20) == 0


def test_stalled_reader_of_stdout_holds_the_worker_but_not_its_memory(tmp_path: Path) -> None:
    code = """
import sys
from mosaic.worker import journal as module
module.MAX_PENDING_BYTES = 1_000_000
journal = module.Journal()
text = "x" * 1000
for n in range(10_000):
    journal.append(f'"n":{n},"text":"{text}"')
    if n % 100 == 0:
        print(n, file=sys.stderr, flush=True)
assert journal.close()
"""
    process = start(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    os.set_blocking(process.stderr.fileno(), False)
    progress = b""

    def has_stalled() -> bool:
        nonlocal progress
        more = process.stderr.read() or b""  # type: ignore[union-attr]
        progress += more
        return bool(progress) and not more

    try:
        wait_until(has_stalled)
        assert int(progress.split()[-1]) < 4000
        lines = process.stdout.read().splitlines()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    assert [json.loads(line)["n"] for line in lines] == list(range(10_000))
