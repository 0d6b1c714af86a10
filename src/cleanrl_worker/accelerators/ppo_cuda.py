"""PPO on a GPU: the loss of its file, memory that stays in place, and updates replayed as graphs.

Towers act in numpy on the CPU. Other networks act on the GPU, where their observations then stay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.accelerators.cuda_graphs import Function, first_graph
from cleanrl_worker.accelerators.ppo_policy import MirroredPolicy
from cleanrl_worker.agents.action_distributions import ActionDistribution, Actions
from cleanrl_worker.agents.actor_critic import ActorCritic
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.optimizers import FlatAdam
from cleanrl_worker.kit.rollout import Rollout, RolloutBatch, TensorBatch
from cleanrl_worker.kit.session import Session

Array = NDArray[np.float32]

ROWS_AT_ONCE = 512  # of images, when a whole rollout is evaluated

Loss = Callable[[ActorCritic, TensorBatch, Any], tuple[Tensor, dict[str, Tensor]]]


class GpuRollout(Rollout):
    """Acting, evaluating and learning share one upload; most of a rollout's bytes are observations.

    The host's side is pinned, so that the copy need not be waited for. A step's memory is written
    again a rollout later, when the GPU has long read it.
    """

    def __init__(self, num_steps: int, envs: EnvBatch, device: torch.device) -> None:
        super().__init__(num_steps, envs)
        self._pinned = torch.from_numpy(self.observations).pin_memory()
        self.observations = self._pinned.numpy()
        self._on_gpu = torch.zeros_like(self._pinned, device=device)

    def observations_at(self, index: int) -> Tensor:
        observations = self._on_gpu[index]
        observations.copy_(self._pinned[index], non_blocking=True)
        return observations

    def all_observations(self) -> Tensor:
        self.observations_at(self.steps)  # the last successors: nobody has acted upon them yet
        return self._on_gpu[: self.steps + 1].flatten(0, 1)


class GpuPolicy:
    """A network that acts on the GPU; the actions are drawn in numpy."""

    def __init__(self, agent: ActorCritic, session: Session, use_graph: bool) -> None:
        self.agent = agent
        self.distribution: ActionDistribution = agent.action_distribution()
        self.device = session.device
        self.note = session.note
        self.run_policy: Function | None = None if use_graph else agent.policy

    def start_rollout(self, num_envs: int) -> None:
        self.distribution = self.agent.action_distribution()

    @torch.no_grad()
    def act(self, observations: Any, noise: Array) -> Actions:
        inputs = torch.as_tensor(observations, device=self.device)
        if self.run_policy is None:
            candidates = [(self.agent.policy, "a CUDA graph")]
            self.run_policy = first_graph(candidates, inputs, (), self.note)
        return self.distribution.sample(self.run_policy(inputs).cpu().numpy(), noise)

    @torch.no_grad()
    def evaluate(self, observations: Any) -> tuple[Array, Array]:
        parts = [
            self.agent.policy_and_value(rows.to(self.device))
            for rows in torch.split(torch.as_tensor(observations), ROWS_AT_ONCE)
        ]
        outputs, values = zip(*parts, strict=True)
        return torch.cat(outputs).cpu().numpy(), torch.cat(values).cpu().numpy()


class CudaPPO:
    """The whole update of a minibatch reads and writes tensors that stay where they are, so that
    it can be one graph."""

    def __init__(
        self,
        agent: ActorCritic,
        optimizer: FlatAdam,
        loss: Loss,
        arguments: Any,  # those of the algorithm: the loss takes them
        session: Session,
    ) -> None:
        self.agent, self.optimizer, self.loss, self.arguments = agent, optimizer, loss, arguments
        self.device = session.device
        self.note = session.note
        self.use_graph: bool = arguments.compile
        self.policy: GpuPolicy | MirroredPolicy
        if isinstance(agent, DiscreteTowers | ContinuousTowers):
            self.policy = MirroredPolicy(agent, optimizer.flat)
        else:
            self.policy = GpuPolicy(agent, session, self.use_graph)
        self.loaded: Any = None  # a TensorBatch, on the CPU but for a GpuRollout's observations
        self.batch: Any = None  # all of it on the device
        self.order: Any = None
        self.metric_names: list[str] = []
        self.last_metrics = torch.zeros(0, device=self.device)
        self.clip_fractions = torch.zeros((), device=self.device)
        self.updates = 0
        self.graph: Function | None = None
        self.rows_of_graph = 0

    @property
    def distribution(self) -> ActionDistribution:
        return self.policy.distribution

    def new_rollout(self, num_steps: int, envs: EnvBatch) -> Rollout:
        if self.device.type == "cuda" and isinstance(self.policy, GpuPolicy):
            return GpuRollout(num_steps, envs, self.device)
        return Rollout(num_steps, envs)

    def start_rollout(self, num_envs: int) -> None:
        self.policy.start_rollout(num_envs)

    def act(self, observations: Any, noise: Array) -> Actions:
        return self.policy.act(observations, noise)

    def evaluate(self, observations: Any) -> tuple[Array, Array]:
        return self.policy.evaluate(observations)

    def load(self, batch: RolloutBatch) -> None:
        self.loaded = TensorBatch(*[torch.as_tensor(field) for field in batch])
        self.place(self.loaded)
        self.clip_fractions.zero_()
        self.updates = 0

    def place(self, batch: TensorBatch) -> None:
        if self.device.type == "cpu":
            self.batch = batch
        elif self.batch is None:  # the first rollout of a run is its longest
            self.batch = TensorBatch(*[field.to(self.device) for field in batch])
        else:
            for mine, new in zip(self.batch, batch, strict=True):
                if new.device.type == "cpu":  # a GpuRollout's observations are in their place
                    mine[: len(new)].copy_(new)

    def start_epoch(self, order: NDArray[np.int64], shift: Array | None) -> None:
        self.order = torch.from_numpy(order).to(self.device)
        if shift is not None:
            actions = self.loaded.actions - torch.from_numpy(shift)
            self.place(self.loaded._replace(actions=actions))

    def update(self, start: int, end: int) -> None:
        rows = self.order[start:end]
        if self.use_graph and self.graph is None:
            self.graph, self.rows_of_graph = self.capture(rows), len(rows)
        if self.graph is not None and len(rows) == self.rows_of_graph:
            self.last_metrics = self.graph(rows)
        else:
            self.last_metrics = self.update_rows(self.loss, rows)
        self.updates += 1

    def update_rows(self, loss_of: Loss, rows: Tensor) -> Tensor:
        """One step of the optimiser; returns the metrics, whose names it leaves behind."""
        batch = TensorBatch(*[field.index_select(0, rows) for field in self.batch])
        loss, metrics = loss_of(self.agent, batch, self.arguments)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.flat.clip_gradient(self.arguments.max_grad_norm)
        self.optimizer.step()
        self.clip_fractions += metrics["losses/clipfrac"]
        self.metric_names = list(metrics)
        return torch.stack(list(metrics.values()))

    def capture(self, example: Tensor) -> Function:
        return first_graph(
            [
                (partial(self.update_rows, torch.compile(self.loss)), "a compiled CUDA graph"),
                (partial(self.update_rows, self.loss), "a CUDA graph"),
            ],
            example,
            (*self.optimizer.tensors(), self.optimizer.gradient, self.clip_fractions),
            self.note,
        )

    def approximate_kl(self) -> float:
        return float(self.last_metrics[self.metric_names.index("losses/approx_kl")])

    def metrics(self) -> dict[str, float]:
        last = dict(zip(self.metric_names, self.last_metrics.tolist(), strict=True))
        return {**last, "losses/clipfrac": float(self.clip_fractions) / self.updates}
