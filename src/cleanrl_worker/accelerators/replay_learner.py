"""What the accelerators of DDPG, TD3 and SAC share: where a batch lies, how actors act, graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cleanrl_worker.accelerators.cuda_graphs import graphed
from cleanrl_worker.accelerators.dense_network import DenseNetwork, LinearLayer
from cleanrl_worker.accelerators.towers import Towers, linear_layers
from cleanrl_worker.agents.continuous_control import ActionRange
from cleanrl_worker.kit.optimizers import FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch

Array = NDArray[np.float32]


class ReplayHyperparameters(Protocol):
    @property
    def accelerate(self) -> bool: ...
    @property
    def num_envs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def gamma(self) -> float: ...
    @property
    def tau(self) -> float: ...
    @property
    def policy_frequency(self) -> int: ...


class TransitionRows:
    """Sampled transitions where the networks read them.

    Always the same memory, so that a CUDA graph finds each batch in its place.

    A row is a transition: observation, action, next observation, next action, reward, terminated.
    Observation and action lie side by side, which is what a critic takes; the next action is for
    the policy to fill in. A GPU gets all rows in one copy.
    """

    def __init__(
        self, batch_size: int, observation_size: int, action_size: int, device: torch.device
    ) -> None:
        widths = (observation_size, action_size, observation_size, action_size, 1, 1)
        width = sum(widths)
        self._host = torch.zeros(batch_size, width, pin_memory=device.type == "cuda")
        self._rows = self._host if device.type == "cpu" else self._host.to(device)
        columns = torch.split_with_sizes(self._host, widths, 1)
        observations, actions, next_observations, _, rewards, terminated = columns
        self._host_columns = (
            observations.numpy(),
            next_observations.numpy(),
            actions.numpy(),
            rewards[:, 0].numpy(),
            terminated[:, 0].numpy(),
        )
        pair = observation_size + action_size
        self.inputs, self.next_inputs, _ = torch.split_with_sizes(self._rows, (pair, pair, 2), 1)
        (
            self.observations,
            self.actions,
            self.next_observations,
            self.next_actions,
            self.rewards,
            self.terminated,
        ) = torch.split_with_sizes(self._rows, widths, 1)

    def fill(self, batch: Batch) -> None:
        for column, values in zip(self._host_columns, batch, strict=True):
            column[...] = values
        if self._rows is not self._host:
            # Not asynchronous: the next batch must not overwrite rows that are still under way.
            self._rows.copy_(self._host)


class ActorHeads(Protocol):
    """What an actor's heads say to the current observations, as numpy arrays."""

    def __call__(self, observations: NDArray[Any]) -> list[Array]:
        """One array (environments, size) per head, to be changed at will."""


class HeadsOnCpu:
    """In numpy, on torch's memory: a single observation costs it half of what it costs torch."""

    def __init__(self, actor: nn.Module) -> None:
        first, second, *heads = linear_layers(actor)
        self._trunk = DenseNetwork([first, nn.ReLU(), second, nn.ReLU()])
        self._heads = [LinearLayer(head) for head in heads]

    def __call__(self, observations: NDArray[Any]) -> list[Array]:
        hidden = self._trunk.forward(observations.astype(np.float32, copy=False))
        return [head.forward(hidden) for head in self._heads]


class HeadsOnGpu:
    """One copy there, one back; `evaluate` in between can be recorded as a CUDA graph."""

    def __init__(self, actor: nn.Module, flat: FlatParameters, num_envs: int) -> None:
        layers = linear_layers(actor)
        self._towers = Towers(flat, [actor], num_envs)
        self._observations = flat.gradient.new_zeros(num_envs, layers[0].in_features)
        self._sizes = [head.out_features for head in layers[2:]]
        self.evaluate = self._evaluate

    def _evaluate(self) -> Tensor:
        return torch.cat([head[0] for head in self._towers.forward(self._observations)], 1)

    def __call__(self, observations: NDArray[Any]) -> list[Array]:
        self._observations.copy_(torch.from_numpy(observations))
        outputs = self.evaluate().cpu()
        return [head.numpy() for head in torch.split_with_sizes(outputs, self._sizes, 1)]


def actor_heads(actor: nn.Module, flat: FlatParameters, num_envs: int) -> ActorHeads:
    is_gpu = flat.gradient.device.type == "cuda"
    return HeadsOnGpu(actor, flat, num_envs) if is_gpu else HeadsOnCpu(actor)


class TowersLearner(ABC):
    """Learns with Towers. All tensors keep their place, so a graph can be recorded.

    `update_critics` and `update_actor` work on `rows`; neither gives anything back to the host.
    """

    heads: ActorHeads  # of the acting policy

    def __init__(
        self,
        arguments: ReplayHyperparameters,
        observation_size: int,
        action_range: ActionRange,
        device: torch.device,
    ) -> None:
        self.action_range = action_range
        self.gamma, self.tau = arguments.gamma, arguments.tau
        self.batch_size = arguments.batch_size
        self.policy_frequency = arguments.policy_frequency
        self.rows = TransitionRows(
            arguments.batch_size, observation_size, action_range.size, device
        )
        # Set apart from the methods, as recorded graphs take their place.
        self._critics_step: Callable[[], Tensor] = self.update_critics
        self._actor_step: Callable[[], Tensor] = self.update_actor

    @abstractmethod
    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> Array: ...

    @abstractmethod
    def update(self, batch: Batch, iteration: int) -> None: ...

    @abstractmethod
    def update_critics(self) -> Tensor: ...

    @abstractmethod
    def update_actor(self) -> Tensor: ...

    @abstractmethod
    def metrics(self) -> dict[str, float]: ...

    @abstractmethod
    def changed_tensors(self) -> Sequence[Tensor]:
        """All that the updates alter and the future depends on."""

    def record_graphs(self) -> None:
        """On a GPU: replay each update, and acting, with one launch. Raises RuntimeError."""
        changed = self.changed_tensors()
        critics_step = graphed(self.update_critics, (), changed)
        actor_step = graphed(self.update_actor, (), changed)
        self._critics_step, self._actor_step = critics_step, actor_step
        if isinstance(self.heads, HeadsOnGpu):
            self.heads.evaluate = graphed(self.heads.evaluate, ())

    def bootstrapped(self, next_values: Tensor) -> Tensor:
        """The critics' targets (batch, 1). Truncated episodes continue, terminated ones do not.

        Changes `next_values`.
        """
        rows = self.rows
        next_values -= rows.terminated * next_values
        return next_values.mul_(self.gamma).add_(rows.rewards)
