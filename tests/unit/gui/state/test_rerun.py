"""Starting a run once more, and the command that does it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.errors import ConfigError, RequestError
from mosaic.front.training_config import Training, train_document
from mosaic.gui.state.rerun import (
    command_of,
    edit_target,
    first_training,
    policy_of,
    resume_config,
    same_config,
    was_cut_short,
)
from mosaic.gui.state.targets import Operation
from tests.unit.gui.run_samples import over, record

PPO = AlgorithmInfo(
    "ppo",
    "sample",
    "",
    default_env_id="CartPole-v1",
    cpus=2,
    memory_mb=2048,
    parameters={"total_timesteps": {"default": 500_000}},
)
PATHS = {"run_directory": "/home/runs/1", "config": "/home/configs/1.json"}

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def trained(**wishes: Any) -> dict[str, Any]:
    return train_document(Training(PPO, "CartPole-v1", **wishes))


def submitted(config: dict[str, Any]) -> RunRecord:
    return over(1, config=config, paths=PATHS)


def command(config: dict[str, Any]) -> str:
    return command_of(submitted(config), [PPO], None)


def test_a_training_is_its_train_command() -> None:
    made = trained(total_timesteps=1000, seed=3, parameters={"learning_rate": 2.5e-4})
    assert command(made) == (
        "mosaic train ppo CartPole-v1 --total-timesteps 1000 --seed 3 --set learning_rate=0.00025"
    )


def test_what_differs_from_the_usual_is_in_the_command() -> None:
    made = trained(seed=1, name="mine", cpus=4, retries=2, use_gpu=True, priority=5)
    words = shlex.split(command(made))
    for pair in (("--name", "mine"), ("--cpus", "4"), ("--retries", "2"), ("--priority", "5")):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert "--cuda" in words and "--memory-mb" not in words


def test_one_of_several_seeds_stays_one_of_several() -> None:
    assert "--seeds 2" in command(trained(seed=2, is_one_of_several=True))


def test_options_that_the_worker_has_flags_for_are_in_the_command() -> None:
    options = {
        "warm_start_path": {"type": "string", "x-flag": "--begin"},
        "notes": {"type": "string", "x-flag": "--words"},
    }
    schema = {"properties": {"extras": {"properties": options}}}
    made = trained(seed=1, extras={"warm_start_path": "/a b", "notes": "hello"})
    known = replace(submitted(made), capabilities={"config_schema": schema})
    words = shlex.split(command_of(known, [PPO], None))
    for pair in (("--begin", "/a b"), ("--words", "hello")):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert command(made) == "mosaic submit /home/configs/1.json"


@pytest.mark.parametrize(
    "config",
    [
        {**trained(seed=1), "schedule": {"max_steps": 5}},
        trained(seed=1, extras={"notes": "hello"}),
        {"entry_point": "elsewhere", "metadata": {}},
        {},
    ],
)
def test_what_no_option_can_say_is_submitted_as_a_file(config: dict[str, Any]) -> None:
    assert command(config) == "mosaic submit /home/configs/1.json"


def test_values_that_are_not_stored_are_taken_from_the_shell() -> None:
    config = trained(seed=1, environment={"B": f"secret://{RUN}/B", "SEED": "1", "A_KEY": ""})
    assert command(config) == "mosaic submit /home/configs/1.json --env B"


def test_another_home_is_in_the_command() -> None:
    made = command_of(submitted(trained(seed=1)), [PPO], Path("/my home"))
    assert made.startswith("mosaic --home '/my home' train ")


def test_the_same_again_is_the_same_config() -> None:
    config = trained(seed=1)
    assert same_config(submitted(config)) == config


def test_all_values_that_are_kept_nowhere_are_asked_for_at_once() -> None:
    gone = {name: f"secret://{RUN}/{name}" for name in ("WANDB_API_KEY", "DATA_DIR")}
    config = trained(seed=1, environment={**gone, "SEED": "1"})
    with pytest.raises(ConfigError, match="the values of DATA_DIR, WANDB_API_KEY") as caught:
        same_config(submitted(config))
    assert "mosaic submit /home/configs/1.json --env DATA_DIR --env WANDB_API_KEY" in str(
        caught.value.hint
    )
    harmless = trained(seed=1, environment={"SEED": "1"})
    assert same_config(submitted(harmless)) == harmless
    with pytest.raises(RequestError):
        same_config(submitted({}))


def test_a_stopped_run_goes_on_a_finished_one_asks_how_far() -> None:
    half = Progress(500, 1000)
    assert was_cut_short(over(1, Outcome.CANCELED, progress=half))
    assert was_cut_short(over(1, Outcome.FAILED, progress=half))
    assert not was_cut_short(over(1, progress=Progress(1000, 1000)))
    assert not was_cut_short(over(1, Outcome.CANCELED, progress=Progress(500)))


def test_going_on_starts_from_the_checkpoint() -> None:
    run = submitted(trained(seed=1))
    extras = resume_config(run)["metadata"]["worker"]["config"]["extras"]
    assert extras["checkpoint_path"] == "/home/runs/1/checkpoints/last"
    assert policy_of(run).algo == "ppo"
    with pytest.raises(ConfigError, match="no checkpoint"):
        policy_of(record(1))


def test_the_form_gets_every_value_by_its_name() -> None:
    config = trained(total_timesteps=1000, seed=3, parameters={"gamma": 0.9}, extras={"notes": "x"})
    target = edit_target(submitted(config))
    assert target.operation is Operation.TRAIN
    expected = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000, "seed": 3}
    assert expected.items() <= target.values.items()
    assert {"gamma": 0.9, "notes": "x", "worker": "sample"}.items() <= target.values.items()


def test_each_operation_has_its_form() -> None:
    def with_extras(**extras: str) -> RunRecord:
        return submitted({"metadata": {"worker": {"config": {"extras": extras}}}})

    evaluated = edit_target(with_extras(mode="policy_eval", policy_path="/a/policy"))
    assert evaluated.operation is Operation.EVALUATE
    assert evaluated.policy is not None and evaluated.policy.checkpoint == Path("/a/policy")
    resumed = edit_target(with_extras(mode="resume_training", checkpoint_path="/a/last"))
    assert resumed.operation is Operation.RESUME
    command = over(1, capabilities={"runs_commands": True})
    assert edit_target(command).operation is Operation.SCRIPT


def test_the_first_training_needs_an_algorithm() -> None:
    made = first_training([PPO])
    assert made["metadata"]["worker"]["config"]["env_id"] == "CartPole-v1"
    with pytest.raises(ConfigError, match="no algorithm"):
        first_training([])
