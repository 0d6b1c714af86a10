"""Whether a warm start can work is known before anything is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from cleanrl_worker.checkpoint_check import check_checkpoint
from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from mosaic.errors import MosaicError, WorkerError
from mosaic.worker.config_check import answer
from tests.small_trainings import train_in_process

SMALL = {"total_timesteps": 64, "num_envs": 2, "num_steps": 32, "num_minibatches": 2, "threads": 1}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    train_in_process("ppo", {"env_id": "CartPole-v1", **SMALL}, str(folder), False)
    found = find_checkpoint(folder)
    assert found is not None
    return found


def config(checkpoint: Path, **changes: Any) -> dict[str, Any]:
    found = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000, **changes}
    parameters = found.pop("algo_params", {})
    return {**found, "extras": {"warm_start_path": str(checkpoint), "algo_params": parameters}}


def refusal(config: dict[str, Any]) -> MosaicError:
    with pytest.raises(MosaicError) as caught:
        check_checkpoint(config)
    return caught.value


def test_the_same_training_may_begin_with_it(checkpoint: Path) -> None:
    check_checkpoint(config(checkpoint))
    check_checkpoint(config(checkpoint, algo_params={"learning_rate": 0.001}))
    check_checkpoint(config(checkpoint, env_id="CartPole-v0"))  # the same spaces
    assert answer(check_checkpoint, config(checkpoint)) == {}


def test_other_spaces_are_named(checkpoint: Path) -> None:
    error = refusal(config(checkpoint, env_id="Acrobot-v1"))
    assert "CartPole-v1" in error.message and "4 numbers" in error.message
    assert "Acrobot-v1 are 6 numbers" in error.message and "CartPole-v1" in error.hint
    assert error.details["field"] == "extras.warm_start_path"


def test_another_algorithm_is_named(checkpoint: Path) -> None:
    error = refusal(config(checkpoint, algo="dqn"))
    assert "trained by ppo, not by dqn" in error.message


def test_another_network_is_named(checkpoint: Path) -> None:
    folder = checkpoint.parent.parent.parent.parent / "mlp"
    train_in_process(
        "ppo", {"env_id": "CartPole-v1", **SMALL, "network": "mlp"}, str(folder), False
    )
    other = find_checkpoint(folder)
    assert other is not None
    error = refusal(config(other, algo_params={"network": "towers"}))
    assert "network mlp, not with towers" in error.message


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    error = refusal(config(tmp_path / "ppo.cleanrl_model"))
    assert "ppo.cleanrl_model" in error.message


def test_an_environment_of_ones_own_is_left_to_the_loader(checkpoint: Path) -> None:
    check_checkpoint(config(checkpoint, env_id="my.module:Mine-v0"))


def test_weights_that_do_not_fit_are_one_sentence(checkpoint: Path) -> None:
    import torch
    from torch import nn

    with pytest.raises(WorkerError) as caught:
        ModelFile(nn.Linear(6, 3)).load({"weight": torch.zeros(3, 4), "bias": torch.zeros(3)})
    assert "its weight is 3×4, and 3×6 is needed here" in caught.value.message
    assert "\n" not in caught.value.message


def test_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, cleanrl_worker.checkpoint_check\n"
        "assert not {'torch', 'numpy', 'gymnasium'} & set(sys.modules), 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
