"""TransitionRows: sampled transitions where the networks of continuous control read them."""

from __future__ import annotations

import torch

from cleanrl_worker.kit.replay_buffer import Batch


class TransitionRows:
    """Always the same memory, so that a CUDA graph finds each batch in its place.

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
