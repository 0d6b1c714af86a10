"""Networks of DDPG, TD3 and SAC, and the range their actions are stretched to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import Tensor, nn

from mosaic.errors import ConfigError

if TYPE_CHECKING:
    import gymnasium

    from cleanrl_worker.environments.batch import EnvBatch

Array = NDArray[np.float32]

HIDDEN = 256
EVALUATION_NOISE = 0.1  # as in training, unless that was told otherwise
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
LOG_STD_REACH = (LOG_STD_MAX - LOG_STD_MIN) / 2.0
LOG_STD_MIDDLE = (LOG_STD_MAX + LOG_STD_MIN) / 2.0


class ActionRange:
    """The bounds of continuous actions, and how [-1, 1] is stretched to them."""

    def __init__(self, low: NDArray[Any], high: NDArray[Any]) -> None:
        self.low: Array = np.asarray(low, np.float32)
        self.high: Array = np.asarray(high, np.float32)
        # In the precision of the bounds, then rounded: as in CleanRL's files.
        self.scale: Array = np.asarray((high - low) / 2.0, np.float32)
        self.bias: Array = np.asarray((high + low) / 2.0, np.float32)
        self.size = self.low.size

    @classmethod
    def of(cls, space: gymnasium.Space[Any]) -> ActionRange:
        """Raises ConfigError when it is not a box with bounds."""
        low, high = getattr(space, "low", None), getattr(space, "high", None)
        if low is None or high is None or low.ndim != 1 or not np.isfinite([low, high]).all():
            raise ConfigError(
                f"Actions must be vectors of numbers with bounds; these are {space}",
                hint="ppo_continuous_action needs no bounds, dqn and ppo take discrete actions",
                field="env_id",
            )
        return cls(low, high)

    def random(self, count: int, rng: np.random.Generator) -> Array:
        """Uniform within the bounds."""
        unit = rng.random((count, self.size), np.float32)
        unit *= self.high - self.low
        unit += self.low
        return unit

    def stretch(self, squashed: Array) -> Array:
        """From [-1, 1] to the bounds; in place."""
        squashed *= self.scale
        squashed += self.bias
        return squashed


class ActionCritic(nn.Module):
    """The value of an observation and an action.

    Parameter names as in CleanRL's continuous `QNetwork` and `SoftQNetwork`.
    """

    def __init__(self, observation_size: int, action_size: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(observation_size + action_size, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc3 = nn.Linear(HIDDEN, 1)

    def forward(self, observations: Tensor, actions: Tensor) -> Tensor:
        hidden = F.relu(self.fc1(torch.cat([observations, actions], 1)))
        value: Tensor = self.fc3(F.relu(self.fc2(hidden)))
        return value


class DeterministicActor(nn.Module):
    """One action per observation, within the bounds: the policy of DDPG and TD3.

    Parameter names as in CleanRL's `td3_continuous_action.py` and `ddpg_continuous_action.py`.

    The latter stores the range of its actions with one more dimension: `batched_range`.
    """

    action_scale: Tensor
    action_bias: Tensor

    def __init__(
        self, observation_size: int, actions: ActionRange, *, batched_range: bool = False
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(observation_size, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc_mu = nn.Linear(HIDDEN, actions.size)
        scale, bias = torch.tensor(actions.scale), torch.tensor(actions.bias)
        self.register_buffer("action_scale", scale[None] if batched_range else scale)
        self.register_buffer("action_bias", bias[None] if batched_range else bias)

    def forward(self, observations: Tensor) -> Tensor:
        hidden = F.relu(self.fc2(F.relu(self.fc1(observations))))
        return torch.tanh(self.fc_mu(hidden)) * self.action_scale + self.action_bias

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play; with noise they may lie beyond the bounds."""
        actions: Tensor = self(observations.float())
        if deterministic:
            return actions
        return actions + torch.randn_like(actions) * self.action_scale * EVALUATION_NOISE


class SoftActor(nn.Module):
    """A Gaussian squashed into the bounds: the policy of SAC.

    Parameter names as in CleanRL's `sac_continuous_action.py`.
    """

    action_scale: Tensor
    action_bias: Tensor

    def __init__(self, observation_size: int, actions: ActionRange) -> None:
        super().__init__()
        self.fc1 = nn.Linear(observation_size, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc_mean = nn.Linear(HIDDEN, actions.size)
        self.fc_logstd = nn.Linear(HIDDEN, actions.size)
        self.register_buffer("action_scale", torch.tensor(actions.scale))
        self.register_buffer("action_bias", torch.tensor(actions.bias))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the deviation, before squashing."""
        hidden = F.relu(self.fc2(F.relu(self.fc1(observations))))
        log_std = LOG_STD_MIDDLE + LOG_STD_REACH * torch.tanh(self.fc_logstd(hidden))
        return self.fc_mean(hidden), log_std

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play: the mean, or drawn as in training."""
        mean, log_std = self(observations.float())
        if not deterministic:
            mean = mean + log_std.exp() * torch.randn_like(mean)
        return torch.tanh(mean) * self.action_scale + self.action_bias


class Temperature(nn.Module):
    """How much a unit of entropy is worth, where that is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.zeros(1))


def vector_size(envs: EnvBatch) -> int:
    """Numbers in an observation. Raises ConfigError when observations are no vectors."""
    shape = envs.observation_space.shape
    if shape is None or len(shape) != 1:
        raise ConfigError(
            f"Observations must be vectors; these are {envs.observation_space}",
            hint="ppo and dqn take images, too",
            field="env_id",
        )
    return int(shape[0])
