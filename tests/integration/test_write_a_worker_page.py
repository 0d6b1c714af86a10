"""The page about writing a worker is true: its files run and pass the contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing.event_check import assert_valid_journal, parse_journal
from mosaic.testing.worker_process import clean_environment
from tests.waiting import PATIENCE_S

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-a-worker.md"
BLOCK = re.compile(r'^```\w+ title="(?P<name>[^"]+)"\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that a reader of the page would have."""
    root = tmp_path / "my-worker"
    for block in BLOCK.finditer(PAGE.read_text()):
        path = root / block["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block["text"])
    return root


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=clean_environment({"PYTHONPATH": str(folder), **variables}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_page_holds_every_file_it_lists(folder: Path) -> None:
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "my_worker/__init__.py",
        "my_worker/cli.py",
        "worker.toml",
        "pyproject.toml",
        "test_my_worker.py",
    }


def test_worker_takes_less_than_100_lines(folder: Path) -> None:
    files = (folder / "my_worker").glob("*.py")
    assert sum(len(path.read_text().splitlines()) for path in files) < 100


def test_it_describes_itself(folder: Path) -> None:
    done = run(folder, "-m", "my_worker.cli", "--describe")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert described["worker_type"] == "my_worker"
    assert described["config_schema"]["properties"]["episodes"]["default"] == 200


def test_dry_run_shows_the_command(folder: Path) -> None:
    done = run(folder, "-m", "my_worker.cli", "--set", "episodes=5", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "-m my_worker.cli --set episodes=5" in done.stdout


def test_it_learns_the_corridor(folder: Path) -> None:
    done = run(folder, "-m", "my_worker.cli", "--set", "episodes=60")
    assert done.returncode == 0, done.stderr
    events = parse_journal(done.stdout.encode())
    assert_valid_journal(events)
    lengths = [event["steps"] for event in events if event["type"] == "episode"]
    assert len(lengths) == 60
    assert sum(lengths[-20:]) < 20 * 14


def test_run_directory_gets_checkpoint_and_summary(folder: Path, tmp_path: Path) -> None:
    directory = tmp_path / "corridor"
    arguments = ["--set", "episodes=5", "--run-dir", str(directory), "--emit-summary"]
    done = run(folder, "-m", "my_worker.cli", *arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "completed"
    manifest = json.loads((directory / "analytics.json").read_text())
    assert [entry["path"] for entry in manifest["checkpoints"]] == ["outputs/values.json"]
    assert (directory / "outputs" / "values.json").is_file()


@pytest.mark.parametrize("file", ["worker.toml", "pyproject.toml"])
def test_both_announcements_lead_to_the_worker(folder: Path, file: str) -> None:
    data: dict[str, Any] = tomllib.loads((folder / file).read_text())
    if file == "worker.toml":
        name, target = data["name"], data["entry_point"]
    else:
        ((name, target),) = data["project"]["entry-points"]["mosaic.workers"].items()
    arguments = ["--path", str(folder), "--worker", f"{name}={target}"]
    done = run(folder, "-m", "mosaic.worker.discovery", *arguments)
    found = {answer["name"]: answer for answer in json.loads(done.stdout)}
    assert found["my_worker"]["error"] == ""
    assert found["my_worker"]["module"] == "my_worker.cli"


def test_its_contract_test_passes(folder: Path) -> None:
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_worker.py")
    assert done.returncode == 0, done.stdout
    assert "15 passed, 1 skipped" in done.stdout
