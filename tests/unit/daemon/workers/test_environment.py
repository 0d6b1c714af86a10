"""Which variables a worker sees."""

from __future__ import annotations

from typing import Any

from mosaic.contracts import worker_environment as variables
from mosaic.daemon.launch.command import resolve_command, worker_environment
from mosaic.daemon.workers.environment import inherited_environment, passed_secrets
from tests.worker_samples import SDK, KnownWorkers, entry, submission

DAEMON = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C",
    "https_proxy": "http://proxy",
    "HTTPS_PROXY": "http://proxy",
    "CUDA_HOME": "/cuda",
    "PYTHONPATH": "/daemon/only",
    "WANDB_API_KEY": "canary-daemon",
    "NVIDIA_API_KEY": "canary-nvidia",
    "MOSAIC_HOME": "/mosaic",
    "EDITOR": "vi",
    "DATASETS": "/data",
}


def environment(daemon: dict[str, str] | None = None, **fields: Any) -> dict[str, str]:
    workers = KnownWorkers(entry(), entry("other", python="/o/python", path_dirs=("/src",)))
    config = submission(fields.pop("entry_point", "sample"), **fields)
    return worker_environment(
        config,
        resolve_command(config, workers),
        gpu_slots=(1, 3),
        contract={variables.RUN_ID: "RUN", variables.JOURNAL: "/events.jsonl"},
        daemon_environment=DAEMON if daemon is None else daemon,
    )


def test_only_listed_variables_of_the_daemon_are_inherited() -> None:
    assert set(inherited_environment(DAEMON)) == {
        "PATH", "HOME", "LC_ALL", "https_proxy", "HTTPS_PROXY", "CUDA_HOME",
    }  # fmt: skip


def test_a_person_can_pass_more_but_never_mosaics_own() -> None:
    daemon = {**DAEMON, "MOSAIC_PASS_ENV": "DATASETS, EDITOR MOSAIC_HOME"}
    inherited = inherited_environment(daemon)
    assert inherited["DATASETS"] == "/data" and inherited["EDITOR"] == "vi"
    assert not any(name.startswith("MOSAIC_") for name in inherited)


def test_secrets_are_passed_only_when_listed_and_only_as_secrets() -> None:
    assert passed_secrets(DAEMON) == {}
    daemon = {**DAEMON, "MOSAIC_PASS_ENV": "WANDB_API_KEY,UNSET_TOKEN,DATASETS"}
    assert passed_secrets(daemon) == {"WANDB_API_KEY": "canary-daemon"}
    assert "canary-daemon" not in environment(daemon).values()


def test_threads_follow_the_cpus_unless_the_user_says_otherwise() -> None:
    built = environment(environment={"OMP_NUM_THREADS": "7"})
    assert built["OMP_NUM_THREADS"] == "7"
    assert built["MKL_NUM_THREADS"] == built["OPENBLAS_NUM_THREADS"] == "2"


def test_gpus_are_exactly_those_of_the_queue() -> None:
    assert environment(environment={"CUDA_VISIBLE_DEVICES": "0"})["CUDA_VISIBLE_DEVICES"] == "1,3"
    assert environment()["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_the_users_variables_and_the_contract_arrive() -> None:
    built = environment(environment={"MY_FLAG": "1", "PATH": "/mine"})
    assert (built["MY_FLAG"], built["PATH"]) == ("1", "/mine")
    assert built[variables.RUN_ID] == "RUN"
    assert built["PYTHONUNBUFFERED"] == "1"


def test_references_to_secrets_are_left_out() -> None:
    reference = "secret://01ARZ3NDEKTSV4RRFFQ69G5FAV/A_TOKEN"
    assert "A_TOKEN" not in environment(environment={"A_TOKEN": reference})


def test_a_proxy_with_a_password_is_passed_as_a_secret() -> None:
    daemon = {**DAEMON, "https_proxy": "http://me:canary-proxy@proxy:8080"}
    assert "https_proxy" not in inherited_environment(daemon)
    assert passed_secrets(daemon) == {"https_proxy": "http://me:canary-proxy@proxy:8080"}


def test_names_in_the_list_of_secrets_are_passed_as_secrets_only() -> None:
    daemon = {**DAEMON, "MOSAIC_PASS_ENV": "DATASETS", "MOSAIC_SECRET_ENV": "DATASETS"}
    assert "DATASETS" not in inherited_environment(daemon)
    assert passed_secrets(daemon) == {"DATASETS": "/data"}


def test_the_python_path_starts_with_the_workers_folders() -> None:
    built = environment(entry_point="other", environment={"PYTHONPATH": "/users"})
    assert built["PYTHONPATH"] == f"/src:{SDK}:/users"
    assert environment()["PYTHONPATH"] == ""
