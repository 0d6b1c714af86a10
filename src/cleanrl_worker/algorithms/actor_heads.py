"""What an actor's heads say to the current observations, as numpy arrays; on a CPU and a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cleanrl_worker.analytic.continuous_towers import Towers, linear_layers
from cleanrl_worker.analytic.dense_network import DenseNetwork, LinearLayer
from cleanrl_worker.kit.flat_parameters import FlatParameters

Array = NDArray[np.float32]


class ActorHeads(Protocol):
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
