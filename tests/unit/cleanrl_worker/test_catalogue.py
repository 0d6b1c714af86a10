"""schemas.json, the catalogue made of it, and what the worker says about itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.catalogue import SCHEMAS_FILE, algorithm_catalogue, parameters_of
from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY, PLANNED_ALGORITHMS
from mosaic.contracts.capabilities import Lane
from mosaic.contracts.catalogue import AlgorithmInfo

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import algorithm_schemas  # noqa: E402


def test_schemas_are_current() -> None:
    assert SCHEMAS_FILE.read_text() == algorithm_schemas.schemas_text(), (
        "run `python tools/algorithm_schemas.py`"
    )


def test_every_algorithm_is_in_the_catalogue_and_planned_ones_say_so() -> None:
    found = {info.name: info for info in algorithm_catalogue()}
    assert [*found] == [*DEFAULT_ALGO_REGISTRY, *PLANNED_ALGORITHMS]
    assert {name for name, info in found.items() if info.is_available} == set(DEFAULT_ALGO_REGISTRY)
    assert found["ppo_atari"].parameters["env_id"]["default"] == "BreakoutNoFrameskip-v4"
    assert found["ppo_atari"].action_spaces == ("discrete",)
    assert all(info.worker == "cleanrl" for info in found.values())


def test_every_parameter_has_type_default_and_help() -> None:
    for info in algorithm_catalogue():
        for name, schema in info.parameters.items():
            where = f"{info.name}.{name}"
            assert schema.get("type") or schema.get("enum") or schema.get("anyOf"), where
            assert "default" in schema, where
            assert schema.get("description"), where


def test_parameters_of_no_algorithm_are_those_of_all() -> None:
    assert "buffer_size" not in parameters_of("ppo")
    assert "buffer_size" in parameters_of("dqn")
    assert {"buffer_size", "clip_coef"} <= set(parameters_of(None))


def test_algorithm_info_survives_json() -> None:
    for info in algorithm_catalogue():
        assert AlgorithmInfo.from_dict(json.loads(json.dumps(info.to_dict()))) == info


def test_capabilities_are_those_of_the_seed() -> None:
    capabilities = get_worker_metadata()
    assert capabilities.worker_type == "cleanrl"
    assert capabilities.supported_paradigms == ("sequential",)
    assert capabilities.env_families == (
        "gymnasium", "atari", "procgen", "mujoco", "dm_control", "minigrid", "babyai",
    )  # fmt: skip
    assert capabilities.action_spaces == ("discrete", "continuous")
    assert capabilities.observation_spaces == ("vector", "image")
    assert (capabilities.max_agents, capabilities.estimated_memory_mb) == (1, 512)
    assert capabilities.supports_checkpointing and capabilities.supports_policy_load
    assert capabilities.supports_resume and capabilities.supports_pause_resume
    assert not capabilities.requires_gpu
    assert capabilities.lane is Lane.ANALYTICS
    checks = {check.check: check.fix for check in capabilities.readiness_checks}
    assert set(checks) == {"import:torch", "import:gymnasium", "import:tyro", "import:safetensors"}
    assert set(checks.values()) == {'pip install "mosaic-rl[cleanrl]"'}
