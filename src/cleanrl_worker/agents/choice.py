"""Which agent of the PPO family an environment gets, by its spaces."""

from __future__ import annotations

import math
from typing import Any, Literal

from gymnasium import spaces

from cleanrl_worker.agents.actor_critic import ActorCritic
from cleanrl_worker.agents.minigrid import MinigridAgent
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers, MLPAgent
from cleanrl_worker.agents.nature_cnn import NatureCNNAgent
from mosaic.errors import ConfigError

Network = Literal["auto", "towers", "mlp", "minigrid", "nature_cnn"]

MINIGRID_SHAPE = (7, 7, 3)
FRAME_SIZE = (84, 84)


def make_actor_critic(
    observation_space: spaces.Space[Any], action_space: spaces.Space[Any], network: Network = "auto"
) -> ActorCritic:
    """Raises ConfigError when the spaces suit no agent, or not the one asked for."""
    shape = observation_shape(observation_space)
    fitting = fitting_networks(shape)
    chosen = fitting[0] if network == "auto" and fitting else network
    if chosen not in fitting:
        wanted = "agent" if network == "auto" else f"network {network!r}"
        raise ConfigError(
            f"No {wanted} of PPO takes observations of shape {list(shape)}",
            hint="vectors, MiniGrid's 7x7x3 images and stacked frames of 84x84 are understood",
            field="env_id" if network == "auto" else "network",
        )
    if isinstance(action_space, spaces.Discrete):
        return discrete_agent(chosen, shape, int(action_space.n))
    if isinstance(action_space, spaces.Box) and chosen == "towers":
        return ContinuousTowers(math.prod(shape), math.prod(action_space.shape))
    raise ConfigError(
        f"The network {chosen!r} cannot act in {action_space}",
        hint="discrete actions, or continuous ones with vectors as observations, are understood",
        field="env_id",
    )


def fitting_networks(shape: tuple[int, ...]) -> tuple[Network, ...]:
    """The preferred one first."""
    if shape == MINIGRID_SHAPE:
        return ("minigrid",)
    if len(shape) == 3 and shape[1:] == FRAME_SIZE:
        return ("nature_cnn",)
    return ("towers", "mlp") if len(shape) == 1 else ()


def discrete_agent(network: Network, shape: tuple[int, ...], actions: int) -> ActorCritic:
    if network == "nature_cnn":
        return NatureCNNAgent(shape[0], actions)
    if network == "minigrid":
        return MinigridAgent(actions)
    agent = MLPAgent if network == "mlp" else DiscreteTowers
    return agent(math.prod(shape), actions)


def observation_shape(space: spaces.Space[Any]) -> tuple[int, ...]:
    if not isinstance(space, spaces.Box):
        raise ConfigError(
            f"PPO takes observations of one array, not {space}",
            hint="choose an environment with vectors or images as observations",
            field="env_id",
        )
    return tuple(space.shape)
