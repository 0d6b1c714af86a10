"""Actions as JSON: what a person sends becomes what the environment takes, or a reason why not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces


class ActionError(ValueError):
    """The action cannot be taken; the message says why."""


def read_action(space: spaces.Space[Any], value: Any) -> Any:
    """Continuous actions beyond their bounds are clipped, as in training."""
    if isinstance(space, spaces.Discrete):
        return _discrete(space, value)
    if isinstance(space, spaces.Box):
        return _continuous(space, value)
    raise ActionError(f"actions of the kind {type(space).__name__} cannot be sent")


def action_space_json(space: spaces.Space[Any]) -> dict[str, Any]:
    if isinstance(space, spaces.Discrete):
        return {"type": "discrete", "n": int(space.n)}
    if isinstance(space, spaces.Box):
        return {
            "type": "continuous",
            "shape": list(space.shape),
            "low": space.low.tolist(),
            "high": space.high.tolist(),
        }
    return {"type": type(space).__name__.lower()}


def _discrete(space: spaces.Discrete, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < space.n:
        raise ActionError(f"an action is an integer from 0 to {int(space.n) - 1}")
    return value


def _continuous(space: spaces.Box, value: Any) -> Any:
    wanted = f"an action is {math.prod(space.shape)} numbers of the shape {list(space.shape)}"
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ActionError(wanted) from error
    if numbers.shape == () and space.shape == (1,):
        numbers = numbers[None]
    if isinstance(value, str | bool) or numbers.shape != space.shape:
        raise ActionError(wanted)
    if not np.isfinite(numbers).all():
        raise ActionError("an action must be finite")
    return np.clip(numbers, space.low, space.high).astype(space.dtype)
