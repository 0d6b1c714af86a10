"""BatchSummary: the metrics of one batch of episodes; SummaryFile: `eval_summary.json`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cleanrl_worker.evaluation.episodes import FinishedEpisode
from mosaic.contracts.evaluation_summary import FILE_NAME
from mosaic.files import atomic_write_json, read_json
from mosaic.logs import get_logger
from mosaic.worker import to_json

# A repeated evaluation may continue for days, and each batch writes the file anew.
MAX_HISTORY = 1000

log = get_logger(__name__)


@dataclass(frozen=True)
class Conditions:
    """What makes two evaluations the same: their episodes then give the same returns."""

    policy_path: str
    algo: str
    env_id: str
    seed: int  # episode number k, from 0, has `seed + k`
    deterministic: bool


@dataclass(frozen=True)
class BatchSummary(Conditions):
    batch_index: int  # counts from 1
    episodes: int
    avg_return: float
    min_return: float
    max_return: float
    median_return: float
    std_return: float
    avg_discounted_return: float
    avg_length: float
    total_steps: int
    duration_sec: float
    first_seed: int
    last_seed: int
    updated_at: float

    def metrics(self) -> dict[str, float]:
        """What is worth a curve over the batches."""
        names = (
            "avg_return",
            "min_return",
            "max_return",
            "median_return",
            "std_return",
            "avg_discounted_return",
            "avg_length",
            "episodes",
            "duration_sec",
        )
        return {name: float(getattr(self, name)) for name in names}


def summarize(
    conditions: Conditions,
    batch_index: int,
    episodes: Sequence[FinishedEpisode],
    duration_sec: float,
) -> BatchSummary:
    # By number, not as they ended: sums of floats depend on their order.
    episodes = sorted(episodes, key=lambda episode: episode.number)
    returns = np.array([episode.total_reward for episode in episodes])
    discounted = np.array([episode.discounted_return for episode in episodes])
    lengths = np.array([episode.length for episode in episodes])
    with np.errstate(invalid="ignore"):  # an environment may well give infinite rewards
        std_return = float(returns.std())
    return BatchSummary(
        **vars(conditions),
        batch_index=batch_index,
        episodes=len(episodes),
        avg_return=float(returns.mean()),
        min_return=float(returns.min()),
        max_return=float(returns.max()),
        median_return=float(np.median(returns)),
        std_return=std_return,
        avg_discounted_return=float(discounted.mean()),
        avg_length=float(lengths.mean()),
        total_steps=int(lengths.sum()),
        duration_sec=duration_sec,
        first_seed=episodes[0].seed,
        last_seed=episodes[-1].seed,
        updated_at=time.time(),
    )


class SummaryFile:
    """`{"latest": …, "history": […]}`; continues where an earlier attempt of the run ended."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self.history: list[dict[str, Any]] = self._read()

    @property
    def next_batch_index(self) -> int:
        return int(self.history[-1]["batch_index"]) + 1 if self.history else 1

    def next_episode(self, conditions: Conditions) -> int:
        """The first episode that this evaluation has not played yet."""
        last = self.history[-1] if self.history else {}
        if any(last.get(name) != value for name, value in vars(conditions).items()):
            return 0
        return int(last["last_seed"]) - conditions.seed + 1

    def append(self, summary: BatchSummary) -> None:
        entry = to_json(asdict(summary))
        self.history = [*self.history, entry][-MAX_HISTORY:]
        try:
            atomic_write_json(self.path, {"latest": entry, "history": self.history})
        except OSError as error:
            # The next batch writes all of it again.
            log.warning("summary.write_failed", path=str(self.path), error=error.strerror)

    def _read(self) -> list[dict[str, Any]]:
        try:
            content = read_json(self.path)
            history: list[dict[str, Any]] = [] if content is None else list(content["history"])
            for entry in history:
                int(entry["batch_index"]), int(entry["last_seed"])
        except (ValueError, TypeError, KeyError, OSError) as error:
            log.warning("summary.discarded", path=str(self.path), error=str(error))
            return []
        return history
