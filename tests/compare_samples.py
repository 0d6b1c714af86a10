"""Groups of runs with made-up curves, for tests of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mosaic.compare.comparison import Comparison, Question, compare
from mosaic.compare.curves import Curve, Floats
from mosaic.compare.groups import RunGroup
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState

RETURNS = Question("episodic return", 100)


def run_record(number: int, name: str = "", **changes: Any) -> RunRecord:
    config = config_of(seed=number, **changes.pop("settings", {}))
    record = RunRecord(
        run_id=f"01KATF461V3681NE4E0T3T{number:04d}",
        run_name=name or f"run-seed{number}",
        worker="some",
        state=RunState.TERM,
        outcome=Outcome.SUCCEEDED,
        attempt=1,
        priority=0,
        created_at=0.0,
        updated_at=0.0,
        env_id="CartPole-v1",
        config=config,
    )
    return replace(record, **changes)


def config_of(seed: int = 1, **settings: Any) -> dict[str, Any]:
    return {
        "run_name": f"r-seed{seed}",
        "entry_point": "some",
        "arguments": [],
        "resources": {"cpus": 1, "memory_mb": 512},
        "metadata": {
            "worker": {"config": {"algo": "ppo", "env_id": "CartPole-v1", "seed": seed, **settings}}
        },
    }


def rising_curve(run_id: str, level: float, episodes: int = 300, length: float = 100.0) -> Curve:
    """Rises over the first half, then stays at its level."""
    rng = np.random.default_rng(int(run_id[-4:]))
    rise = np.minimum(1.0, np.arange(episodes) / (episodes / 2))
    values = level * rise + rng.normal(scale=0.02 * abs(level) + 1e-3, size=episodes)
    return Curve.of(run_id, [length * n for n in range(1, episodes + 1)], values)


def tails_of(curves: Mapping[str, Curve]) -> Callable[[str, int, float], Floats]:
    return lambda run_id, count, last_step: curves[run_id].up_to(last_step).values[-count:]


def sample_comparison(
    levels: Sequence[Sequence[float]], labels: Sequence[str] | None = None, **changes: Any
) -> Comparison:
    """One group per list of levels, one seed per level."""
    groups, curves = [], {}
    for place, seeds in enumerate(levels):
        label = labels[place] if labels else f"group {place}"
        runs = [
            run_record(100 * place + seed, f"{label}-seed{seed}", settings={"learning_rate": place})
            for seed in range(len(seeds))
        ]
        groups.append(RunGroup(label, tuple(runs)))
        for run, level in zip(runs, seeds, strict=True):
            curves[run.run_id] = rising_curve(run.run_id, level)
    return compare(changes.pop("question", RETURNS), groups, curves, tails_of(curves))
