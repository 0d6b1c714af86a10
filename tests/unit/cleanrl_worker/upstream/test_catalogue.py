"""Upstream's scripts as algorithms that front ends can offer."""

from __future__ import annotations

import json
from pathlib import Path

from cleanrl_worker.upstream.catalogue import upstream_algorithms
from mosaic.contracts.catalogue import AlgorithmInfo
from tests.unit.cleanrl_worker.upstream.upstream_samples import ARGPARSE, TYRO, write_script


def test_scripts_of_both_generations_are_algorithms(tmp_path: Path) -> None:
    write_script(tmp_path, "ppo_procgen", TYRO)
    write_script(tmp_path, "dqn_atari", ARGPARSE)
    write_script(tmp_path, "setup", "print('no flags')\n")
    found = {info.name: info for info in upstream_algorithms(str(tmp_path), None)}
    assert sorted(found) == ["dqn_atari", "ppo_procgen"]
    new, old = found["ppo_procgen"], found["dqn_atari"]
    assert new.worker == "cleanrl"
    assert new.extras == {"source": "upstream", "upstream_path": str(tmp_path)}
    assert (new.default_env_id, old.default_env_id) == ("CartPole-v1", "CartPole-v1")
    assert "env_id" in old.parameters and "gym_id" not in old.parameters
    assert old.memory_mb > new.memory_mb, "what our own of that name needs for its replay"
    assert new.parameters["total_timesteps"]["default"] == 1_000_000
    assert new.parameters["kind"] == {"enum": ["a", "b"], "default": "a"}
    for info in found.values():
        assert AlgorithmInfo.from_dict(json.loads(json.dumps(info.to_dict()))).name == info.name
