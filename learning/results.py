"""Results of the suite: kept as JSON beside the plots, shown as a table."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from learning.experiments import EXPERIMENTS, Experiment
from mosaic.files import atomic_write, atomic_write_json

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "learning"
RESULTS = FOLDER / "results.json"


@dataclass(frozen=True)
class Seed:
    seed: int
    mean_return: float  # of the last 100 training episodes
    duration_s: float
    steps_per_second: float
    curve: list[tuple[int, float]]  # (step, mean return of the episodes around it)
    steps: int = 0  # 0: all of the experiment's


@dataclass(frozen=True)
class Result:
    experiment: Experiment
    seeds: tuple[Seed, ...]
    date: str
    machine: str = "2 cores"

    @property
    def steps(self) -> int:
        """Of the seed that came least far."""
        return min(seed.steps or self.experiment.total_timesteps for seed in self.seeds)

    @property
    def verdict(self) -> str:
        if self.is_reached:
            return "yes"
        share = self.steps / self.experiment.total_timesteps
        return "**no**" if share >= 1.0 else f"cut off at {share:.0%} of the steps"

    @property
    def mean(self) -> float:
        return statistics.fmean(seed.mean_return for seed in self.seeds)

    @property
    def spread(self) -> float:
        return statistics.stdev(s.mean_return for s in self.seeds) if len(self.seeds) > 1 else 0.0

    @property
    def is_reached(self) -> bool:
        return self.experiment.is_reached(self.mean)


def load() -> dict[str, Result]:
    if not RESULTS.exists():
        return {}
    known = {item.name: item for item in EXPERIMENTS}
    found = {}
    for name, data in json.loads(RESULTS.read_text()).items():
        if name in known:
            seeds = tuple(Seed(**seed) for seed in data["seeds"])
            found[name] = Result(known[name], seeds, data["date"], data.get("machine", "2 cores"))
    return found


def store(results: dict[str, Result]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    plain: dict[str, Any] = {
        name: {
            "date": result.date,
            "machine": result.machine,
            "seeds": [asdict(seed) for seed in result.seeds],
        }
        for name, result in results.items()
    }
    atomic_write_json(RESULTS, plain)
    atomic_write(FOLDER / "README.md", (page(results) + "\n").encode())


def page(results: dict[str, Result]) -> str:
    lines = [
        "# Learning curves",
        "",
        "Made by `make learn`: through the daemon, as anybody would train, three seeds each,",
        "ten where single seeds fail now and then;",
        "those on a GPU by `learning/borrowed_machine.sh`, several at once on one machine.",
        "",
        "The return is the mean of the last 100 training episodes of each seed, ± the deviation",
        "over seeds (for Pendulum-v1, whose run has 100 episodes, of the last 20). Reached means",
        "at least the expected value minus its deviation.",
        "",
        "| experiment | steps | seeds | return | expected | reached | steps/s | machine, date |",
        "|---|--:|--:|--:|--:|---|--:|---|",
    ]
    for name in sorted(results):
        result = results[name]
        item = result.experiment
        speed = statistics.fmean(seed.steps_per_second for seed in result.seeds)
        kind = ", negative control" if item.is_negative else ""
        lines.append(
            f"| {name} | {result.steps:,} | {len(result.seeds)} "
            f"| {result.mean:.2f} ± {result.spread:.2f} "
            f"| {item.expected:.2f} ± {item.deviation:.2f} ({item.source}{kind}) "
            f"| {result.verdict} | {speed:,.0f} | {result.machine}, {result.date} |"
        )
    plots = sorted({result.experiment.algo for result in results.values()})
    lines += ["", *(f"![{algo}]({algo}.png)\n" for algo in plots)]
    return "\n".join(lines).rstrip()
