"""What every learner's evaluation can be told, under the names that front ends know."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.learner import Mode
from mosaic.worker.config import option

_MODES = (Mode.EVALUATE.value,)
_MOST_EPISODES = 1_000_000  # of a batch: all of them are kept until it is over


@dataclass(frozen=True)
class EvaluationOptions:
    """The base of a learner's own `extras`."""

    eval_episodes: int | None = option(
        None,
        help="of all batches",
        minimum=1,
        title="Episodes",
        order=1,
        placeholder="one batch",
        flag="--episodes",
        modes=_MODES,
    )
    eval_batch_size: int = option(
        50,
        help="each batch has its own summary",
        minimum=1,
        maximum=_MOST_EPISODES,
        title="Episodes per batch",
        order=2,
        flag="--batch-size",
        modes=_MODES,
    )
    eval_repeat: bool = option(
        False,
        help="batch after batch",
        title="Repeat until stopped",
        order=3,
        flag="--repeat",
        modes=_MODES,
    )
    eval_deterministic: bool = option(
        True,
        help="the best action instead of a sampled one",
        title="Deterministic actions",
        order=4,
        flag="--stochastic",
        modes=_MODES,
    )
    seed_override: int | None = option(
        None,
        help="of the first episode",
        minimum=0,
        title="Seed",
        order=5,
        placeholder="as trained",
        flag="--seed",
        modes=_MODES,
    )
    eval_gamma: float | None = option(
        None,
        help="of the discounted return",
        minimum=0.0,
        maximum=1.0,
        title="Discount",
        section="Details",
        order=7,
        flag="--gamma",
        modes=_MODES,
    )
