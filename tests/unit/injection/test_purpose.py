"""Who begins an episode tells what it is for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.injection.purpose import (
    EVALUATION,
    PERHAPS,
    TRAINING,
    Purposes,
    is_kept_for_evaluation,
    is_name_for_evaluation,
    purpose_of,
)


@pytest.mark.parametrize(
    ("module", "function", "purpose"),
    [
        ("stable_baselines3.common.evaluation", "evaluate_policy", EVALUATION),
        ("tianshou.trainer.utils", "test_episode", EVALUATION),
        ("cleanrl_utils.evals.dqn_eval", "evaluate", EVALUATION),
        ("__main__", "evaluate", PERHAPS),
        ("__main__", "_run_eval", PERHAPS),
        ("agents.dqn", "eval_policy", PERHAPS),
        ("__main__", "test", PERHAPS),
        ("__main__", "test_policy", PERHAPS),
        ("stable_baselines3.ppo", "learn", TRAINING),
        ("__main__", "train_step", TRAINING),
        # Both at once, neither, and words that only look like them.
        ("__main__", "train_and_evaluate", None),
        ("__main__", "collect_rollouts", None),
        ("__main__", "test_that_latest_is_fittest", None),
        ("__main__", "retrieval", None),
        ("__main__", "<module>", None),
        # Our own words are not the script's.
        ("mosaic.injection.watches", "begins_evaluation", None),
    ],
)
def test_a_function_says_it_by_its_name(module: str, function: str, purpose: str | None) -> None:
    assert purpose_of(function, module) == purpose


@pytest.mark.parametrize(
    ("name", "is_it"),
    [
        ("eval_env", True),
        ("test_envs", True),
        ("_eval_vec_env", True),
        ("val_environment", True),
        ("env", False),
        ("train_env", False),
        ("latest_env", False),
        ("evaluation", False),
    ],
)
def test_a_variable_says_it_by_its_name(name: str, is_it: bool) -> None:
    assert is_name_for_evaluation(name) is is_it


def evaluate(purposes: Purposes) -> bool:
    return purposes.is_evaluation()


def train(purposes: Purposes) -> tuple[bool, bool]:
    return purposes.is_evaluation(), evaluate(purposes)


def test_the_innermost_function_decides() -> None:
    def evaluate_settings(purposes: Purposes) -> tuple[bool, bool]:
        return train(purposes)

    assert evaluate_settings(Purposes()) == (False, True)


def test_what_a_script_calls_evaluation_is_its_training_where_there_is_no_other() -> None:
    purposes = Purposes()
    assert [evaluate(purposes) for _ in range(3)] == [False] * 3, "as in an evolution strategy"
    train(purposes)
    assert evaluate(purposes)


def test_an_environment_is_kept_for_evaluation_under_a_name_that_says_so() -> None:
    def core() -> Any:
        env = SimpleNamespace()
        env.unwrapped = env
        return env

    def is_kept(core: Any) -> bool:
        return is_kept_for_evaluation(core)

    env, wrapped, collected, own = core(), core(), core(), core()
    eval_env = SimpleNamespace(unwrapped=wrapped)
    test_envs = SimpleNamespace(envs=[SimpleNamespace(unwrapped=collected)])

    class Agent:
        def __init__(self) -> None:
            self.eval_env = own

        def run(self) -> bool:
            return is_kept(self.eval_env)

    assert not is_kept(env)
    assert is_kept(eval_env.unwrapped)
    assert is_kept(test_envs.envs[0].unwrapped)
    assert Agent().run()


def test_one_that_is_kept_for_it_is_trained_on_where_there_is_no_other() -> None:
    purposes = Purposes()
    assert not purposes.is_evaluation(is_kept_for_it=True)
    assert not purposes.is_evaluation()
    assert purposes.is_evaluation(is_kept_for_it=True)
