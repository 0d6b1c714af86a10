"""The command line against the real daemon and the real worker, as a person or a script uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mosaic.client.daemon_process import living_daemon, stop_daemon
from mosaic.paths import Home
from mosaic.processes import send_signal
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.waiting import PATIENCE_S, wait_until

WORKER = run_document()["entry_point"]
SHORT = ("--set", "env_id=CartPole-v1", "--set", "episodes=20", "--seed", "1")
LONG = (
    *("--set", "env_id=CartPole-v1", "--set", "total_timesteps=1e8"),
    *("--set", "max_steps_per_second=2000"),
)


class Terminal:
    """Runs `mosaic` with the environment of one home; output is never a terminal."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = {**environment, "PYTHONWARNINGS": "error"}

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "mosaic.cli", *words],
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
            **{"stdout": subprocess.PIPE, **options},
        )

    def run(self, *words: str, status: int = 0, stdin: str | None = None) -> str:
        """Standard output; the test fails when the exit status is another."""
        process = self.start(*words, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL)
        out, err = process.communicate(stdin, timeout=PATIENCE_S)
        assert process.returncode == status, f"{words}: {process.returncode}\n{out}\n{err}"
        assert "Traceback" not in err
        assert "\x1b" not in out + err
        return out if status == 0 else out + err

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def mosaic(daemon: DaemonHarness) -> Terminal:
    return Terminal(daemon.environment)


@pytest.fixture(scope="module")
def finished(mosaic: Terminal) -> str:
    """The id of a run that has succeeded."""
    run_id: str = mosaic.json("run", WORKER, *SHORT, "--name", "finished")["run_id"]
    return run_id


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[tuple[Home, Terminal]]:
    """A home without daemon; whatever daemon a test starts there is stopped."""
    home = Home(tmp_path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}
    yield home, Terminal({**environment, "MOSAIC_HOME": str(tmp_path)})
    stop_daemon(home)
    if home.runtime.exists():
        home.runtime.rmdir()  # fails when a socket is left in it


# Groups


def test_the_name_of_a_group_means_its_runs_in_every_command(
    daemon: DaemonHarness, mosaic: Terminal, tmp_path: Path
) -> None:
    first = mosaic.json("run", WORKER, *SHORT, "--name", "ours-seed3")["run_id"]
    assert mosaic.json("show", "ours")["run_id"] == first
    assert [run["run_id"] for run in mosaic.json("runs", "--group", "ours")] == [first]
    assert mosaic.json("metrics", "ours") == mosaic.json("metrics", first)
    error = mosaic.run("eval", "ours", status=2)
    assert f"The run ours-seed3 ({first}) has no checkpoint" in error
    assert f"the worker {WORKER} saves none" in error

    second = mosaic.json("run", WORKER, *SHORT, "--name", "ours-seed4")["run_id"]
    both = [first, second]
    assert [run["run_id"] for run in mosaic.json("show", "ours")] == both
    assert [run.run_id for run in daemon.client.find_runs("ours")] == both
    assert daemon.client.find_run("ours-seed4").run_id == second
    for command in ("eval", "metrics", "replay", "logs", "events"):
        error = mosaic.run(command, "ours", status=2)
        assert "'ours' is a group of 2 runs" in error
        assert first in error and second in error
    out = ("--out", str(tmp_path / "tables"))
    assert [made["run_id"] for made in mosaic.json("export", "ours", "--to", "csv", *out)] == both
    assert mosaic.run("pin", "ours").count("pinned") == 2
    assert mosaic.run("unpin", "ours").count("unpinned") == 2
    assert mosaic.run("delete", "ours").count("moved") == 2
    assert mosaic.run("restore", "ours").count("restored") == 2


# Starting up


def test_help_needs_neither_grpc_nor_rich() -> None:
    code = (
        "import sys; from mosaic.cli.main import build_parser; build_parser().format_help(); "
        "print([name for name in ('grpc', 'google.protobuf', 'rich', 'asyncio') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (["runs"], []),
        (["watch", "--", "train"], ["mosaic.watch"]),
        (["train"], ["cleanrl_worker", "mosaic.watch"]),
        (["eval"], ["cleanrl_worker", "mosaic.watch"]),
    ],
)
def test_only_commands_that_have_flags_of_workers_ask_them(
    words: list[str], loaded: list[str]
) -> None:
    code = (
        "import sys; from mosaic.cli.main import build_parser; build_parser(sys.argv[1:]); "
        "print(*(name for name in ('torch', 'gymnasium', 'cleanrl_worker', 'mosaic.watch') "
        "if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.split() == loaded


# Submitting


def test_submit_prints_the_id_for_scripts(mosaic: Terminal, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(run_document(run_name="from a file")))
    run_id = mosaic.run("submit", str(config)).strip()
    assert mosaic.json("show", run_id)["run_name"] == "from a file"


def test_submit_reads_standard_input_and_waits(mosaic: Terminal) -> None:
    text = json.dumps(run_document(run_name="from stdin"))
    out = mosaic.run("submit", "-", "--wait", stdin=text)
    assert "succeeded: from stdin" in out


def test_submit_dry_run_shows_the_command_and_creates_nothing(mosaic: Terminal) -> None:
    before = len(mosaic.json("runs", "--all"))
    text = json.dumps(run_document())
    out = mosaic.run("submit", "-", "--dry-run", stdin=text)
    assert "--config" in out.splitlines()[0]
    assert "ok" in out
    assert len(mosaic.json("runs", "--all")) == before


def test_invalid_config_names_the_field(mosaic: Terminal) -> None:
    text = json.dumps(run_document(resources={"cpus": 0, "memory_mb": 512}))
    out = mosaic.run("submit", "-", status=2, stdin=text)
    assert "resources.cpus" in out


def test_environment_option_reaches_the_worker(mosaic: Terminal) -> None:
    code = "import os; print('value is', os.environ['GREETING'])"
    text = json.dumps(run_document(entry_point=sys.executable, arguments=["-c", code]))
    mosaic.run("submit", "-", "--yes", "--wait", "--env", "GREETING=hello", stdin=text)
    assert mosaic.run("logs", "latest", "--stdout") == "value is hello\n"


# Running


def test_run_follows_with_plain_lines_and_ends_with_a_summary(mosaic: Terminal) -> None:
    lines = mosaic.run("run", WORKER, *SHORT, "--name", "followed").splitlines()
    assert lines[0].startswith("run 01")
    assert lines[-1].startswith("succeeded: followed")
    assert "20/20 episodes" in lines[-1]
    assert any("starting" in line or "running" in line or "ready" in line for line in lines[1:-1])


def test_failed_run_shows_why_and_returns_1(mosaic: Terminal) -> None:
    out = mosaic.run("run", WORKER, "--set", "env_id=NoSuchEnv-v9", status=1)
    assert "failed: " in out
    assert "NoSuchEnv-v9" in out
    assert "hint:" in out
    assert "last lines of standard error" in out


def test_run_with_json_prints_the_record_only(mosaic: Terminal) -> None:
    record = mosaic.json("run", WORKER, *SHORT)
    assert record["outcome"] == "succeeded"
    assert record["progress"]["fraction"] == 1.0


def test_run_refuses_what_the_worker_does_not_know(mosaic: Terminal) -> None:
    out = mosaic.run("run", WORKER, "--set", "episodess=3", status=2)
    assert "did you mean 'episodes'?" in out
    assert "There is no worker" in mosaic.run("run", "nobody", status=4)


def test_canceled_run_returns_9_to_whoever_waits(mosaic: Terminal, daemon: DaemonHarness) -> None:
    waiting = mosaic.start("run", WORKER, *LONG, "--name", "to be stopped")
    wait_until(lambda: _state(daemon, "to be stopped") == "EXEC", what="the run to run")
    assert mosaic.run("stop", "to be stopped", "--grace", "5").startswith("canceled: to be")
    out, _ = waiting.communicate(timeout=PATIENCE_S)
    assert waiting.returncode == 9
    assert "canceled: to be stopped" in out
    assert "cannot be stopped" in mosaic.run("stop", "to be stopped", status=5)


def test_ctrl_c_detaches_and_the_run_goes_on(mosaic: Terminal, daemon: DaemonHarness) -> None:
    following = mosaic.start("run", WORKER, *LONG, "--name", "detached")
    assert following.stdout is not None
    following.stdout.readline()  # its id; the next line is from whoever follows it
    following.stdout.readline()
    wait_until(lambda: _state(daemon, "detached") == "EXEC", what="the run to run")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 130
    assert "the run goes on" in err
    assert "Traceback" not in err
    assert _state(daemon, "detached") == "EXEC"
    mosaic.run("pause", "detached")
    wait_until(lambda: _state(daemon, "detached") == "PAUSE", what="the pause")
    mosaic.run("unpause", "detached")
    mosaic.run("stop", "detached", "--no-wait")
    wait_until(lambda: _state(daemon, "detached") == "TERM", what="the end")


def _state(daemon: DaemonHarness, name: str) -> str | None:
    found = daemon.client.list_runs(contains=name)
    return found[0].state if found else None


# Looking


def test_runs_are_listed_filtered_and_limited(mosaic: Terminal, finished: str) -> None:
    assert finished in mosaic.run("runs", "--all")
    names = {run["run_name"] for run in mosaic.json("runs", "--contains", "finished")}
    assert names == {"finished"}
    assert len(mosaic.json("runs", "--limit", "1")) == 1
    assert mosaic.run("runs", "--state", "pause").strip() == "no runs"
    assert all(r["outcome"] == "succeeded" for r in mosaic.json("runs", "--outcome", "succeeded"))


def test_show_has_sections_and_all_of_them_as_json(mosaic: Terminal, finished: str) -> None:
    out = mosaic.run("show", finished[-8:])
    for part in ("finished", "Progress", "Files", "History", "TERM"):
        assert part in out
    record = mosaic.json("show", finished)
    assert Path(record["paths"]["journal"]).is_file()


def test_events_are_json_lines_of_the_chosen_type(mosaic: Terminal, finished: str) -> None:
    lines = mosaic.run("events", finished, "--type", "episode").splitlines()
    assert len(lines) == 20
    assert {json.loads(line)["type"] for line in lines} == {"episode"}


def test_metrics_are_listed_and_shown_as_curves(mosaic: Terminal, finished: str) -> None:
    listed = mosaic.json("metrics", finished)
    name = listed[0]["name"]
    assert name in mosaic.run("metrics", finished)
    (curve,) = mosaic.json("metrics", finished, name, "--points", "3")
    assert (curve["name"], len(curve["means"])) == (name, 3)
    assert sum(curve["counts"]) == curve["points"] == listed[0]["points"]
    (points,) = mosaic.json("metrics", finished, name, "--points", "0")
    assert points["counts"] == [1] * listed[0]["points"]
    shown = mosaic.run("metrics", finished, f"{name[:3]}*")
    assert name in shown
    assert "█" in shown


def test_a_metric_that_is_not_there_is_named(mosaic: Terminal, finished: str) -> None:
    told = mosaic.run("metrics", finished, "no such metric", status=2)
    assert "no metric 'no such metric'" in told


def test_reader_that_has_enough_causes_no_complaint(mosaic: Terminal, finished: str) -> None:
    process = mosaic.start("events", finished)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(100)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(PATIENCE_S)
    assert err == ""


def test_delete_asks_and_removes(mosaic: Terminal) -> None:
    run_id = mosaic.json("run", WORKER, *SHORT)["run_id"]
    assert "--yes" in mosaic.run("delete", "--for-good", run_id, status=5)
    assert mosaic.run("delete", "--for-good", run_id, "--yes").startswith("deleted ")
    assert "mosaic runs" in mosaic.run("show", run_id[-8:], status=4)


def test_one_bad_reference_does_not_spare_the_others(mosaic: Terminal) -> None:
    run_id = mosaic.json("run", WORKER, *SHORT)["run_id"]
    out = mosaic.run("delete", "nonsense", run_id, "--yes", status=4)
    assert "There is no run 'nonsense'" in out
    assert f"({run_id})" in out


def test_log_is_followed_through_the_death_of_the_daemon(
    fresh: tuple[Home, Terminal], tmp_path: Path
) -> None:
    home, mosaic = fresh
    code = (
        "import time\nfor n in range(60):\n    print('line', n, flush=True)\n    time.sleep(0.05)\n"
    )
    document = run_document(entry_point=sys.executable, arguments=["-u", "-c", code])
    run_id = mosaic.run("submit", "-", "--yes", stdin=json.dumps(document)).strip()
    output = tmp_path / "followed.txt"
    with output.open("wb") as file:
        following = mosaic.start("logs", "-f", "--stdout", run_id, stdout=file)
    wait_until(output.read_bytes, what="the first line")
    info = living_daemon(home)
    assert info is not None
    assert send_signal(info.identity, signal.SIGKILL)
    _, err = following.communicate(timeout=PATIENCE_S)
    assert output.read_text().splitlines() == [f"line {n}" for n in range(60)], err
    assert following.returncode == 0
    assert mosaic.json("show", run_id)["outcome"] == "succeeded"


# Workers, daemon, doctor


def test_workers_are_listed_added_and_removed(mosaic: Terminal, tmp_path: Path) -> None:
    listed = {worker["name"]: worker for worker in mosaic.json("workers")}
    assert listed[WORKER]["ready"]
    package = tmp_path / "odd_worker"
    package.mkdir()
    (package / "__init__.py").write_text(
        "def get_worker_metadata():\n"
        "    from mosaic.contracts.capabilities import WorkerCapabilities\n"
        "    return WorkerCapabilities('odd')\n"
    )
    (tmp_path / "worker.toml").write_text(
        'name = "odd"\nentry_point = "odd_worker:get_worker_metadata"\n'
    )
    mosaic.run("workers", "add", str(tmp_path))
    assert "odd" in mosaic.run("workers")
    mosaic.run("workers", "remove", "odd")
    assert "odd" not in mosaic.run("workers")
    assert "No worker called" in mosaic.run("workers", "remove", "odd", status=4)


def test_doctor_finds_the_machine_fit(mosaic: Terminal) -> None:
    report = mosaic.json("doctor")
    assert report["ok"]
    assert {"python", "home", "disk", "daemon", f"worker {WORKER}"} <= {
        check["check"] for check in report["checks"]
    }


def test_daemon_is_started_looked_at_and_stopped(fresh: tuple[Home, Terminal]) -> None:
    home, mosaic = fresh
    assert mosaic.run("daemon", "status", status=8).strip() == "not running"
    assert mosaic.run("daemon", "start").startswith("daemon started: pid ")
    info = living_daemon(home)
    assert info is not None
    assert mosaic.json("daemon", "status")["pid"] == info.identity.pid
    assert "was running" in mosaic.run("daemon", "start")
    assert "running already" in mosaic.run("daemon", "start", "--tcp", "127.0.0.1:0", status=3)
    assert mosaic.run("daemon", "stop").strip() == "daemon stopped"
    assert mosaic.run("daemon", "stop").strip() == "no daemon is running"


def test_many_first_commands_at_once_end_with_one_daemon(fresh: tuple[Home, Terminal]) -> None:
    home, mosaic = fresh
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: mosaic.run("runs"), range(6)))
    info = living_daemon(home)
    assert info is not None
    assert mosaic.json("daemon", "status")["pid"] == info.identity.pid
    assert _daemons_of(home) == [info.identity.pid]


def _daemons_of(home: Home) -> list[int]:
    wanted = [b"mosaic.daemon", os.fsencode(home.root)]
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if all(word in words for word in wanted):
                found.append(int(entry.name))
    return found


def test_draining_waits_for_the_runs(fresh: tuple[Home, Terminal]) -> None:
    _, mosaic = fresh
    run_id = mosaic.run("run", WORKER, *SHORT, "--detach").strip()
    assert mosaic.run("daemon", "stop", "--drain").splitlines()[-1] == "daemon stopped"
    assert mosaic.json("show", run_id)["outcome"] == "succeeded"


def test_killing_runs_stops_them_first(fresh: tuple[Home, Terminal]) -> None:
    _, mosaic = fresh
    run_id = mosaic.run("run", WORKER, *LONG, "--detach").strip()
    assert mosaic.run("daemon", "stop", "--kill-runs").strip() == "daemon stopped"
    assert mosaic.json("show", run_id)["outcome"] == "canceled"


def test_daemon_that_cannot_start_is_reported_with_its_own_words(
    fresh: tuple[Home, Terminal],
) -> None:
    home, mosaic = fresh
    home.create()
    home.daemon_lock.mkdir()
    out = mosaic.run("runs", status=8)
    assert "cannot be used" in out
    assert "daemon.stderr.log" in out


def test_tcp_is_open_with_the_token_only(fresh: tuple[Home, Terminal], tmp_path: Path) -> None:
    home, mosaic = fresh
    mosaic.run("daemon", "start", "--tcp", "127.0.0.1:0")
    info = living_daemon(home)
    assert info is not None
    address = next(a for a in info.addresses if not a.startswith("unix:"))
    assert home.daemon_token.stat().st_mode & 0o077 == 0
    elsewhere = Terminal({**mosaic.environment, "MOSAIC_ADDRESS": address})
    assert elsewhere.run("runs").strip() == "no runs"
    wrong = tmp_path / "wrong.token"
    wrong.write_text("wrong")
    elsewhere.environment["MOSAIC_DAEMON_TOKEN_FILE"] = str(wrong)
    assert "token" in elsewhere.run("runs", status=7)


def test_listening_for_other_machines_without_tls_is_refused(
    fresh: tuple[Home, Terminal],
) -> None:
    _, mosaic = fresh
    out = mosaic.run("daemon", "start", "--tcp", "0.0.0.0:0", status=8)
    assert "mutual TLS" in out
