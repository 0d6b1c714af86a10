"""Layers as the published agents initialise them."""

from __future__ import annotations

import math
from typing import TypeVar

import torch
from torch import Tensor, nn

Weighted = TypeVar("Weighted", bound=nn.Linear | nn.Conv2d)


def layer_init(layer: Weighted, std: float = math.sqrt(2.0)) -> Weighted:
    """The layer with orthogonal weights scaled by `std`, and no bias."""
    nn.init.orthogonal_(layer.weight, std)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def tanh_tower(inputs: int, outputs: int, output_std: float) -> nn.Sequential:
    """Two hidden layers of 64 and an output: what small control problems are learnt with."""
    return nn.Sequential(
        layer_init(nn.Linear(inputs, 64)),
        nn.Tanh(),
        layer_init(nn.Linear(64, 64)),
        nn.Tanh(),
        layer_init(nn.Linear(64, outputs), output_std),
    )


def scaled_image(image: Tensor, largest: float) -> Tensor:
    """Numbers up to `largest` as floats up to 1, laid out as convolutions on a CPU like it best."""
    return image.contiguous(memory_format=torch.channels_last) / largest
