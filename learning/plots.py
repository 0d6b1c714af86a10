"""One picture per algorithm: a panel per environment, a line per seed, a band as expected."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from learning.results import Result


def plot_algorithm(algo: str, results: list[Result], folder: Path) -> Path:
    figure, panels = plt.subplots(
        1, len(results), figsize=(5.2 * len(results), 3.6), squeeze=False, layout="constrained"
    )
    for panel, result in zip(panels[0], results, strict=True):
        item = result.experiment
        low, high = item.expected - item.deviation, item.expected + item.deviation
        panel.axhspan(low, high, color="#2a9d8f", alpha=0.15, label=f"expected ({item.source})")
        panel.axhline(item.expected, color="#2a9d8f", linewidth=0.8)
        for seed in result.seeds:
            steps, returns = zip(*seed.curve, strict=True)
            panel.plot(steps, returns, linewidth=1.2, label=f"seed {seed.seed}")
        panel.set_title(item.env_id, fontsize=10)
        panel.set_xlabel("environment steps")
        panel.set_ylabel("episodic return")
        panel.grid(alpha=0.25)
        panel.legend(fontsize=7)
    figure.suptitle(algo)
    path = folder / f"{algo}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
