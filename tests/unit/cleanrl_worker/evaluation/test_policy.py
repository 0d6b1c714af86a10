"""Policies: deterministic and drawn actions, memory, normalising, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor, nn

from cleanrl_worker.agents.lstm import LSTMAgent
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers, MLPAgent
from cleanrl_worker.agents.q_networks import C51Network, PQNNetwork, QNetwork
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
        agent.actor_mean[-1].get_parameter("bias").fill_(5.0)
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


class StepCounter(nn.Module):
    """A recurrent agent whose memory, and action, is how many steps its episode has."""

    def initial_memory(self, rows: int) -> tuple[Tensor, ...]:
        return (torch.zeros(1, rows, 1),)

    def act_and_value(
        self, observations: Tensor, deterministic: bool, memory: tuple[Tensor], starts: Tensor
    ) -> tuple[Tensor, Tensor, tuple[Tensor]]:
        count = torch.where(starts[None, :, None], 0.0, memory[0]) + 1
        return count[0, :, 0].long(), -count[0, :, 0], (count,)


@pytest.mark.parametrize("deterministic", [True, False])
def test_memory_lasts_as_long_as_its_episode(deterministic: bool) -> None:
    policy = Policy(StepCounter(), spaces.Discrete(99), slots=3, is_recurrent=True)

    def act() -> list[int]:
        counts: list[int] = policy.act(OBSERVATIONS[:3], deterministic).tolist()
        return counts

    for slot in range(3):
        policy.begin_episode(slot, seed=slot)
    assert [act(), act()] == [[1, 1, 1], [2, 2, 2]]
    policy.begin_episode(1, seed=9)
    assert [act(), act()] == [[3, 1, 3], [4, 2, 4]]


def test_lstm_agent_remembers() -> None:
    with torch.device("meta"):  # orthogonal weights of large layers take seconds
        agent = LSTMAgent(1, 4).to_empty(device="cpu")
    for value in agent.state_dict().values():
        value.normal_(std=0.1)
    policy = Policy(agent, spaces.Discrete(4), is_recurrent=True)
    frame = RNG.integers(0, 256, size=(1, 1, 84, 84), dtype=np.uint8)
    policy.begin_episode(0, seed=0)
    assert policy._memory is not None
    memories = []
    for _ in range(2):
        assert policy.act(frame, deterministic=True).shape == (1,)
        memories.append(policy._memory[0][:, 0].clone())
    assert not torch.equal(*memories)
    policy.begin_episode(0, seed=0)
    policy.act(frame, deterministic=True)
    assert torch.equal(policy._memory[0][:, 0], memories[0])


class ActionsAlone(nn.Module):
    """An agent that does not tell what it expects."""

    def __init__(self, agent: nn.Module) -> None:
        super().__init__()
        self.act = agent.act


AGENTS = [
    DiscreteTowers(4, 2),
    MLPAgent(4, 2),
    ContinuousTowers(4, 2),
    QNetwork((4,), 2),
    PQNNetwork((4,), 2),
    C51Network((4,), 2, 11, -1.0, 1.0),
]


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_telling_values_changes_no_action(agent: Any, deterministic: bool) -> None:
    with_values, alone = (
        Policy(told, TWO_ACTIONS, slots=12) for told in (agent, ActionsAlone(agent))
    )
    for slot in range(12):
        with_values.begin_episode(slot, seed=slot)
        alone.begin_episode(slot, seed=slot)
    for _ in range(20):
        observations = RNG.normal(size=OBSERVATIONS.shape).astype(np.float32)
        actions, values = with_values.decide(observations, deterministic)
        others, nothing = alone.decide(observations, deterministic)
        assert actions.tobytes() == others.tobytes() and nothing is None
        assert values is not None and values.shape == (12,)


def test_a_value_is_that_of_the_state_or_of_its_best_action() -> None:
    inputs = torch.from_numpy(OBSERVATIONS)
    critic, network = DiscreteTowers(4, 2), C51Network((4,), 2, 11, -1.0, 1.0)
    with torch.no_grad():
        expected = critic.value(inputs), network(inputs).max(1).values
    for agent, values in zip((critic, network), expected, strict=True):
        found = Policy(agent, TWO_ACTIONS, slots=12).decide(OBSERVATIONS).values
        assert found is not None
        assert np.allclose(found, values, atol=1e-6)
