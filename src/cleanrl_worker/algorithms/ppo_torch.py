"""PPO's policy and learner for any network, on a CPU or a GPU: gradients by torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.agents.actor_critic import ActorCritic, DiscreteActorCritic, Likelihood
from cleanrl_worker.analytic.ppo_distributions import (
    ActionDistribution,
    Actions,
    CategoricalDistribution,
)
from cleanrl_worker.kit.cuda_graph import Function, graphed
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.rollout import RolloutBatch

if TYPE_CHECKING:
    from cleanrl_worker.algorithms.ppo import ClippedArguments
    from cleanrl_worker.kit.session import Session

Array = NDArray[np.float32]

ROWS_AT_ONCE = 512  # of images, when a rollout is judged
FIGURES = ("value_loss", "policy_loss", "entropy", "old_approx_kl", "approx_kl", "clipfrac")


LossFunction = Callable[["ActorCritic", "TensorBatch", "ClippedArguments"], tuple[Tensor, Tensor]]


class TensorBatch(NamedTuple):
    """RolloutBatch in torch."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


def ppo_loss(
    agent: Likelihood,
    output: Tensor,
    values: Tensor,
    batch: TensorBatch,
    arguments: ClippedArguments,
) -> tuple[Tensor, Tensor]:
    """The loss of a minibatch, and its FIGURES, from what the network now says about it."""
    log_ratio = agent.log_probability(output, batch.actions) - batch.log_probabilities
    ratio = log_ratio.exp()
    clip = arguments.clip_coef
    advantages = normalized(batch.advantages) if arguments.norm_adv else batch.advantages
    gain = ratio * advantages
    policy_loss = -torch.minimum(gain, ratio.clamp(1.0 - clip, 1.0 + clip) * advantages).mean()
    errors = (values - batch.returns).square()
    if arguments.clip_vloss:
        clipped = batch.values + (values - batch.values).clamp(-clip, clip)
        errors = torch.maximum(errors, (clipped - batch.returns).square())
    value_loss = 0.5 * errors.mean()
    entropy = agent.entropy(output).mean()
    loss = policy_loss - arguments.ent_coef * entropy + arguments.vf_coef * value_loss
    with torch.no_grad():
        approximate_kl = (ratio - 1.0 - log_ratio).mean()
        clip_fraction = ((ratio - 1.0).abs() > clip).to(torch.float32).mean()
        figures = (value_loss, policy_loss, entropy, -log_ratio.mean(), approximate_kl)
        return loss, torch.stack((*figures, clip_fraction))


def normalized(advantages: Tensor) -> Tensor:
    """With mean 0 and spread 1; a single row has no spread."""
    centred = advantages - advantages.mean()
    spread = (centred.square().sum() / max(1, len(centred) - 1)).sqrt()
    return centred / (spread + 1e-8)


def minibatch_loss(
    agent: ActorCritic, batch: TensorBatch, arguments: ClippedArguments
) -> tuple[Tensor, Tensor]:
    output, values = agent.policy_and_value(batch.observations)
    return ppo_loss(agent, output, values, batch, arguments)


class TorchPolicy:
    """A network with discrete actions, run by torch; the actions are drawn in numpy."""

    def __init__(
        self, agent: DiscreteActorCritic, arguments: ClippedArguments, session: Session
    ) -> None:
        self.agent = agent
        self.distribution: ActionDistribution = CategoricalDistribution(agent.num_actions)
        self.device = session.device
        self.note = session.note
        self.run_policy: Function | None = None if wants_graph(arguments, session) else agent.policy

    def start_rollout(self, rows: int) -> None:
        """The network is the learner's own."""

    @torch.no_grad()
    def act(self, observations: Any, noise: Array) -> Actions:
        inputs = torch.as_tensor(observations, device=self.device)
        if self.run_policy is None:
            self.run_policy = fastest([(self.agent.policy, "a CUDA graph")], inputs, (), self.note)
        return self.distribution.sample(self.run_policy(inputs).cpu().numpy(), noise)

    @torch.no_grad()
    def judge(self, observations: Any) -> tuple[Array, Array]:
        parts = [
            self.agent.policy_and_value(rows.to(self.device))
            for rows in torch.split(torch.as_tensor(observations), ROWS_AT_ONCE)
        ]
        outputs, values = zip(*parts, strict=True)
        return torch.cat(outputs).cpu().numpy(), torch.cat(values).cpu().numpy()


class TorchLearner:
    """The whole update of a minibatch reads and writes tensors that stay where they are, so that
    on a GPU it can be one graph."""

    def __init__(
        self,
        agent: ActorCritic,
        flat: FlatParameters,
        optimizer: FlatAdam,
        arguments: ClippedArguments,
        session: Session,
    ) -> None:
        self.agent, self.flat, self.optimizer = agent, flat, optimizer
        self.arguments = arguments
        self.device = session.device
        self.note = session.note
        self.loaded: Any = None  # a TensorBatch, on the CPU but for a GpuRollout's observations
        self.batch: Any = None  # all of it on the device
        self.order: Any = None
        self.last_figures = torch.zeros(len(FIGURES), device=self.device)
        self.clip_fractions = torch.zeros((), device=self.device)
        self.updates = 0
        self.wants_graph = wants_graph(arguments, session)
        self.graph: Function | None = None
        self.rows_of_graph = 0

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

    def learn(self, start: int, end: int) -> None:
        rows = self.order[start:end]
        if self.wants_graph and self.graph is None:
            self.graph, self.rows_of_graph = self.capture(rows), len(rows)
        if self.graph is not None and len(rows) == self.rows_of_graph:
            self.last_figures = self.graph(rows)
        else:
            self.last_figures = self.update(minibatch_loss, rows)
        self.updates += 1

    def update(self, loss_of: LossFunction, rows: Tensor) -> Tensor:
        """One step of the optimiser; returns the FIGURES."""
        batch = TensorBatch(*[field.index_select(0, rows) for field in self.batch])
        loss, figures = loss_of(self.agent, batch, self.arguments)
        self.flat.gradient.zero_()
        loss.backward()
        self.flat.clip_gradient(self.arguments.max_grad_norm)
        self.optimizer.step()
        self.clip_fractions += figures[-1]
        return figures

    def capture(self, example: Tensor) -> Function:
        return fastest(
            [
                (partial(self.update, torch.compile(minibatch_loss)), "a compiled CUDA graph"),
                (partial(self.update, minibatch_loss), "a CUDA graph"),
            ],
            example,
            (*self.optimizer.tensors(), self.flat.gradient, self.clip_fractions),
            self.note,
        )

    def approximate_kl(self) -> float:
        return float(self.last_figures[FIGURES.index("approx_kl")])

    def figures(self) -> dict[str, float]:
        return named_figures(self.last_figures, float(self.clip_fractions) / self.updates)


def named_figures(last: Tensor, clip_fraction: float) -> dict[str, float]:
    """The last minibatch's FIGURES as CleanRL names them, the clip fraction that of all."""
    named = {f"losses/{name}": value for name, value in zip(FIGURES, last.tolist(), strict=True)}
    return {**named, "losses/clipfrac": clip_fraction}


def wants_graph(arguments: ClippedArguments, session: Session) -> bool:
    return arguments.compile and session.device.type == "cuda"


def fastest(
    candidates: list[tuple[Function, str]],
    example: Tensor,
    changes: tuple[Tensor, ...],
    note: Callable[[str], None],
) -> Function:
    """The first candidate that can be captured as a graph, else the last one as it is."""
    for function, name in candidates:
        try:
            return graphed(function, [example], changes)
        except RuntimeError as error:
            reason = str(error).strip().partition("\n")[0]
            note(f"{name} is not possible here, going on without it: {reason}")
    return candidates[-1][0]
