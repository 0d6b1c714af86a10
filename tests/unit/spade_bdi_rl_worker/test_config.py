"""What a run of the BDI worker can be told, and how mistakes are named."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.bundles import needed_venvs
from mosaic.contracts.learner import TrainRequest, extras_schemas, read_request
from mosaic.errors import ConfigError
from mosaic.worker import build_config
from spade_bdi_rl_worker import get_worker_metadata
from spade_bdi_rl_worker.catalogue import LEARNING, algorithm_catalogue, parameters_of
from spade_bdi_rl_worker.config import BdiWorkerConfig
from spade_bdi_rl_worker.learning.settings import ALGORITHMS, LearningSettings

TRAINING: dict[str, Any] = {
    "algo": "q_learning",
    "env_id": "FrozenLake-v1",
    "total_timesteps": 1000,
}


def config(extras: dict[str, Any] | None = None, **changes: Any) -> BdiWorkerConfig:
    return build_config(BdiWorkerConfig, {**TRAINING, "extras": extras or {}, **changes})


def test_the_worker_is_described_without_heavy_imports() -> None:
    code = (
        "import sys; from spade_bdi_rl_worker import get_worker_metadata as of;"
        "from spade_bdi_rl_worker.catalogue import algorithm_catalogue as algorithms;"
        "of(); algorithms();"
        "print(sorted({'numpy', 'gymnasium', 'spade', 'agentspeak'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_catalogue_has_every_algorithm_with_the_parameters_of_the_learning() -> None:
    found = {item.name: item for item in algorithm_catalogue()}
    assert set(found) == set(ALGORITHMS)
    known = {item.name: item.default for item in fields(LearningSettings)}
    del known["algorithm"]
    assert {name: schema["default"] for name, schema in LEARNING.items()} == known
    assert "trace_decay" in found["q_lambda"].parameters
    assert "trace_decay" not in found["sarsa"].parameters
    for item in found.values():
        assert item.worker == "bdi"
        LearningSettings(
            algorithm=item.name,  # type: ignore[arg-type]
            **{name: s["default"] for name, s in item.parameters.items() if name in LEARNING},
        )


def test_bounds_of_parameters_are_those_of_the_learning() -> None:
    for name, schema in LEARNING.items():
        for bound in ("minimum", "maximum"):
            LearningSettings(**{name: schema[bound]})


def test_a_config_of_the_front_end_is_read_and_keeps_its_defaults() -> None:
    request = TrainRequest(
        algo="sarsa",
        env_id="Taxi-v3",
        total_timesteps=5,
        parameters={"epsilon": 0.5},
        extras={"telemetry": "summary"},
    )
    found = build_config(BdiWorkerConfig, request.settings())
    assert found.mode == "train" and found.parameters == {"epsilon": 0.5}
    assert found.extra("telemetry") == "summary" and found.extra("sample_every") == 1000
    assert read_request(request.settings()) == request


def test_every_extra_says_what_it_means() -> None:
    schemas = extras_schemas(get_worker_metadata().config_schema)
    assert all(schema.get("description") for schema in schemas.values())
    assert {"warm_start_path", "checkpoint_path", "policy_path"} <= schemas.keys()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"algo": "q_learnin"}, "algo"),
        ({"env_id": None}, "env_id"),
        ({"total_timesteps": 0}, "total_timesteps"),
        ({"seed": -1}, "seed"),
        ({"extras": {"epsilom": 1}}, "extras.epsilom"),
        ({"extras": {"epsilon": 2}}, "extras.epsilon"),
        ({"extras": {"epsilon": "all"}}, "extras.epsilon"),
        ({"extras": {"trace_decay": 0.5}}, "extras.trace_decay"),
        ({"extras": {"algo_params": {"no": 1}}}, "extras.algo_params.no"),
        ({"extras": {"epsilon": 1, "algo_params": {"epsilon": 1}}}, "extras.algo_params.epsilon"),
        ({"extras": {"env_id": "Taxi-v3"}}, "extras.env_id"),
        ({"extras": {"telemetry": "loud"}}, "extras.telemetry"),
        ({"extras": {"mode": "resume_training"}}, "extras.checkpoint_path"),
        ({"extras": {"mode": "policy_eval", "policy_path": "/no"}}, "extras.policy_path"),
        ({"extras": {"mode": "policy_eval", "policy_path": "a\0b"}}, "extras.policy_path"),
        ({"extras": {"warm_start_path": "/no"}}, "extras.warm_start_path"),
        ({"extras": {"server": "https://x y"}}, "extras.server"),
        ({"extras": {"server_domain": "x.org"}}, "extras.server_domain"),
        ({"extras": {"server_port": 0}}, "extras.server_port"),
        ({"extras": {"password": "x"}}, "extras.password"),
        ({"extras": {"plan": "/no/plan.asl"}}, "extras.plan"),
        ({"extras": {"coach_plan": "/"}}, "extras.coach_plan"),
        ({"extras": {"agents": [{"name": "Big"}]}}, "extras.agents.0.name"),
        ({"extras": {"agents": [{"name": "coach"}]}}, "extras.agents.0.name"),
        ({"extras": {"agents": [{"name": "a", "role": "king"}]}}, "extras.agents.0.role"),
        ({"extras": {"agents": [{"name": "a", "rule": "x"}]}}, "extras.agents.0.rule"),
        ({"extras": {"agents": [{"name": "a", "plan": 3}]}}, "extras.agents.0.plan"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**changes)
    assert caught.value.details["field"] == field
    assert caught.value.hint


def test_a_plan_that_is_no_text_or_far_too_large_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.asl"
    for content in (b"\xff\xfe\x00", b" " * 1_000_001):
        plan.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            config({"plan": str(plan)})
        assert caught.value.details["field"] == "extras.plan"


@pytest.mark.parametrize(
    ("env_id", "venv"),
    [
        ("FrozenLake-v1", "spade_bdi_worker"),
        ("MiniGrid-Empty-5x5-v0", "spade_bdi_worker+minigrid"),
        ("BabyAI-GoToObj-v0", "spade_bdi_worker+minigrid"),
    ],
)
def test_a_run_needs_the_add_on_of_its_environment(env_id: str, venv: str) -> None:
    rules = get_worker_metadata().bundle_rules
    [need] = needed_venvs(rules, {**TRAINING, "env_id": env_id})
    assert need.name == venv


def test_parameters_of_no_algorithm_are_those_of_all() -> None:
    assert parameters_of("no such") == {}
    assert "trace_decay" in parameters_of(None)
