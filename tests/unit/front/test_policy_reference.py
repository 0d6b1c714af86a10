"""Which checkpoint `mosaic eval` and `mosaic resume` mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import ConfigError, RequestError
from mosaic.front.references import find_policy, only_loader

RUN_ID = "01KATF461V3681NE4E0T3TX33Z"
RECORD = RunRecord(
    run_id=RUN_ID,
    run_name="a training",
    worker="learner",
    state=RunState.TERM,
    outcome=Outcome.SUCCEEDED,
    attempt=1,
    priority=0,
    created_at=0.0,
    updated_at=0.0,
    checkpoint_uri="runs/x/ppo.model",
    paths={"run_directory": "/home/of/run"},
)
SAVES_NONE = {
    "metadata": {"worker": {"config": {"extras": {"algo_params": {"save_model": False}}}}}
}


def worker(name: str, can_load: bool) -> WorkerInfo:
    capabilities = WorkerCapabilities(worker_type=name, supports_policy_load=can_load)
    return WorkerInfo(name, f"{name}.cli", "python", "here", "", capabilities, ())


class Client:
    def __init__(self, record: RunRecord = RECORD) -> None:
        self.record = record

    def list_runs(self, *, limit: int) -> list[RunRecord]:
        return [self.record]

    def get_run(self, run_id: str) -> RunRecord:
        assert run_id == RUN_ID
        return self.record

    def workers(self) -> list[WorkerInfo]:
        return [worker("player", False), worker("learner", True)]


def find(text: str, record: RunRecord = RECORD, name: str | None = None) -> Any:
    return find_policy(cast(Any, Client(record)), text, name)


def test_a_run_means_its_newest_checkpoint() -> None:
    found = find("latest")
    assert found.checkpoint == Path("/home/of/run/runs/x/ppo.model")
    assert (found.worker, found.label) == ("learner", "a training")


def test_a_file_is_loaded_by_the_worker_that_can(tmp_path: Path) -> None:
    path = tmp_path / "saved.model"
    path.touch()
    found = find(str(path))
    assert (found.worker, found.checkpoint, found.run) == ("learner", path, None)
    assert find(str(path), name="other").worker == "other"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outcome": Outcome.FAILED}, "ended before the first one"),
        ({"outcome": Outcome.SUCCEEDED}, "--set save_model=true"),
        ({"state": RunState.EXEC, "outcome": None}, "stop the run"),
        ({"capabilities": {"supports_checkpointing": False}}, "the worker learner saves none"),
        ({"config": SAVES_NONE}, "without save_model=false"),
        ({"config": SAVES_NONE, "state": RunState.EXEC, "outcome": None}, "told to save none"),
    ],
)
def test_a_run_without_checkpoint_is_refused_with_the_reason_and_what_to_do(
    changes: dict[str, Any], words: str
) -> None:
    able: dict[str, Any] = {"capabilities": {"supports_checkpointing": True}}
    with pytest.raises(ConfigError, match="no checkpoint") as caught:
        find("latest", replace(RECORD, checkpoint_uri="", **{**able, **changes}))
    assert words in caught.value.hint


def test_a_path_that_is_not_there_is_called_a_path() -> None:
    with pytest.raises(RequestError, match="no file"):
        find("some/where.model")


@pytest.mark.parametrize("able", [0, 2])
def test_without_exactly_one_able_worker_a_file_needs_a_name(able: int) -> None:
    workers = [worker(f"w{number}", number < able) for number in range(3)]
    with pytest.raises(RequestError):
        only_loader(workers, Path("saved.model"))


def test_a_file_belongs_to_the_worker_that_knows_files_like_it() -> None:
    tables, any_file = worker("tables", True), worker("any_file", True)
    assert tables.capabilities is not None
    knows = replace(tables.capabilities, checkpoint_suffixes=(".qtable",))
    workers = [replace(tables, capabilities=knows), any_file]
    assert only_loader(workers, Path("saved.qtable")) == "tables"
    assert only_loader(workers, Path("saved.model")) == "any_file"
    assert only_loader(workers, Path("folder")) == "any_file"
