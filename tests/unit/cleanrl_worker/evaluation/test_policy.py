"""Policies: deterministic and drawn actions, memory, normalising, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor, nn

from cleanrl_worker.agents.lstm import LSTMAgent
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.agents.q_network import QNetwork
from cleanrl_worker.evaluation.policy import Policy

TWO_ACTIONS = spaces.Discrete(2)
RNG = np.random.default_rng(0)
OBSERVATIONS = RNG.normal(size=(12, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def undecided_agent() -> DiscreteTowers:
    """Fresh weights: all actions are almost equally likely."""
    return DiscreteTowers(4, 2)


def drawn(policy: Policy, observation: Any, count: int = 30) -> list[int]:
    return [int(policy.act(observation[None], deterministic=False)[0]) for _ in range(count)]


def test_deterministic_action_is_the_likeliest() -> None:
    agent = undecided_agent()
    actions = Policy(agent, TWO_ACTIONS, slots=12).act(OBSERVATIONS, deterministic=True)
    with torch.no_grad():
        expected = agent.policy(torch.from_numpy(OBSERVATIONS)).argmax(1).numpy()
    assert actions.tolist() == expected.tolist()


@pytest.mark.parametrize("inputs", [3, 4, 17])
def test_deterministic_action_does_not_depend_on_the_other_slots(inputs: int) -> None:
    agent = ContinuousTowers(inputs, 3)
    observations = RNG.normal(size=(5, inputs)).astype(np.float32)
    space = spaces.Box(-1.0, 1.0, (3,))
    together = Policy(agent, space, slots=5).act(observations, deterministic=True)
    alone = [Policy(agent, space).act(row[None], deterministic=True)[0] for row in observations]
    assert (together == np.array(alone)).all(), "to the last bit"


def test_drawn_actions_depend_on_the_seed_of_their_episode_only() -> None:
    agent = undecided_agent()
    policy = Policy(agent, TWO_ACTIONS, slots=2)
    policy.begin_episode(0, seed=5)
    policy.begin_episode(1, seed=6)
    both = [policy.act(OBSERVATIONS[:2], deterministic=False).tolist() for _ in range(30)]
    alone = Policy(agent, TWO_ACTIONS)
    alone.begin_episode(0, seed=6)
    assert drawn(alone, OBSERVATIONS[1]) == [row[1] for row in both]
    assert len({row[1] for row in both}) == 2, "actions are really drawn"


def test_drawing_leaves_the_generator_of_torch_alone() -> None:
    policy = Policy(undecided_agent(), TWO_ACTIONS)
    before = torch.get_rng_state()
    drawn(policy, OBSERVATIONS[0])
    assert torch.equal(torch.get_rng_state(), before)


def test_q_network_explores_a_little_when_drawing() -> None:
    policy = Policy(QNetwork((4,), 2), TWO_ACTIONS)
    best = int(policy.act(OBSERVATIONS[:1], deterministic=True)[0])
    policy.begin_episode(0, seed=1)
    share = np.mean([action != best for action in drawn(policy, OBSERVATIONS[0], 1000)])
    assert 0.005 < share < 0.06  # one in 20 is random, half of those are the best one


def test_continuous_actions_stay_within_their_bounds_and_shape() -> None:
    agent = ContinuousTowers(4, 6)
    with torch.no_grad():
        agent.actor_mean[-1].bias.fill_(5.0)
    space = spaces.Box(-2.0, 1.5, (2, 3))
    for deterministic in (True, False):
        actions = Policy(agent, space, slots=12).act(OBSERVATIONS, deterministic)
        assert actions.shape == (12, 2, 3)
        assert actions.max() <= 1.5


def test_observations_are_normalised_before_the_network_sees_them() -> None:
    seen: list[Tensor] = []

    class Spy(nn.Module):
        def act(self, observations: Tensor, deterministic: bool) -> Tensor:
            seen.append(observations)
            return torch.zeros(len(observations), dtype=torch.long)

    policy = Policy(Spy(), TWO_ACTIONS, normalizer=lambda observations: observations * 2)
    policy.act(OBSERVATIONS[:1], deterministic=True)
    assert torch.equal(seen[0][0], torch.from_numpy(OBSERVATIONS[0] * 2))


def test_memory_is_kept_within_an_episode_and_cleared_between() -> None:
    torch.set_num_threads(1)
    agent = LSTMAgent(1, 4)
    with torch.no_grad():
        agent.actor.weight.mul_(1000)  # decided, so that memory shows in the actions
    frames = RNG.integers(0, 256, size=(6, 1, 84, 84), dtype=np.uint8)

    def play(policy: Policy, slot: int, rows: int) -> list[int]:
        policy.begin_episode(slot, seed=0)
        return [
            int(policy.act(np.repeat(frame[None], rows, 0), deterministic=True)[slot])
            for frame in frames
        ]

    policy = Policy(agent, spaces.Discrete(4), slots=2, is_recurrent=True)
    first = play(policy, 0, rows=2)
    assert play(policy, 0, rows=2) == first, "a new episode begins with an empty memory"
    alone = Policy(agent, spaces.Discrete(4), is_recurrent=True)
    assert play(alone, 0, rows=1) == first
    forgetful = []
    for frame in frames:
        alone.begin_episode(0, seed=0)
        forgetful.append(int(alone.act(frame[None], deterministic=True)[0]))
    assert forgetful != first, "memory matters"


def test_memory_of_one_slot_survives_the_end_of_another() -> None:
    torch.set_num_threads(1)
    agent = LSTMAgent(1, 4)
    policy = Policy(agent, spaces.Discrete(4), slots=2, is_recurrent=True)
    frames = RNG.integers(0, 256, size=(2, 1, 84, 84), dtype=np.uint8)
    for deterministic in (True, False):
        policy.begin_episode(0, seed=0)
        policy.begin_episode(1, seed=0)
        policy.act(frames, deterministic)
        assert policy._memory is not None
        kept = policy._memory[0][:, 1].clone()
        policy.begin_episode(0, seed=1)
        assert torch.equal(policy._memory[0][:, 1], kept)
        policy.act(frames, deterministic)
        assert not torch.equal(policy._memory[0][:, 1], kept)
