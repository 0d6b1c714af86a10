"""Files that mean harm are refused with a sentence, in bounded time and memory.

Each is read in a process of its own, which must neither crash nor hang nor grow beyond the bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.hostile_files import (
    checkpoint_cases,
    log_cases,
    manifest_cases,
    sqlite_cases,
)
from tests.integration.hostile_files.case import Case
from tests.integration.hostile_files.manifest_cases import SECRET
from tests.waiting import PATIENCE_S

# By how much a reader may grow: a block of a recording takes up to twice its largest size.
MOST_MB = 300
CORE = [*sqlite_cases.CASES, *log_cases.CASES, *manifest_cases.CASES]
TORCH = checkpoint_cases.CASES


class ReaderProcess:
    def __init__(self, family: str) -> None:
        module = "tests.integration.hostile_files.reader_process"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, family],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self, reader: str, folder: Path) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"reader": reader, "folder": str(folder)}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def core() -> Iterator[ReaderProcess]:
    process = ReaderProcess("core")
    yield process
    process.close()


@pytest.fixture(scope="module")
def with_torch() -> Iterator[ReaderProcess]:
    process = ReaderProcess("torch")
    yield process
    process.close()


def names(cases: list[Case]) -> list[str]:
    found = [case.name for case in cases]
    assert len(set(found)) == len(found)
    return found


@pytest.mark.parametrize("case", CORE, ids=names(CORE))
def test_a_hostile_file_of_a_run(case: Case, core: ReaderProcess, tmp_path: Path) -> None:
    assert_is_contained(case, core, tmp_path)


@pytest.mark.parametrize("case", TORCH, ids=names(TORCH))
def test_a_hostile_checkpoint(case: Case, with_torch: ReaderProcess, tmp_path: Path) -> None:
    assert_is_contained(case, with_torch, tmp_path)


def assert_is_contained(case: Case, process: ReaderProcess, tmp_path: Path) -> None:
    folder = tmp_path / "read"
    folder.mkdir()
    case.build(folder)
    beside = contents(tmp_path, "outside")
    answer = process.read(case.reader, folder)
    assert answer["outcome"] == case.outcome, answer["said"]
    assert case.says in answer["said"]
    assert SECRET not in answer["said"]
    assert answer["grown_mb"] < MOST_MB
    assert list(tmp_path.iterdir()) == [folder], "nothing was left behind"
    assert contents(tmp_path, "outside") == beside


def contents(root: Path, part: str) -> dict[Path, bytes]:
    return {
        path: path.read_bytes() for path in root.rglob("*") if part in path.parts and path.is_file()
    }
