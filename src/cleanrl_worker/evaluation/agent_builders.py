"""Makes the network of each algorithm that acts, from the spaces and the algorithm's arguments."""

from __future__ import annotations

import math
from typing import Any

from gymnasium import spaces
from torch import nn

from cleanrl_worker.agents.choice import make_actor_critic
from cleanrl_worker.agents.continuous_control import ActionRange, DeterministicActor, SoftActor
from cleanrl_worker.agents.discrete_soft_actor_critic import DiscreteSoftActor
from cleanrl_worker.agents.lstm import LSTMAgent
from cleanrl_worker.agents.q_networks import C51Network, PQNNetwork, QNetwork
from mosaic.errors import ConfigError

Space = spaces.Space[Any]


def actor_critic(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return make_actor_critic(observations, actions, arguments.network)


def lstm_agent(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return LSTMAgent(shape_of(observations)[0], count_of(actions))


def q_network(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return QNetwork(shape_of(observations), count_of(actions))


def pqn_network(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return PQNNetwork(shape_of(observations), count_of(actions))


def c51_network(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    support = arguments.n_atoms, arguments.v_min, arguments.v_max
    return C51Network(shape_of(observations), count_of(actions), *support)


def ddpg_actor(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    size = math.prod(shape_of(observations))
    return DeterministicActor(size, ActionRange.of(actions), batched_range=True)


def td3_actor(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return DeterministicActor(math.prod(shape_of(observations)), ActionRange.of(actions))


def soft_actor(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return SoftActor(math.prod(shape_of(observations)), ActionRange.of(actions))


def discrete_soft_actor(observations: Space, actions: Space, arguments: Any) -> nn.Module:
    return DiscreteSoftActor(shape_of(observations), count_of(actions))


def shape_of(space: Space) -> tuple[int, ...]:
    if space.shape is None:
        raise ConfigError(f"observations of the kind {space} have no shape", field="env_id")
    return space.shape


def count_of(space: Space) -> int:
    if not isinstance(space, spaces.Discrete):
        raise ConfigError(
            f"its actions can be counted, those of this environment cannot: {space}",
            field="env_id",
        )
    return int(space.n)
