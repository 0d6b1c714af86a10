"""ActionRange: the bounds of continuous actions, and how [-1, 1] is stretched to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import ConfigError

if TYPE_CHECKING:
    import gymnasium

Array = NDArray[np.float32]


class ActionRange:
    def __init__(self, low: NDArray[Any], high: NDArray[Any]) -> None:
        self.low: Array = np.asarray(low, np.float32)
        self.high: Array = np.asarray(high, np.float32)
        # In the precision of the bounds, then rounded: as in CleanRL's files.
        self.scale: Array = np.asarray((high - low) / 2.0, np.float32)
        self.bias: Array = np.asarray((high + low) / 2.0, np.float32)
        self.size = self.low.size

    @classmethod
    def of(cls, space: gymnasium.Space[Any]) -> ActionRange:
        """Raises ConfigError when it is no box with bounds."""
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
