"""How much a run will write, judged by earlier runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.contracts.capabilities import Lane
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.preflight.disk_need import (
    BYTES_PER_STREAMED_STEP,
    MAX_SIMILAR_RUNS,
    PastRun,
    PlannedLength,
    disk_need,
    planned_length,
    similar_runs,
)
from mosaic.paths import Home
from tests.daemon_harness import run_document
from tests.registry_samples import made_home, new_run


def config(**changes: Any) -> Any:
    return parse_run_config(run_document(**changes))


def test_what_grows_is_scaled_and_the_rest_is_not() -> None:
    past = [PastRun(steps=100, episodes=5, growing_bytes=1000, other_bytes=50)]
    need = disk_need(PlannedLength(steps=1000), past, None)
    assert need is not None
    assert (need.bytes, need.basis) == (10_050, "judging by 1 earlier run")


def test_the_hungriest_of_the_earlier_runs_counts() -> None:
    past = [PastRun(100, 5, 1000, 50), PastRun(100, 5, 3000, 10)]
    need = disk_need(PlannedLength(steps=100), past, None)
    assert need is not None and need.bytes == 3010 and "2 earlier runs" in need.basis


def test_episodes_where_no_steps_are_planned_and_else_as_much_as_last_time() -> None:
    past = [PastRun(steps=0, episodes=10, growing_bytes=1000, other_bytes=0)]
    need = disk_need(PlannedLength(episodes=30), past, None)
    assert need is not None and need.bytes == 3000
    need = disk_need(PlannedLength(), past, None)
    assert need is not None and need.bytes == 1000


def test_without_a_past_only_streamed_steps_can_be_judged() -> None:
    need = disk_need(PlannedLength(steps=10), [], Lane.TELEMETRY)
    assert need is not None and need.bytes == 10 * BYTES_PER_STREAMED_STEP
    assert disk_need(PlannedLength(steps=10), [], Lane.ANALYTICS) is None
    assert disk_need(PlannedLength(steps=10), [], None) is None
    assert disk_need(PlannedLength(episodes=10), [], Lane.TELEMETRY) is None


@pytest.mark.parametrize("value", [0, -5, "many", None, True, float("inf"), 1e300, [], {}])
def test_nonsense_in_a_config_says_nothing(value: Any) -> None:
    settings = {"total_timesteps": value, "episodes": value}
    about = SimpleNamespace(
        worker=SimpleNamespace(config=settings), schedule=SimpleNamespace(max_steps=None)
    )
    assert planned_length(about) == PlannedLength()  # type: ignore[arg-type]


def test_the_smaller_limit_counts() -> None:
    about = config(config={"total_timesteps": 1e6}, schedule={"max_steps": 500})
    assert planned_length(about) == PlannedLength(500, 3)


def past(home: Home, settings: dict[str, Any], **fields: Any) -> RunRecord:
    record = new_run().record
    home.config(record.run_id).write_text(
        json.dumps({"metadata": {"worker": {"config": settings}}})
    )
    folder = home.run(record.run_id).directory
    for relative, size in {
        "events.jsonl.gz": 100,
        "telemetry.sqlite": 200,
        "recordings/attempt-1.rec": 300,
        "logs/w.stdout.log": 400,
        "outputs/tb/events.out.tfevents.1": 500,
        "outputs/model.bin": 7,
        "analytics.json": 3,
    }.items():
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        (folder / relative).write_bytes(bytes(size))
    values = {"state": RunState.TERM, "outcome": Outcome.SUCCEEDED, "progress": Progress(20)}
    return replace(record, **{**values, **fields})


def test_only_runs_set_up_alike_that_succeeded_are_asked(tmp_path: Path) -> None:
    home = made_home(tmp_path)
    alike = past(home, {"algo": "ppo", "seed": 9})
    records = [
        past(home, {"algo": "dqn"}),
        past(home, {"algo": "ppo", "extras": {"mode": "policy_eval"}}),
        past(home, {"algo": "ppo"}, outcome=Outcome.FAILED),
        alike,
    ]
    damaged = past(home, {"algo": "ppo"})
    home.config(damaged.run_id).write_text("{")
    found = similar_runs(config(config={"algo": "ppo"}), home, [damaged, *records])
    assert found == [PastRun(steps=20, episodes=0, growing_bytes=1500, other_bytes=10)]


def test_a_long_past_costs_no_more_than_a_short_one(tmp_path: Path) -> None:
    home = made_home(tmp_path)
    records = [past(home, {"algo": "ppo"}) for _ in range(MAX_SIMILAR_RUNS + 3)]
    assert len(similar_runs(config(config={"algo": "ppo"}), home, records)) == MAX_SIMILAR_RUNS
