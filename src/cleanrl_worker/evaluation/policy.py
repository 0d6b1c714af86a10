"""Policy: a trained network that acts, with the memory and the normaliser it was trained with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    import gymnasium

Array = NDArray[Any]
Normalizer = Callable[[Array], Array]

# A network is always asked for a multiple of this many rows. Products of matrices are rounded
# differently for another number of rows, and in the rows left over when the tiles of the processor
# are full; but a result must not depend on how many environments are played at once.
ROWS = 16


class Policy:
    """Acts in `slots` environments at once, each of which plays episodes of its own.

    `agent` is a module with `act(observations, deterministic)`; a recurrent one also takes its
    memory and which rows begin an episode, and gives its memory back.

    Deterministic: the likeliest, or best, action. Stochastic: drawn as in training (Q-networks: a
    random action now and then); every episode draws from a generator of its own, so that it does
    not depend on the others.
    """

    def __init__(
        self,
        agent: Any,
        action_space: gymnasium.Space[Any],
        *,
        slots: int = 1,
        normalizer: Normalizer | None = None,
        is_recurrent: bool = False,
        device: torch.device | None = None,
    ) -> None:
        self._agent = agent.eval()
        self._normalizer = normalizer
        self._device = device or torch.device("cpu")
        self._bounds = _bounds(action_space)
        self._rows = -(-slots // ROWS) * ROWS
        self._memory: tuple[Tensor, ...] | None = None
        if is_recurrent:
            self._memory = self._agent.initial_memory(self._rows)
        self._is_start = torch.ones(self._rows, dtype=torch.bool, device=self._device)
        self._generators = [torch.Generator(self._device) for _ in range(slots)]

    def begin_episode(self, slot: int = 0, seed: int = 0) -> None:
        """Forget the last episode of this slot; `seed` is for stochastic actions."""
        self._is_start[slot] = True
        self._generators[slot].manual_seed(seed)

    def act(self, observations: Array, deterministic: bool = True) -> Array:
        """One action per slot: integers, or vectors within the bounds."""
        if self._normalizer is not None:
            observations = self._normalizer(observations)
        inputs = torch.from_numpy(np.ascontiguousarray(observations)).to(self._device)
        if deterministic:
            missing = self._rows - len(inputs)
            padded = torch.cat([inputs, inputs[:1].expand(missing, *inputs.shape[1:])])
            chosen = self._choose(padded, slice(None), True)[: len(inputs)]
        else:
            chosen = torch.cat([self._sample(inputs, slot) for slot in range(len(inputs))])
        actions: Array = chosen.cpu().numpy()
        if self._bounds is None:
            return actions
        low, high = self._bounds
        return np.clip(actions.reshape(len(actions), *low.shape), low, high)

    def _sample(self, inputs: Tensor, slot: int) -> Tensor:
        with _drawing_from(self._generators[slot]):
            return self._choose(inputs[slot : slot + 1], slice(slot, slot + 1), False)

    def _choose(self, inputs: Tensor, rows: slice, deterministic: bool) -> Tensor:
        if self._memory is None:
            actions: Tensor = self._agent.act(inputs, deterministic)
            return actions
        before = tuple(part[:, rows] for part in self._memory)
        actions, after = self._agent.act(inputs, deterministic, before, self._is_start[rows])
        for part, new in zip(self._memory, after, strict=True):
            part[:, rows] = new
        self._is_start[rows] = False
        return actions


def _bounds(space: gymnasium.Space[Any]) -> tuple[Array, Array] | None:
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    return None if low is None or high is None else (low, high)


@contextmanager
def _drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Agents draw with torch's default generator: for a moment it is this one."""
    default = _default_generator(generator.device)
    before = default.get_state()
    default.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(default.get_state())
        default.set_state(before)


def _default_generator(device: torch.device) -> torch.Generator:
    if device.type == "cuda":
        generators: Sequence[torch.Generator] = torch.cuda.default_generators
        return generators[device.index or 0]
    return torch.default_generator
