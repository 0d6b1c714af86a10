"""Searching logs through the daemon: from Python and from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.errors import RequestError, UnknownRunError
from tests.daemon_harness import DaemonHarness
from tests.waiting import PATIENCE_S, wait_until


def printing(daemon: DaemonHarness, *lines: str) -> str:
    program = "import sys\nfor line in sys.argv[1:]: print(line)\nprint('the end', file=sys.stderr)"
    run_id = daemon.submit(
        entry_point=sys.executable, arguments=["-c", program, *lines], run_name=lines[0]
    )
    daemon.wait_over(run_id)
    return run_id


def logs_command(daemon: DaemonHarness, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "logs", *words],
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


async def test_all_runs_newest_first_or_some_of_them(daemon: DaemonHarness) -> None:
    first = printing(daemon, "one", "loss NaN", "a" * 40)
    second = printing(daemon, "two", "fine", "loss nan")
    client = daemon.client

    matches = [*client.search_logs("loss nan", ignore_case=True)]
    assert [(match.run_id, match.stream, match.line_number) for match in matches] == [
        (second, "stdout", 3),
        (first, "stdout", 2),
    ]
    assert [match.line for match in client.search_logs("loss", [first])] == ["loss NaN"]
    assert [match.run_id for match in client.search_logs("the end", stream="stderr")] == [
        second,
        first,
    ]
    assert [*client.search_logs("the end", stream="stdout")] == []
    assert len([*client.search_logs("e", limit=2)]) == 2
    async with AsyncTrainerClient(daemon.home, autostart=False) as other:
        found = [match async for match in other.search_logs("^t.o$", is_regex=True)]
    assert [match.run_id for match in found] == [second]

    with pytest.raises(RequestError, match="no regular expression"):
        [*client.search_logs("(", is_regex=True)]
    with pytest.raises(RequestError, match="not one of"):
        [*client.search_logs("x", stream="both")]
    with pytest.raises(UnknownRunError):
        [*client.search_logs("x", ["01JQ0000000000000000000000"])]
    with pytest.raises(RequestError):
        client.search_logs("x", limit=-1)


def test_a_pattern_that_takes_for_ever_is_ended_while_the_daemon_serves_others(
    daemon: DaemonHarness,
) -> None:
    run_id = printing(daemon, "a" * 60 + "b")
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(lambda: [*daemon.client.search_logs("(a+)+$", is_regex=True)])
        wait_until(lambda: searches(daemon), what="the search to begin")
        answered = 0
        while not search.done():
            assert daemon.client.get_run(run_id).run_id == run_id
            answered += 1
        with pytest.raises(RequestError, match=f"too long on the stdout of run {run_id}"):
            search.result()
    assert answered > 10
    assert not searches(daemon)


def test_the_command_line_says_where(daemon: DaemonHarness) -> None:
    run_id = printing(daemon, "one", "loss \x1b[31mnan")
    done = logs_command(daemon, "--search", "LOSS", "-i")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{run_id} one stdout:2: loss \N{REPLACEMENT CHARACTER}[31mnan\n"
    done = logs_command(daemon, "latest", "--search", "o.e", "--regex", "--json")
    assert json.loads(done.stdout) == {
        "run_id": run_id,
        "stream": "stdout",
        "line_number": 1,
        "line": "one",
    }
    assert logs_command(daemon, "--search", "nowhere").returncode == 1
    assert "goes through whole logs" in logs_command(daemon, "-f", "--search", "x").stderr
    assert "Name one run" in logs_command(daemon).stderr
    assert logs_command(daemon, run_id, "--stderr").stdout == "the end\n"


def test_a_client_that_goes_away_ends_the_search(daemon: DaemonHarness) -> None:
    printing(daemon, *("x" * 100 for _ in range(500)))
    matches = daemon.client.search_logs("x", limit=500)
    next(matches)
    matches.close()
    wait_until(lambda: not searches(daemon), what="no search left")


def searches(daemon: DaemonHarness) -> list[int]:
    """The processes that search for this daemon."""
    return [pid for pid in daemon.processes() if b"log_search_process" in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
