"""Workers are found in real interpreters, remembered, and asked again when they change."""

from __future__ import annotations

import os
import sys
import textwrap
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.daemon.launch.command import resolve_command
from mosaic.daemon.workers import catalog as worker_catalog
from mosaic.daemon.workers import discovery as worker_discovery
from mosaic.daemon.workers.catalog import WorkerCatalog
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.daemon.workers.interpreters import run_probe
from mosaic.errors import UnknownWorkerError
from mosaic.front.worker_manifests import add_manifest
from mosaic.paths import Home
from mosaic.processes import stat_fields
from tests.registry_samples import made_home
from tests.waiting import wait_until
from tests.worker_samples import submission

WORKER = """
from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities, WorkerMetadata
from mosaic_test_detail import VERSION

def get_worker_metadata():
    return WorkerCapabilities(
        worker_type="mine",
        metadata=WorkerMetadata("mine", VERSION),
        readiness_checks=(
            ReadinessCheck("json", "import:json", "impossible"),
            ReadinessCheck("missing", "import:no_such_module_at_all", "pip install it"),
        ),
        config_schema={"type": "object", "properties": {"seed": {"type": "integer"}}},
    )
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def make_worker(
    root: Path, name: str = "mine", source: str = WORKER, python: str | None = None
) -> Path:
    folder = root / f"{name}_folder"
    package = folder / f"{name}_pack"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(
        textwrap.dedent(source).replace("mosaic_test_detail", f"{name}_pack.detail")
    )
    (package / "detail.py").write_text("VERSION = '1'\n")
    (package / "cli.py").write_text("print('hello')\n")
    lines = [f'name = "{name}"', f'entry_point = "{name}_pack:get_worker_metadata"']
    if python:
        lines.append(f'python = "{python}"')
    (folder / "worker.toml").write_text("\n".join(lines))
    return folder


def refuse(*arguments: Any) -> Any:
    raise AssertionError("a process was started although nothing had changed")


def added(home: Home, folder: Path) -> WorkerEntry:
    name = add_manifest(home, folder).name
    return WorkerCatalog(home).resolve(name)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the files at every call."""
    monkeypatch.setattr(worker_catalog, "FRESH_S", 0.0)


def test_installed_workers_are_found(home: Home) -> None:
    entries = WorkerCatalog(home).entries()
    assert entries
    for entry in entries:
        assert entry.error == ""
        assert (entry.python, entry.source) == (sys.executable, "entry point")
        assert entry.capabilities is not None
        assert entry.capabilities.config_schema["type"] == "object"
        assert entry.module.startswith(entry.package)


def test_a_worker_with_a_manifest_is_found_with_its_readiness(home: Home, tmp_path: Path) -> None:
    folder = make_worker(tmp_path)
    entry = added(home, folder)
    assert entry.error == ""
    assert (entry.module, entry.python) == ("mine_pack.cli", sys.executable)
    assert entry.path_dirs == (str(folder),)
    assert entry.source == str(home.worker_manifests / "mine.toml")
    assert entry.capabilities is not None and entry.capabilities.worker_type == "mine"
    assert [(result.check, result.ok, result.fix) for result in entry.readiness] == [
        ("json", True, ""),
        ("missing", False, "pip install it"),
    ]


def test_a_warm_cache_starts_no_process(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hurried: None
) -> None:
    added(home, make_worker(tmp_path))
    monkeypatch.setattr(worker_discovery, "run_probe", refuse)
    catalog = WorkerCatalog(home)
    for _ in range(3):
        assert catalog.resolve("mine").capabilities is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda folder, home: (folder / "mine_pack" / "detail.py").write_text(
            "VERSION = 'second'\n"
        ),
        lambda folder, home: (folder / "mine_pack" / "__init__.py").write_text(
            (folder / "mine_pack" / "__init__.py").read_text().replace("VERSION)", "'second')")
        ),
    ],
    ids=["a module of the worker", "its package"],
)
def test_a_changed_worker_is_asked_again(
    home: Home, tmp_path: Path, hurried: None, change: Callable[[Path, Home], Any]
) -> None:
    folder = make_worker(tmp_path)
    add_manifest(home, folder)
    catalog = WorkerCatalog(home)
    before = catalog.resolve("mine").capabilities
    assert before is not None and before.metadata.version == "1"
    change(folder, home)
    after = catalog.resolve("mine").capabilities
    assert after is not None and after.metadata.version == "second"


def test_manifests_come_and_go_without_a_restart(home: Home, tmp_path: Path, hurried: None) -> None:
    catalog = WorkerCatalog(home)
    with pytest.raises(UnknownWorkerError, match="mine"):
        catalog.resolve("mine")
    add_manifest(home, make_worker(tmp_path))
    assert catalog.resolve("mine").error == ""
    (home.worker_manifests / "mine.toml").unlink()
    assert catalog.find("mine") is None


def test_refresh_asks_everybody_again(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_manifest(home, make_worker(tmp_path))
    catalog = WorkerCatalog(home)
    catalog.entries()
    asked = []
    real = run_probe

    def watched(command: Any, *rest: Any) -> Any:
        asked.append(command)
        return real(command, *rest)

    monkeypatch.setattr(worker_discovery, "run_probe", watched)
    catalog.entries(refresh=True)
    assert len(asked) == 2


def test_a_worker_in_another_interpreter_sees_mosaic_and_nothing_else_of_ours(
    home: Home, tmp_path: Path
) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False, symlinks=True)
    python = str(environment / "bin" / "python")
    source = WORKER + textwrap.dedent(
        """
        import importlib.util, sys
        assert sys.prefix == sys.argv[0] or "venv" in sys.prefix
        assert importlib.util.find_spec("grpc") is None
        """
    )
    entry = added(home, make_worker(tmp_path, source=source, python=python))
    assert entry.error == ""
    assert entry.python == python
    sdk = home.trainer / "sdk"
    assert os.listdir(sdk) == ["mosaic"]
    command = resolve_command(submission("mine"), WorkerCatalog(home))
    assert command.python == python
    assert command.path_dirs[-1] == str(sdk)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('not today')", "not today"),
        ("import no_such_module_at_all", "no_such_module_at_all"),
        ("import os; os._exit(7)", "7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "11"),
        ("def get_worker_metadata():\n    return 3\n", "int"),
        ("x = 1", "get_worker_metadata"),
    ],
)
def test_a_broken_worker_is_listed_with_its_reason_and_hurts_no_other(
    home: Home, tmp_path: Path, source: str, said: str
) -> None:
    add_manifest(home, make_worker(tmp_path))
    add_manifest(home, make_worker(tmp_path, "broken", source))
    catalog = WorkerCatalog(home)
    assert said in catalog.resolve("broken").error
    assert catalog.resolve("mine").error == ""


def test_a_worker_that_prints_is_understood_all_the_same(home: Home, tmp_path: Path) -> None:
    noise = "import os\nprint('hello')\nos.write(1, b'[1, 2]')\n"
    assert added(home, make_worker(tmp_path, source=noise + WORKER)).error == ""


def test_a_worker_that_hangs_is_given_up(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_discovery, "DISCOVERY_TIMEOUT_S", 1.5)
    marker = tmp_path / "pid"
    source = f"""
    import os, time
    open({str(marker)!r}, "w").write(str(os.getpid()))
    time.sleep(600)
    """
    entry = added(home, make_worker(tmp_path, source=source))
    assert "no answer within" in entry.error
    pid = int(marker.read_text())
    wait_until(lambda: (stat_fields(pid) or "Z")[0] == "Z", what="the hanging worker's end")


def test_a_failure_is_not_remembered_for_ever(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hurried: None
) -> None:
    flag = tmp_path / "flag"
    source = f"import pathlib\nassert pathlib.Path({str(flag)!r}).exists()\n" + WORKER
    folder = make_worker(tmp_path, source=source)
    add_manifest(home, folder)
    catalog = WorkerCatalog(home)
    assert "AssertionError" in catalog.resolve("mine").error
    flag.touch()
    assert catalog.resolve("mine").error, "asked again only after a while"
    assert WorkerCatalog(home).resolve("mine").error == "", "a new daemon asks again"
    monkeypatch.setattr(worker_catalog, "RETRY_S", 0.0)
    assert catalog.entries(refresh=True)
    assert catalog.resolve("mine").error == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = ", "TOML"),
        (b"\xff\xfe", "utf-8"),
        (b'name = "x"', "entry_point"),
        (b'name = "x"\nentry_point = "x:f"\npython = "/no/such/python"', "/no/such/python"),
    ],
)
def test_a_bad_manifest_is_an_entry_with_an_error(home: Home, content: bytes, said: str) -> None:
    (home.worker_manifests / "x.toml").write_bytes(content)
    entry = WorkerCatalog(home).resolve("x")
    assert said in entry.error
    assert entry.source.endswith("x.toml")


def test_an_old_interpreter_is_named_as_the_reason(home: Home, tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text(
        '#!/bin/sh\nif [ "$1" = -I ]; then echo python 3 9 2; exit 0; fi\n'
        'echo "SyntaxError: invalid syntax" >&2\nexit 1\n'
    )
    old.chmod(0o755)
    entry = added(home, make_worker(tmp_path, python=str(old)))
    assert "Python 3.9.2" in entry.error


def test_two_workers_of_one_name_do_not_hide_each_other(home: Home, tmp_path: Path) -> None:
    first = WorkerCatalog(home).entries()[0]
    add_manifest(home, make_worker(tmp_path, first.name))
    twins = [entry for entry in WorkerCatalog(home).entries() if entry.name == first.name]
    assert [bool(entry.error) for entry in twins] == [False, True]
    assert twins[0].source == "entry point"
    assert "taken" in twins[1].error


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 1}', '{"version": 1, "sources": 3}']
)
def test_a_damaged_cache_is_ignored(home: Home, content: str) -> None:
    home.worker_catalog.write_text(content)
    assert WorkerCatalog(home).entries()


def test_an_unknown_worker_is_answered_with_close_matches(home: Home, tmp_path: Path) -> None:
    add_manifest(home, make_worker(tmp_path, "gridworld"))
    with pytest.raises(UnknownWorkerError, match="gridwrld") as caught:
        WorkerCatalog(home).resolve("gridwrld")
    assert "did you mean gridworld?" in caught.value.hint
