"""On a GPU: the update of `algorithms/sac_discrete.py`, and acting, replayed as CUDA graphs."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.accelerators.cuda_graphs import Function, graphed, record_graphs_if_wanted
from cleanrl_worker.kit.optimizers import FlatAdam
from cleanrl_worker.kit.session import Session


class PlainDiscreteSAC(Protocol):
    """What is accelerated; its `step` and `logits` are replaced."""

    device: torch.device
    actor_optimizer: FlatAdam
    critic_optimizer: FlatAdam
    alpha_optimizer: FlatAdam
    step: Function
    logits: Function

    @property
    def actor(self) -> nn.Module: ...


def accelerate_sac_discrete(
    learner: PlainDiscreteSAC, observations: NDArray[Any], batch_size: int, session: Session
) -> None:
    """Where `compile` asks for it; on a CPU nothing beats plain torch."""

    def record() -> None:
        seen = torch.from_numpy(observations).to(learner.device)
        rows = seen[:1].expand(batch_size, *seen.shape[1:])
        numbers = torch.zeros(batch_size, device=learner.device)
        changed = [
            *learner.actor_optimizer.tensors(),
            *learner.critic_optimizer.tensors(),
            *learner.alpha_optimizer.tensors(),
        ]
        step = graphed(learner.step, (rows, rows, numbers.long(), numbers, numbers), changed)
        with torch.no_grad():
            learner.logits = graphed(learner.actor, [seen])
        learner.step = step

    if session.arguments.accelerate:
        record_graphs_if_wanted(record, session)
