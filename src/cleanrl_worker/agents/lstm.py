"""LSTMAgent: single frames through the Nature CNN, an LSTM as memory, two heads."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.actor_critic import DiscretePolicy
from cleanrl_worker.agents.layers import layer_init, scaled_image
from cleanrl_worker.agents.nature_cnn import FEATURES, LARGEST_PIXEL, nature_features

MEMORY = 128

Memory = tuple[Tensor, Tensor]  # hidden and cell state, each (1, rows, MEMORY)


class LSTMAgent(DiscretePolicy, nn.Module):
    """Parameter names as in CleanRL's `ppo_atari_lstm.py`."""

    def __init__(self, channels: int, actions: int) -> None:
        super().__init__()
        self.num_actions = actions
        self.network = nature_features(channels)
        self.lstm = nn.LSTM(FEATURES, MEMORY)
        for name, parameter in self.lstm.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            else:
                nn.init.orthogonal_(parameter)
        self.actor = layer_init(nn.Linear(MEMORY, actions), std=0.01)
        self.critic = layer_init(nn.Linear(MEMORY, 1), std=1.0)

    def initial_memory(self, rows: int) -> Memory:
        empty = torch.zeros(1, rows, MEMORY, device=self.actor.weight.device)
        return empty, empty.clone()

    def policy_and_value(
        self, observations: Tensor, memory: Memory, starts: Tensor
    ) -> tuple[Tensor, Tensor, Memory]:
        """Logits and values of `steps x rows` observations in a row, and the memory after them.

        `starts` (steps, rows) marks the first observation of an episode: there the memory is
        empty. Steps between two such marks go through the LSTM in one call.
        """
        steps, rows = starts.shape
        features = self.network(scaled_image(observations.flatten(0, 1), LARGEST_PIXEL))
        features = features.view(steps, rows, FEATURES)
        is_kept = 1.0 - starts.to(torch.float32)
        outputs = []
        for start, end in pairwise(unbroken_spans(starts)):
            kept = is_kept[start].view(1, rows, 1)
            memory = (memory[0] * kept, memory[1] * kept)
            output, memory = self.lstm(features[start:end], memory)
            outputs.append(output)
        remembered = torch.cat(outputs).flatten(0, 1)
        return self.actor(remembered), self.critic(remembered).squeeze(1), memory

    @torch.no_grad()
    def act_and_value(
        self, observations: Tensor, deterministic: bool, memory: Memory, starts: Tensor
    ) -> tuple[Tensor, Tensor, Memory]:
        """Actions for evaluation and play, and values; `starts` (rows,) marks new episodes."""
        logits, values, memory = self.policy_and_value(observations[None], memory, starts[None])
        return self.choose(logits, deterministic), values, memory


def unbroken_spans(starts: Tensor) -> list[int]:
    """The bounds of the spans of steps within which no row starts an episode."""
    steps = len(starts)
    breaks = starts[1:].any(1).nonzero().flatten().tolist()
    return [0, *(index + 1 for index in breaks), steps]
