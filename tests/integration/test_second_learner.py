"""A learner that is installed beside MOSAIC is trained with an option that only it knows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.front.worker_manifests import add_manifest
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.waiting import PATIENCE_S

PACKAGE = Path(__file__).resolve().parents[1] / "fixtures" / "second_learner"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        add_manifest(harness.home, PACKAGE)  # workers of a daemon see nobody's PYTHONPATH
        yield harness


def train(daemon: DaemonHarness, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "train", *words, "--json"],
        env={**daemon.environment, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def trained(daemon: DaemonHarness, *words: str) -> tuple[str, dict[str, Any]]:
    """Its id, and what the learner was told, when it has succeeded."""
    done = train(daemon, "corridor_sarsa", "Corridor-v0", "--detach", *words)
    assert done.returncode == 0, done.stderr
    run_id = json.loads(done.stdout)["run_id"]
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded"
    return run_id, record.config["metadata"]["worker"]["config"]["extras"]


def test_its_flag_takes_a_run_for_the_checkpoint_of_it(daemon: DaemonHarness) -> None:
    first, told = trained(daemon, "--curiosity", "0.5")
    assert told == {"curiosity": 0.5}
    _, told = trained(daemon, "--begin-from", first)
    table = Path(told.pop("begin_from"))
    assert told == {} and table.name == "table.json" and first in table.parts


def test_a_worker_that_lacks_the_option_refuses_it_by_name(daemon: DaemonHarness) -> None:
    done = train(daemon, "ppo", "CartPole-v1", "--begin-from", "latest")
    assert done.returncode != 0
    assert "The worker cleanrl has no option for --begin-from" in done.stdout + done.stderr
