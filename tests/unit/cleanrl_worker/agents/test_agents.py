"""The agents of the PPO family: names and shapes of their weights, and which one is chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from cleanrl_worker.agents.choice import make_actor_critic
from cleanrl_worker.agents.lstm import MEMORY, LSTMAgent, unbroken_spans
from cleanrl_worker.agents.minigrid import MinigridAgent
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers, MLPAgent
from cleanrl_worker.agents.nature_cnn import NatureCNNAgent, nature_cnn
from mosaic.errors import ConfigError

VECTOR = spaces.Box(-1.0, 1.0, (4,), np.float32)
VIEW = spaces.Box(0, 255, (7, 7, 3), np.uint8)
FRAMES = spaces.Box(0, 255, (4, 84, 84), np.uint8)
TWO = spaces.Discrete(2)
TORQUES = spaces.Box(-1.0, 1.0, (3,), np.float32)

NATURE = {
    "network.0.weight": (32, 4, 8, 8),
    "network.0.bias": (32,),
    "network.2.weight": (64, 32, 4, 4),
    "network.2.bias": (64,),
    "network.4.weight": (64, 64, 3, 3),
    "network.4.bias": (64,),
    "network.7.weight": (512, 3136),
    "network.7.bias": (512,),
}


def tower(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    sizes = {0: (64, inputs), 2: (64, 64), 4: (outputs, 64)}
    weights = {f"{name}.{index}.weight": shape for index, shape in sizes.items()}
    return {**weights, **{f"{name}.{index}.bias": shape[:1] for index, shape in sizes.items()}}


def shapes(agent: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in agent.state_dict().items()}


def test_discrete_towers_have_the_weights_of_cleanrl_ppo() -> None:
    assert shapes(DiscreteTowers(4, 2)) == {**tower("critic", 4, 1), **tower("actor", 4, 2)}


def test_continuous_towers_have_the_weights_of_cleanrl_ppo_continuous_action() -> None:
    expected = {**tower("critic", 5, 1), **tower("actor_mean", 5, 3), "actor_logstd": (1, 3)}
    assert shapes(ContinuousTowers(5, 3)) == expected


def test_the_nature_agent_has_the_weights_of_cleanrl_ppo_atari() -> None:
    heads = {
        "actor.weight": (6, 512),
        "actor.bias": (6,),
        "critic.weight": (1, 512),
        "critic.bias": (1,),
    }
    assert shapes(NatureCNNAgent(4, 6)) == {**NATURE, **heads}


def test_the_nature_network_of_dqn_ends_with_its_outputs() -> None:
    network = nn.Sequential()
    network.network = nature_cnn(4, 6)
    assert shapes(network) == {**NATURE, "network.9.weight": (6, 512), "network.9.bias": (6,)}


def test_the_lstm_agent_has_the_weights_of_cleanrl_ppo_atari_lstm() -> None:
    memory = {
        "lstm.weight_ih_l0": (512, 512),
        "lstm.weight_hh_l0": (512, 128),
        "lstm.bias_ih_l0": (512,),
        "lstm.bias_hh_l0": (512,),
    }
    heads = {
        "actor.weight": (6, 128),
        "actor.bias": (6,),
        "critic.weight": (1, 128),
        "critic.bias": (1,),
    }
    expected = {**NATURE, "network.0.weight": (32, 1, 8, 8), **memory, **heads}
    assert shapes(LSTMAgent(1, 6)) == expected


def test_the_minigrid_agent_has_three_small_convolutions_and_separate_heads() -> None:
    found = shapes(MinigridAgent(7))
    assert [shape for name, shape in found.items() if name.endswith("weight")] == [
        (32, 3, 3, 3),
        (64, 32, 3, 3),
        (64, 64, 3, 3),
        (128, 3136),
        (128, 128),
        (7, 128),
        (128, 128),
        (1, 128),
    ]


def test_the_mlp_agent_has_one_trunk_and_two_heads() -> None:
    assert list(shapes(MLPAgent(4, 2)).items())[::2] == [
        ("network.0.weight", (64, 4)),
        ("network.2.weight", (64, 64)),
        ("actor.weight", (2, 64)),
        ("critic.weight", (1, 64)),
    ]


def test_weights_are_orthogonal_and_the_policy_starts_almost_uniform() -> None:
    agent = DiscreteTowers(4, 2)
    hidden, last = (agent.actor[index].get_parameter("weight") for index in (2, 4))
    torch.testing.assert_close(hidden @ hidden.T, 2.0 * torch.eye(64), atol=1e-4, rtol=1e-4)
    assert last.norm().item() == pytest.approx(0.01 * math.sqrt(2.0), rel=1e-4)
    assert not agent.actor[0].get_parameter("bias").any()
    chances = agent.policy(torch.randn(50, 4)).softmax(1)
    torch.testing.assert_close(chances, torch.full((50, 2), 0.5), atol=0.02, rtol=0.0)


@pytest.mark.parametrize(
    ("observations", "actions", "network", "expected"),
    [
        (VECTOR, TWO, "auto", DiscreteTowers),
        (VECTOR, TWO, "towers", DiscreteTowers),
        (VECTOR, TWO, "mlp", MLPAgent),
        (VECTOR, TORQUES, "auto", ContinuousTowers),
        (VIEW, TWO, "auto", MinigridAgent),
        (FRAMES, TWO, "auto", NatureCNNAgent),
        (FRAMES, TWO, "nature_cnn", NatureCNNAgent),
    ],
)
def test_the_spaces_choose_the_agent(
    observations: spaces.Box, actions: spaces.Space[Any], network: str, expected: type[nn.Module]
) -> None:
    agent = make_actor_critic(observations, actions, network)  # type: ignore[arg-type]
    assert type(agent) is expected
    rows = np.stack([observations.sample() for _ in range(3)])
    inputs = torch.from_numpy(rows)
    output, values = agent.policy_and_value(inputs)
    assert values.shape == (3,)
    torch.testing.assert_close(output, agent.policy(inputs))
    torch.testing.assert_close(values, agent.value(inputs))
    likeliest = agent.act(inputs, deterministic=True)
    torch.testing.assert_close(likeliest, agent.act(inputs, deterministic=True))
    drawn = agent.act(inputs, deterministic=False)
    assert drawn.shape == likeliest.shape == (3, *(actions.shape or ()))
    assert agent.log_probability(output, drawn).shape == agent.entropy(output).shape == (3,)
    torch.testing.assert_close(inputs, torch.from_numpy(rows))


@pytest.mark.parametrize(
    ("observations", "actions", "network", "field"),
    [
        (VECTOR, TWO, "minigrid", "network"),
        (VIEW, TWO, "nature_cnn", "network"),
        (FRAMES, TORQUES, "auto", "env_id"),
        (VECTOR, TORQUES, "mlp", "env_id"),
        (VECTOR, spaces.MultiBinary(3), "auto", "env_id"),
        (spaces.Box(0, 1, (5, 5), np.float32), TWO, "auto", "env_id"),
        (spaces.Dict({"image": VIEW}), TWO, "auto", "env_id"),
    ],
)
def test_spaces_no_agent_understands_are_refused(
    observations: spaces.Space[Any], actions: spaces.Space[Any], network: str, field: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        make_actor_critic(observations, actions, network)  # type: ignore[arg-type]
    assert refused.value.details["field"] == field
    assert refused.value.hint


def test_spans_break_where_any_row_starts_an_episode() -> None:
    starts = torch.zeros(6, 2, dtype=torch.bool)
    starts[0, 0] = starts[2, 1] = starts[5, 0] = starts[5, 1] = True
    assert unbroken_spans(starts) == [0, 2, 5, 6]


def test_the_lstm_over_spans_equals_the_lstm_step_by_step() -> None:
    torch.manual_seed(1)
    agent = LSTMAgent(1, 3)
    observations = torch.randint(0, 255, (5, 2, 1, 84, 84), dtype=torch.uint8)
    starts = torch.zeros(5, 2, dtype=torch.bool)
    starts[0, 1] = starts[3, 0] = True
    memory = (torch.randn(1, 2, MEMORY), torch.randn(1, 2, MEMORY))
    with torch.no_grad():
        logits, values, after = agent.policy_and_value(observations, memory, starts)
        stepwise = []
        for index in range(5):
            step = slice(index, index + 1)
            *heads, memory = agent.policy_and_value(observations[step], memory, starts[step])
            stepwise.append(heads)
    torch.testing.assert_close(logits, torch.cat([step[0] for step in stepwise]))
    torch.testing.assert_close(values, torch.cat([step[1] for step in stepwise]))
    torch.testing.assert_close(after, memory)


def test_the_lstm_forgets_at_the_start_of_an_episode_and_only_there() -> None:
    torch.manual_seed(1)
    agent = LSTMAgent(1, 3)
    frames = torch.randint(0, 255, (2, 1, 84, 84), dtype=torch.uint8)
    lively = (torch.ones(1, 2, MEMORY), torch.ones(1, 2, MEMORY))
    _, _, after = agent.act_and_value(frames, True, lively, torch.tensor([True, False]))
    empty = agent.initial_memory(2)
    _, _, fresh = agent.act_and_value(frames, True, empty, torch.tensor([True, False]))
    torch.testing.assert_close(after[0][:, 0], fresh[0][:, 0])
    assert not torch.allclose(after[0][:, 1], fresh[0][:, 1])
