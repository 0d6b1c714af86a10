"""An algorithm for tests of arguments, with a parameter of every kind."""

from __future__ import annotations

from dataclasses import dataclass

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.registry import Algorithm
from mosaic.worker import option


@dataclass(frozen=True)
class SampleArguments(Arguments):
    anneal_lr: bool = option(True, help="the learning rate falls")
    target_kl: float | None = option(None, help="stop an update early")
    update_epochs: int = option(4, help="passes over the data", minimum=1)


ARGUMENTS = SampleArguments
SAMPLE = Algorithm(
    "sample",
    __name__,
    "for tests",
    ("discrete",),
    preset={"env_id": "Pendulum-v1", "update_epochs": 10},
)
