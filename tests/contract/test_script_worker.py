"""The script worker keeps the worker contract."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mosaic.testing.worker_contract import WorkerContract
from mosaic.testing.worker_process import RUN_ID

SCRIPT = str(Path(__file__).parent / "watched_script.py")


def config(*arguments: str) -> dict[str, Any]:
    return {"command": [sys.executable, SCRIPT, *arguments]}


@pytest.fixture(autouse=True)
def _no_pipe_left() -> Iterator[None]:
    """The run host removes the bridge of a worker that was killed; these tests have none."""
    yield
    for pipe in Path("/dev/shm").glob(f"mosaic.{RUN_ID}.bridge-*"):
        owner = Path("/proc") / pipe.name.rpartition("-")[2]
        if not owner.exists():
            shutil.rmtree(pipe, ignore_errors=True)


class TestScriptWorker(WorkerContract):
    module = "mosaic.watch"
    tiny_config: ClassVar = config("3", "0")
    long_config: ClassVar = config("1000000", "0.01")
    crashing_config: ClassVar = config("3", "0", "fail")
