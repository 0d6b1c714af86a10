"""The examples of the welcome page: what they start, and what they say when they cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.state.examples import EXAMPLES, Example, Start, Surroundings, document, obstacle

TRAIN, WATCH, PLAY = EXAMPLES
ALGORITHM = AlgorithmInfo("ppo", "learner", "learns", cpus=2, memory_mb=3000)


def worker(name: str, **schema: dict[str, object]) -> WorkerInfo:
    capabilities = WorkerCapabilities(name, config_schema={"properties": schema})
    return WorkerInfo(name, name, "/python", "here", "", capabilities, ())


LEARNER = worker("learner", env_id={}, algo={})
ACTOR = worker("actor", env_id={}, policy={"enum": ["random", "heuristic"]})


def around(
    *workers: WorkerInfo,
    is_online: bool = True,
    is_importable: Callable[[str], bool] = lambda name: True,
    python: str = "/python",
) -> Surroundings:
    return Surroundings(workers, (ALGORITHM,), is_online, python, is_importable)


def test_there_is_one_example_of_each_kind() -> None:
    assert [example.start for example in EXAMPLES] == [Start.TRAIN, Start.WATCH, Start.PLAY]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.start)
def test_nothing_stands_in_the_way_where_everything_is_there(example: Example) -> None:
    assert obstacle(example, around(LEARNER, ACTOR)) == ""


def test_training_goes_to_the_worker_of_the_algorithm() -> None:
    made = document(TRAIN, around(ACTOR, LEARNER))
    parse_run_config(made)
    assert made["entry_point"] == "learner"
    assert made["resources"]["expected_memory_mb"] == 3000
    config = made["metadata"]["worker"]["config"]
    assert (config["algo"], config["env_id"]) == ("ppo", "CartPole-v1")
    assert config["total_timesteps"] > 0


def test_watching_goes_to_a_worker_with_scripted_policies_whatever_its_name() -> None:
    made = document(WATCH, around(LEARNER, ACTOR))
    parse_run_config(made)
    assert made["entry_point"] == "actor"
    assert made["metadata"]["worker"]["config"] == {
        "env_id": "LunarLander-v3",
        "policy": "heuristic",
        "episodes": WATCH.episodes,
        "seed": 1,
    }


def test_runs_wait_for_the_daemon_but_playing_does_not() -> None:
    alone = around(is_online=False)
    assert obstacle(TRAIN, alone) == obstacle(WATCH, alone) == "Waiting for the daemon."
    assert obstacle(PLAY, alone) == ""


def test_a_missing_worker_is_said() -> None:
    assert "the algorithm ppo" in obstacle(TRAIN, around(ACTOR))
    assert "a scripted policy" in obstacle(WATCH, around(LEARNER))


def test_a_worker_that_is_not_ready_is_said_with_the_fix() -> None:
    check = CheckResult("torch", False, "torch cannot be imported", "pip install torch", True)
    text = obstacle(TRAIN, around(replace(LEARNER, readiness=(check,))))
    assert "torch cannot be imported" in text and "pip install torch" in text
    broken = replace(LEARNER, error="its Python is gone")
    assert "its Python is gone" in obstacle(TRAIN, around(broken))


def test_a_missing_module_is_said_with_the_command_that_installs_it() -> None:
    without = around(LEARNER, ACTOR, is_importable=lambda name: name != "Box2D")
    assert obstacle(WATCH, without) == ('Box2D is not installed: pip install "mosaic-rl[box2d]"')
    assert obstacle(TRAIN, without) == ""


def test_what_a_worker_elsewhere_can_import_is_not_guessed() -> None:
    elsewhere = around(LEARNER, ACTOR, is_importable=lambda name: False, python="/other")
    assert obstacle(WATCH, elsewhere) == ""
