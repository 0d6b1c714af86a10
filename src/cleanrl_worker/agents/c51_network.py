"""C51Network: for every action a distribution of returns over fixed atoms, not just its mean."""

from __future__ import annotations

import torch
from torch import Tensor

from cleanrl_worker.agents.q_network import ActionValueNetwork, ObservationInput, value_layers

SMALLEST_PROBABILITY = 1e-5
LARGEST_PROBABILITY = 1.0 - SMALLEST_PROBABILITY  # beyond these two the loss is flat


class C51Network(ActionValueNetwork):
    atoms: Tensor

    def __init__(
        self,
        observation_shape: tuple[int, ...],
        num_actions: int,
        n_atoms: int,
        v_min: float,
        v_max: float,
    ) -> None:
        super().__init__()
        self.num_actions, self.n_atoms = num_actions, n_atoms
        self.register_buffer("atoms", torch.linspace(v_min, v_max, n_atoms))
        self.inputs = ObservationInput(observation_shape)
        self.network = value_layers(self.inputs, num_actions * n_atoms)

    def distributions(self, observations: Tensor) -> Tensor:
        """The probability of every atom: (batch, actions, atoms)."""
        logits: Tensor = self.network(self.inputs.tensor(observations))
        return logits.view(len(logits), self.num_actions, self.n_atoms).softmax(2)

    def values(self, distributions: Tensor) -> Tensor:
        """Mean returns: the last dimension, over atoms, goes."""
        return distributions @ self.atoms

    def forward(self, observations: Tensor) -> Tensor:
        return self.values(self.distributions(observations))
