"""Who a worker is: told by arguments, the daemon or its config, made up otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.hostile_text import is_run_id
from mosaic.errors import ConfigError
from mosaic.worker.assignment import new_run_id, read_assignment

FIRST, SECOND, THIRD = (f"01ARZ3NDEKTSV4RRFFQ69G5FA{letter}" for letter in "ABC")


def test_new_run_ids_are_ulids_that_sort_by_time() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert all(is_run_id(text) for text in ids)
    assert len(set(ids)) == 100
    assert [text[:6] for text in ids] == sorted(text[:6] for text in ids)


def test_alone_everything_is_made_up_and_nothing_is_on_disk() -> None:
    assignment = read_assignment({}, "sample")
    assert is_run_id(assignment.run_id)
    assert (assignment.agent_id, assignment.worker_id) == ("agent_0", "sample")
    assert assignment.directory is assignment.output_directory is assignment.journal is None
    assert assignment.max_steps is None and assignment.heartbeat_s == 30
    assert not assignment.has_control


def test_the_daemon_tells_everything() -> None:
    assignment = read_assignment(
        {
            "MOSAIC_RUN_ID": FIRST,
            "MOSAIC_RUN_DIR": "/runs/x",
            "MOSAIC_OUTPUT_DIR": "/runs/x/out",
            "MOSAIC_ATTEMPT": "2",
            "MOSAIC_JOURNAL": "/runs/x/events.jsonl",
            "MOSAIC_AGENT_ID": "a",
            "MOSAIC_WORKER_ID": "w",
            "MOSAIC_MAX_STEPS": "500",
            "MOSAIC_HEARTBEAT_S": "0.5",
            "MOSAIC_CONTROL": "stdin",
        },
        "sample",
        config={"run_id": SECOND, "agent_id": "b", "worker_id": "c"},
    )
    assert (assignment.run_id, assignment.agent_id, assignment.worker_id) == (FIRST, "a", "w")
    assert assignment.output_directory == Path("/runs/x/out")
    assert (assignment.attempt, assignment.max_steps, assignment.heartbeat_s) == (2, 500, 0.5)
    assert assignment.has_control


def test_argument_wins_over_variable_over_config() -> None:
    environ = {"MOSAIC_RUN_ID": SECOND}
    config = {"run_id": THIRD}
    assert read_assignment(environ, "s", run_id=FIRST, config=config).run_id == FIRST
    assert read_assignment(environ, "s", config=config).run_id == SECOND
    assert read_assignment({}, "s", config=config).run_id == THIRD


def test_outputs_go_below_the_run_directory_by_default(tmp_path: Path) -> None:
    assignment = read_assignment({}, "sample", run_dir=str(tmp_path))
    assert assignment.output_directory == tmp_path / "outputs"


@pytest.mark.parametrize("run_id", ["x", FIRST + "\n", "../../etc", FIRST.lower(), 5])
def test_anything_else_is_no_run_id(run_id: str) -> None:
    with pytest.raises(ConfigError, match="is not a run id"):
        read_assignment({}, "sample", config={"run_id": run_id})


def test_variable_that_is_no_number_is_named() -> None:
    with pytest.raises(ConfigError, match="MOSAIC_MAX_STEPS is 'many'"):
        read_assignment({"MOSAIC_MAX_STEPS": "many"}, "sample")
