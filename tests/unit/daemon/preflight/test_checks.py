"""Checks before a run is accepted, as far as they need no process."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.launch.command import resolve_command
from mosaic.daemon.preflight import checks
from mosaic.daemon.preflight.checks import (
    PreflightResult,
    Subject,
    raise_first_failure,
    run_preflight,
)
from mosaic.errors import (
    ConfigError,
    DependencyError,
    DiskSpaceError,
    GpuError,
    InterpreterError,
    MosaicError,
)
from mosaic.paths import Home
from tests.worker_samples import KnownWorkers, entry, submission

MACHINE = Capacity(4, 8000, (0,))
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["env_id"],
    "properties": {"env_id": {"type": "string"}, "seed": {"type": "integer", "minimum": 0}},
}


def subject(tmp_path: Path, capabilities: Any = None, known: Any = None, **fields: Any) -> Subject:
    workers = KnownWorkers(known or entry(python=sys.executable, capabilities=capabilities))
    workers.python = sys.executable
    config = submission(**fields)
    return Subject(config, resolve_command(config, workers), MACHINE, Home(tmp_path))


def failure(results: list[PreflightResult]) -> MosaicError:
    with pytest.raises(MosaicError) as caught:
        raise_first_failure(results)
    assert caught.value.message
    return caught.value


def test_our_own_interpreter_passes(tmp_path: Path) -> None:
    (result,) = checks.check_interpreter(subject(tmp_path))
    assert result.ok and "Python 3" in result.message


def test_a_missing_interpreter_is_named(tmp_path: Path) -> None:
    config = {"entry_point": "/no/such/python", "worker": {"module": "sample_pack.cli"}}
    error = failure(checks.check_interpreter(subject(tmp_path, **config)))
    assert isinstance(error, InterpreterError)
    assert "/no/such/python" in error.message and error.hint


def test_a_broken_worker_is_refused_with_its_reason(tmp_path: Path) -> None:
    broken = entry(error="ModuleNotFoundError: No module named 'torch'", python=sys.executable)
    error = failure(checks.check_worker_import(subject(tmp_path, known=broken)))
    assert isinstance(error, DependencyError)
    assert "torch" in error.message


def test_a_missing_script_is_refused_by_its_field(tmp_path: Path) -> None:
    config = {"entry_point": "python", "worker": {"script": str(tmp_path / "no.py")}}
    error = failure(checks.check_worker_import(subject(tmp_path, **config)))
    assert isinstance(error, ConfigError)
    assert error.details["field"] == "metadata.worker.script"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, "metadata.worker.config"),
        ({"env_id": 3}, "metadata.worker.config.env_id"),
        ({"env_id": "x", "seed": -1}, "metadata.worker.config.seed"),
        ({"env_id": "x", "sed": 1}, "metadata.worker.config.sed"),
    ],
)
def test_a_wrong_worker_config_is_refused_by_its_field(
    tmp_path: Path, config: dict[str, Any], field: str
) -> None:
    capabilities = WorkerCapabilities("sample", config_schema=SCHEMA)
    found = checks.check_worker_config(subject(tmp_path, capabilities, worker={"config": config}))
    error = failure(found)
    assert isinstance(error, ConfigError)
    assert error.details["field"] == field


def test_a_right_worker_config_passes(tmp_path: Path) -> None:
    capabilities = WorkerCapabilities("sample", config_schema=SCHEMA)
    worker = {"config": {"env_id": "CartPole-v1", "seed": 1}}
    (result,) = checks.check_worker_config(subject(tmp_path, capabilities, worker=worker))
    assert result.ok


def test_what_is_filled_in_at_launch_may_be_missing(tmp_path: Path) -> None:
    schema = {"required": ["run_id"], "properties": {"run_id": {"type": "string"}}}
    capabilities = WorkerCapabilities("sample", config_schema=schema)
    (result,) = checks.check_worker_config(subject(tmp_path, capabilities, worker={"config": {}}))
    assert result.ok


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        ({"cpus": 5, "memory_mb": 512}, "resources.cpus"),
        ({"cpus": 1, "memory_mb": 8001}, "resources.memory_mb"),
    ],
)
def test_a_run_larger_than_the_machine_is_refused_by_its_field(
    tmp_path: Path, resources: dict[str, int], field: str
) -> None:
    error = failure(checks.check_machine_size(subject(tmp_path, resources=resources)))
    assert isinstance(error, ConfigError)
    assert error.details["field"] == field
    assert "this machine has" in error.message


def test_an_expectation_beyond_the_machine_is_only_a_warning(tmp_path: Path) -> None:
    resources = {"cpus": 1, "expected_memory_mb": 8001}
    results = checks.check_machine_size(subject(tmp_path, resources=resources))
    assert [result.ok for result in results] == [True, False]
    assert not any(result.is_fatal for result in results)
    assert "usually needs 8001 MB" in results[1].message


def gpu_run(requested: int, mandatory: bool) -> dict[str, Any]:
    request = {"requested": requested, "mandatory": mandatory}
    return {"resources": {"cpus": 1, "memory_mb": 512, "gpus": request}}


def test_missing_mandatory_gpus_are_refused_with_how_many_there_are(tmp_path: Path) -> None:
    error = failure(checks.check_gpus(subject(tmp_path, **gpu_run(2, True))))
    assert isinstance(error, GpuError)
    assert "needs 2 GPU(s); this machine has 1" in error.message
    assert error.details["gpus_present"] == 1


def test_missing_optional_gpus_are_only_a_warning(tmp_path: Path) -> None:
    (result,) = checks.check_gpus(subject(tmp_path, **gpu_run(2, False)))
    assert not result.ok and not result.is_fatal
    raise_first_failure([result])


def test_a_worker_that_needs_a_gpu_must_ask_for_one(tmp_path: Path) -> None:
    capabilities = WorkerCapabilities("sample", requires_gpu=True)
    error = failure(checks.check_gpus(subject(tmp_path, capabilities)))
    assert isinstance(error, GpuError)
    assert error.hint == "set resources.gpus.requested to 1"
    (result,) = checks.check_gpus(subject(tmp_path, capabilities, **gpu_run(1, False)))
    assert result.ok


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=150_000_000))
    error = failure(checks.check_disk_space(subject(tmp_path)))
    assert isinstance(error, DiskSpaceError)
    assert error.details == {"check": "disk space", "free_mb": 150, "needed_mb": 200}
    monkeypatch.setenv("MOSAIC_MIN_FREE_MB", "100")
    assert checks.check_disk_space(subject(tmp_path))[0].ok


def test_readiness_is_judged_in_the_environment_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = (
        ReadinessCheck("torch", "import:torch", "pip install torch"),
        ReadinessCheck("dataset", "env:DATASET_DIR", "set DATASET_DIR"),
        ReadinessCheck("wandb", "env:WANDB_API_KEY", "give a key", required=False),
        ReadinessCheck("git", "command:no-such-program", "install it"),
    )
    known = entry(
        python=sys.executable,
        capabilities=WorkerCapabilities("sample", readiness_checks=wanted),
        readiness=(CheckResult("torch", True, "torch is there"),),
    )
    monkeypatch.setenv("PATH", "")
    found = checks.check_readiness(
        subject(tmp_path, known=known, environment={"DATASET_DIR": "/data"})
    )
    assert [(result.check, result.ok) for result in found] == [
        ("torch", True),
        ("dataset", True),
        ("wandb", False),
        ("git", False),
    ]
    assert isinstance(failure(found), DependencyError)
    assert [result.is_fatal for result in found] == [False, False, False, True]


async def test_all_checks_run_and_report_in_a_fixed_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capabilities = WorkerCapabilities("sample", config_schema=SCHEMA)
    about = subject(tmp_path, capabilities, resources={"cpus": 9, "memory_mb": 512})
    results = await run_preflight(about.config, about.command, about.capacity, about.home)
    assert [result.check for result in results] == [
        "interpreter",
        "worker",
        "worker config",
        "resources",
        "gpu",
        "disk space",
    ]
    assert failure(results).details["field"] == "metadata.worker.config"
