"""Bringing policies back: every algorithm, its normaliser, and what is refused."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.eval_registry import EVAL_REGISTRY, find_entry
from cleanrl_worker.evaluation import agent_builders
from cleanrl_worker.evaluation.detection import detect_policy
from cleanrl_worker.evaluation.policy import (
    Policy,
    load_policy,
    training_arguments,
    weight_differences,
)
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.registry import CONTINUOUS, DEFAULT_ALGO_REGISTRY, VECTOR
from mosaic.errors import CheckpointError, ConfigError, WorkerError
from tests.unit.cleanrl_worker.evaluation.evaluation_samples import cart_pole_policy, save_policy

VECTORS = spaces.Box(-np.inf, np.inf, (4,), np.float32)
FRAMES = spaces.Box(0, 255, (4, 84, 84), np.uint8)
SINGLE_FRAMES = spaces.Box(0, 255, (1, 84, 84), np.uint8)
TWO = spaces.Discrete(2)
BOUNDED = spaces.Box(-2.0, 2.0, (3,), np.float32)


def spaces_for(algo: str) -> tuple[Any, Any]:
    algorithm = DEFAULT_ALGO_REGISTRY[algo]
    actions = BOUNDED if CONTINUOUS in algorithm.action_spaces else TWO
    if VECTOR in algorithm.observation_spaces:
        return VECTORS, actions
    return (SINGLE_FRAMES if find_entry(algo).frame_stack == 1 else FRAMES), actions


def build(algo: str, tmp_path: Path) -> torch.nn.Module:
    path = save_policy(tmp_path / "defaults", DiscreteTowers(4, 2), algorithm=algo)
    function = getattr(agent_builders, find_entry(algo).agent.partition(":")[2])
    arguments = training_arguments(detect_policy(path))
    with torch.device("meta"):  # orthogonal weights of large layers take seconds
        agent: torch.nn.Module = function(*spaces_for(algo), arguments).to_empty(device="cpu")
    for value in agent.state_dict().values():
        value.normal_(std=0.1)
    return agent


def test_every_algorithm_can_be_evaluated() -> None:
    assert set(EVAL_REGISTRY) == set(DEFAULT_ALGO_REGISTRY)


@pytest.mark.parametrize("algo", EVAL_REGISTRY)
def test_policy_of_every_algorithm_acts_as_its_network_did(algo: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    agent = build(algo, tmp_path)
    arguments = {"normalize_observations": False}
    path = save_policy(tmp_path / "policy", agent, algorithm=algo, arguments=arguments)
    observation_space, action_space = spaces_for(algo)
    policy = load_policy(detect_policy(path), observation_space, action_space, slots=2)
    observation_space.seed(0)
    observations = np.stack([observation_space.sample() for _ in range(2)])
    original = Policy(agent, action_space, slots=2, is_recurrent=find_entry(algo).is_recurrent)
    for deterministic in (True, False):
        for acting in (policy, original):
            acting.begin_episode(0, seed=5)
            acting.begin_episode(1, seed=6)
        actions = policy.act(observations, deterministic)
        assert actions.shape == (2, *action_space.shape)
        assert (actions == original.act(observations, deterministic)).all()
        assert all(action_space.contains(action) for action in actions)


def test_several_networks_in_a_file_the_acting_one_is_taken(tmp_path: Path) -> None:
    torch.manual_seed(1)
    actor = build("td3_continuous_action", tmp_path)
    path = save_policy(
        tmp_path / "policy", actor, torch.nn.Linear(3, 3), algorithm="td3_continuous_action"
    )
    policy = load_policy(detect_policy(path), VECTORS, BOUNDED)
    observations = np.ones((1, 4), np.float32)
    with torch.no_grad():
        expected = actor(torch.from_numpy(observations)).numpy()
    assert np.allclose(policy.act(observations), expected, atol=1e-6)


def test_arguments_that_c51_stores_itself_are_obeyed(tmp_path: Path) -> None:
    from cleanrl_worker.agents.q_networks import C51Network

    model = ModelFile(C51Network((4,), 2, 11, -5.0, 5.0), arguments={"n_atoms": 11, "v_max": 5.0})
    path = tmp_path / "CartPole-v1__c51__1__17" / "c51.cleanrl_model"
    path.parent.mkdir()
    torch.save(model.payload(), path)
    assert load_policy(detect_policy(path), VECTORS, TWO).act(np.zeros((1, 4), np.float32)) in (
        0,
        1,
    )


def normalizer_state(mean: float) -> dict[str, Any]:
    statistics = {"mean": np.full(4, mean), "var": np.ones(4), "count": 100.0}
    return {"envs": {"statistics": {"observations": statistics}}}


def test_normaliser_of_the_training_is_used_and_stays_as_it_is(tmp_path: Path) -> None:
    torch.manual_seed(0)
    agent = ContinuousTowers(4, 3)
    path = save_policy(
        tmp_path, agent, algorithm="ppo_continuous_action", states=normalizer_state(mean=7.0)
    )
    policy = load_policy(detect_policy(path), VECTORS, BOUNDED)
    observations = np.full((1, 4), 8.0, np.float32)
    with torch.no_grad():
        expected = agent.policy(torch.ones(1, 4)).numpy()
    for _ in range(3):
        assert np.allclose(policy.act(observations), expected, atol=1e-5)


@pytest.mark.parametrize("states", [{}, {"envs": {}}, {"envs": {"statistics": {}}}])
def test_missing_statistics_are_refused(tmp_path: Path, states: dict[str, Any]) -> None:
    path = save_policy(
        tmp_path, ContinuousTowers(4, 3), algorithm="ppo_continuous_action", states=states
    )
    with pytest.raises(WorkerError, match="statistics") as refusal:
        load_policy(detect_policy(path), VECTORS, BOUNDED)
    assert "normalised observations" in refusal.value.message


def test_weights_alone_of_a_normalised_policy_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "Hopper-v4__ppo_continuous_action__1__17" / "exp.cleanrl_model"
    path.parent.mkdir()
    torch.save(ContinuousTowers(4, 3).state_dict(), path)
    with pytest.raises(WorkerError, match="statistics") as refusal:
        load_policy(detect_policy(path), VECTORS, BOUNDED)
    assert "exp.state" in refusal.value.hint


def test_wrong_environment_is_named_together_with_the_right_one(tmp_path: Path) -> None:
    source = detect_policy(cart_pole_policy(tmp_path), env_id="Acrobot-v1")
    with pytest.raises(ConfigError, match=r"CartPole-v1.*Acrobot-v1") as refusal:
        load_policy(source, spaces.Box(-1.0, 1.0, (6,), np.float32), spaces.Discrete(3))
    assert "[64, 4] where [64, 6] is needed" in refusal.value.message
    assert refusal.value.details["field"] == "env_id"


def test_environment_whose_actions_do_not_suit_is_refused(tmp_path: Path) -> None:
    path = save_policy(tmp_path, build("dqn", tmp_path), algorithm="dqn")
    source = detect_policy(path, env_id="Pendulum-v1")
    with pytest.raises(ConfigError, match=r"CartPole-v1.*Pendulum-v1"):
        load_policy(source, VECTORS, BOUNDED)


def test_misfits_are_told_in_words() -> None:
    found = {"a": torch.zeros(2), "c": torch.zeros(1)}
    wanted = {"a": torch.zeros(3), "b": torch.zeros(1)}
    assert weight_differences(found, wanted) == [
        "a is [2] where [3] is needed",
        "b is missing",
        "c is unknown",
    ]


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    path = cart_pole_policy(tmp_path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=path.name):
        load_policy(detect_policy(path), VECTORS, TWO)


class Malicious:
    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.canary),)


@pytest.mark.parametrize(
    "save", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))]
)
def test_malicious_file_is_refused_and_never_run(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "CartPole-v1__ppo__1__17" / "ppo.cleanrl_model"
    path.parent.mkdir()
    save(Malicious(tmp_path / "canary"), path)
    with pytest.raises(CheckpointError, match=path.name):
        load_policy(detect_policy(path), VECTORS, TWO)
    assert not (tmp_path / "canary").exists()
