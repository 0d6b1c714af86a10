"""Compares the gradients two networks of one shape hold."""

from __future__ import annotations

import torch
from torch import nn


def assert_same_gradients(ours: nn.Module, expected: nn.Module, tolerance: float = 1e-4) -> None:
    """Relative to the largest of each parameter: a sum of many terms rounds by its size."""
    for (name, value), other in zip(ours.named_parameters(), expected.parameters(), strict=True):
        assert value.grad is not None
        assert other.grad is not None
        size = other.grad.abs().max().item()
        assert size > 0.0, f"{name} has no gradient at all"
        difference = (value.grad - other.grad).abs().max().item()
        assert difference <= tolerance * size, f"{name} differs by {difference} of {size}"
        assert torch.isfinite(value.grad).all()
