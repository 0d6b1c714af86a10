"""`python -m learning.collect MACHINE FILE…`: takes over what `learning.alone` measured."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from learning.__main__ import draw
from learning.experiments import EXPERIMENTS
from learning.results import Result, Seed, load, store


def main() -> int:
    machine, *files = sys.argv[1:]
    known = {item.name: item for item in EXPERIMENTS}
    seeds: dict[str, list[Seed]] = {}
    for path in files:
        name, seed = read_seed(Path(path))
        seeds.setdefault(name, []).append(seed)
    results = load()
    for name, of_experiment in seeds.items():
        ordered = tuple(sorted(of_experiment, key=lambda seed: seed.seed))
        results[name] = Result(known[name], ordered, time.strftime("%Y-%m-%d"), machine)
    store(results)
    draw(results, {known[name].algo for name in seeds})
    return 0


def read_seed(path: Path) -> tuple[str, Seed]:
    """The name of the experiment, and one training of it."""
    found = json.loads(path.read_text())
    return found["experiment"], Seed(**found["seed"], steps=found["steps"])


if __name__ == "__main__":
    sys.exit(main())
