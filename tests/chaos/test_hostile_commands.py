"""The command line with configs and homes that cannot work: it says which, and loses nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main as cli_main
from mosaic.client.daemon_process import stop_daemon
from mosaic.paths import Home
from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon, python_run
from tests.chaos.figures import record
from tests.chaos.small_disk import fill, mounted_tmpfs
from tests.daemon_harness import run_document

pytestmark = pytest.mark.chaos


@dataclass(frozen=True)
class Answer:
    status: int
    output: str
    errors: str


def mosaic(home: Path, *arguments: str, stdin: str = "") -> Answer:
    return program("mosaic.cli", "--home", str(home), *arguments, stdin=stdin)


def mosaic_at_once(home: Path, *arguments: str) -> Answer:
    """The same without starting an interpreter for it; an exception that escapes fails the test."""
    raw = io.BytesIO(), io.BytesIO()
    output, errors = (io.TextIOWrapper(each, "utf-8", write_through=True) for each in raw)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = cli_main(["--home", str(home), *arguments])
    return Answer(status, *(each.getvalue().decode() for each in raw))


def foreground_daemon(home: Path) -> Answer:
    return program("mosaic.daemon", "--home", str(home))


def program(module: str, *arguments: str, stdin: str = "") -> Answer:
    variables = {k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}
    answer = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=stdin,
        env={**variables, "MOSAIC_MIN_FREE_MB": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Answer(answer.returncode, answer.stdout, answer.stderr)


def assert_clear_refusal(answer: Answer, *words: str) -> None:
    """It fails, names what is wrong, and shows no traceback to anybody."""
    assert answer.status not in (0, -6, -9, -11), answer
    assert "Traceback" not in answer.errors, answer.errors
    for word in words:
        assert word in answer.errors, f"{word!r} is missing in: {answer.errors[:2000]}"
    assert len(answer.errors) < 20_000


def document(**changes: Any) -> str:
    return json.dumps(run_document(**changes))


def changed(path: str, value: Any) -> str:
    config = run_document()
    *folders, name = path.split(".")
    place = config
    for folder in folders:
        place = place[folder]
    place[name] = value
    return json.dumps(config)


def nested(depth: int) -> str:
    return changed("metadata.ui", {"note": "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)


# The submitted text, and what the answer must name.
CONFIGS: dict[str, tuple[str, str]] = {
    "10 MB": (changed("metadata.ui", {"note": "x" * 10_000_000}), "limit"),
    "20 MB": (changed("metadata.ui", {"note": "x" * 20_000_000}), "limit"),
    "NaN": (document().replace('"cpus": 1', '"cpus": NaN'), "resources.cpus"),
    "infinite seed": (document().replace('"seed": 1', '"seed": Infinity'), "config.seed"),
    "text for a number": (changed("resources.cpus", "one"), "resources.cpus"),
    "no CPU": (changed("resources.cpus", 0), "resources.cpus"),
    "half a CPU": (changed("resources.cpus", 0.5), "resources.cpus"),
    "a million CPUs": (changed("resources.cpus", 4000), "resources.cpus"),
    "a number for text": (changed("run_name", 7), "run_name"),
    "null": (changed("environment", None), "environment"),
    "a number for a variable": (changed("environment.A", 1), "environment"),
    "unknown field": (changed("no_such_field", 1), "no_such_field"),
    "unknown field of the worker": (changed("metadata.worker.config.oops", 1), "oops"),
    "wrong type in the worker's config": (changed("metadata.worker.config.seed", "x"), "seed"),
    "unknown worker": (document(entry_point="no_such_worker"), "no_such_worker"),
    "missing interpreter": (
        document(entry_point="/no/such/python", arguments=["-c", "pass"]),
        "/no/such/python",
    ),
    "a folder as interpreter": (document(entry_point="/etc", arguments=["-c", "pass"]), "/etc"),
    "missing script": (
        document(entry_point="python", metadata={"worker": {"script": "/no/such/file.py"}}),
        "/no/such/file.py",
    ),
    "missing field": (json.dumps({"run_name": "x"}), "entry_point"),
    "a list": ("[]", "object"),
    "nothing": ("", "JSON"),
    "no JSON": ("{'run_name': 1}", "JSON"),
    "half a document": (document()[:-20], "JSON"),
    "lone surrogate": (document().replace('"test"', '"\\ud800"'), "run_name"),
    "NUL": (document().replace('"test"', '"a\\u0000b"'), "run_name"),
    "secret in the config": (changed("metadata.worker.config.api_key", "k-123456"), "api_key"),
    "reserved variable": (changed("environment.MOSAIC_RUN_ID", "x"), "MOSAIC_RUN_ID"),
    **{f"{depth} levels": (nested(depth), "nested") for depth in (70, 900, 985, 2000, 100_000)},
}


def test_impossible_configs_are_refused_by_name(tmp_path: Path) -> None:
    with chaos_daemon() as daemon:
        before = daemon.submit(**python_run("pass"))
        daemon.wait_over(before)
        for text, word in CONFIGS.values():
            path = tmp_path / "config.json"
            path.write_text(text)
            answer = mosaic_at_once(daemon.home.root, "submit", str(path))
            assert_clear_refusal(answer, word)
        assert_untouched(daemon, before)
        record(
            "input", f"{len(CONFIGS)} impossible configs at the command line: all refused by name"
        )


def assert_untouched(daemon: ChaosDaemon, run_id: str) -> None:
    assert [item.run_id for item in daemon.client.list_runs()] == [run_id]
    assert [path.name for path in daemon.home.runs.iterdir()] == [run_id]
    assert not daemon.logged("call.failed")


ARGUMENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "no such file": (("submit", "/no/such/config.json"), "/no/such/config.json"),
    "a folder as file": (("submit", "/etc"), "/etc"),
    "binary file": (("submit", sys.executable), "JSON"),
    "variable for a list": (("submit", "LIST", "--env", "A=b"), "environment"),
    "unset variable": (("submit", "SOUND", "--env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE"),
    "strange variable": (("submit", "SOUND", "--env", "A B=c"), "environment"),
    "unknown worker": (("run", "no_such_worker"), "no_such_worker"),
    "unknown setting": (("run", "baseline", "--set", "oops=1"), "oops"),
    "setting without value": (("run", "baseline", "--set", "seed"), "seed"),
    "wrong setting": (("run", "baseline", "--set", "seed=x"), "seed"),
    "negative CPUs": (("run", "baseline", "--set", "env_id=CartPole-v1", "--cpus", "-1"), "cpus"),
    "path as run": (("show", "../../etc/passwd"), "../../etc/passwd"),
    "unknown run": (("show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    "nothing as run": (("stop", ""), ""),
    "control characters as run": (("logs", "\x1b[31m"), "run"),
    "deletion without consent": (("delete", "--for-good", "*"), "--yes"),
    "all runs of a wildcard": (("delete", "--yes", "*"), "*"),
    "no command": (("no-such-command",), "no-such-command"),
}


def test_impossible_arguments_are_refused_by_name(tmp_path: Path) -> None:
    texts = {"LIST": json.dumps({**run_document(), "environment": []}), "SOUND": document()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with chaos_daemon() as daemon:
        before = daemon.submit(**python_run("pass"))
        daemon.wait_over(before)
        for arguments, word in ARGUMENTS.values():
            given = [str(tmp_path / item) if item in texts else item for item in arguments]
            answer = mosaic_at_once(daemon.home.root, *given)
            assert_clear_refusal(answer, word)
            assert "\x1b[31m" not in answer.errors
        assert_untouched(daemon, before)
        record("input", f"{len(ARGUMENTS)} impossible arguments at the command line: all refused")


@contextmanager
def home_with_one_run(root: Path) -> Iterator[tuple[Path, str]]:
    """A home whose daemon has stopped, and afterwards still knows the run."""
    answer = mosaic(root, "submit", "--wait", "-", stdin=document())
    assert answer.status == 0, answer
    (run_id,) = [path.name for path in Home(root).runs.iterdir()]
    assert stop_daemon(Home(root))
    try:
        yield root, run_id
        listed = json.loads(mosaic(root, "runs", "--json").output)
        assert [item["run_id"] for item in listed] == [run_id]
        assert [item["outcome"] for item in listed] == ["succeeded"]
    finally:
        stop_daemon(Home(root))


def test_read_only_home_is_refused_and_keeps_its_runs() -> None:
    with mounted_tmpfs("size=32m") as disk, home_with_one_run(disk / "home") as (root, run_id):
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        try:
            for arguments in (("runs",), ("show", run_id), ("submit", "-")):
                answer = mosaic(root, *arguments, stdin=document())
                assert_clear_refusal(answer, str(root))
            assert_clear_refusal(foreground_daemon(root), str(root))
        finally:
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def test_home_on_a_full_disk_is_refused_and_keeps_its_runs() -> None:
    with mounted_tmpfs("size=32m") as disk, home_with_one_run(disk / "home") as (root, run_id):
        filler = fill(disk)
        for arguments in (("runs",), ("show", run_id), ("submit", "-")):
            answer = mosaic(root, *arguments, stdin=document())
            assert_clear_refusal(answer, str(root))
        assert_clear_refusal(foreground_daemon(root), str(root))
        filler.unlink()
        record("input", "home on a read-only or a full disk: refused by name, its runs are kept")


def test_homes_that_cannot_be_are_refused_by_name() -> None:
    with tempfile.TemporaryDirectory(prefix="mosaic-homes-") as folder:
        file = Path(folder) / "file"
        file.write_text("not a folder")
        dangling = Path(folder) / "dangling"
        dangling.symlink_to(Path(folder) / "nowhere" / "at" / "all")
        homes = [file, file / "below", dangling, Path("/proc/no/home"), Path(folder) / ("x" * 300)]
        for home in homes:
            for arguments in (("runs",), ("daemon", "start")):
                assert_clear_refusal(mosaic(home, *arguments), str(home))
            assert_clear_refusal(foreground_daemon(home), str(home))
        assert file.read_text() == "not a folder"
        record("input", f"{len(homes)} homes that cannot be: refused by name")
