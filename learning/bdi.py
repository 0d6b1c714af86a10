"""`python -m learning.bdi [WORD…]`: trains the BDI worker's tables and judges them exactly.

Five seeds each, by the recipes that come along. A learnt policy's value is computed on the
environment's own table, with its limit of steps: no luck of few episodes. Curves are kept in
`docs/learning/bdi.json` and shown in `docs/learning/bdi.md`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from learning.results import FOLDER
from mosaic.files import atomic_write, atomic_write_json
from spade_bdi_rl_worker.learning.exact_value import exact_value, optimal_value
from spade_bdi_rl_worker.learning.pursuits import Pursuit
from spade_bdi_rl_worker.learning.recipes import Recipe, recipe_for
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import ALGORITHMS
from spade_bdi_rl_worker.learning.world import World

SEEDS = range(1, 6)
POINTS = 20  # of a curve
RESULTS, PAGE = FOLDER / "bdi.json", FOLDER / "bdi.md"


@dataclass(frozen=True)
class Case:
    name: str
    env_id: str
    least: float  # of every seed's exact value
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    # Algorithms that learn what their own exploring is worth, and so another policy.
    least_on_policy: float | None = None


CASES = (
    Case("FrozenLake 4x4 slippery", "FrozenLake-v1", 0.70),
    Case("FrozenLake 8x8 slippery", "FrozenLake8x8-v1", 0.85),
    Case("FrozenLake 4x4 not slippery", "FrozenLake-v1", 1.0, {"is_slippery": False}),
    Case("FrozenLake 8x8 not slippery", "FrozenLake8x8-v1", 1.0, {"is_slippery": False}),
    # The safe way, as in the textbook's figure: it is worth -17.
    Case("CliffWalking", "CliffWalking-v1", -13.0, least_on_policy=-17.0),
    Case("Taxi", "Taxi-v4", 7.5),
)


@dataclass(frozen=True)
class Seed:
    seed: int
    value: float  # exact, of the policy after the last episode
    duration_s: float
    curve: list[tuple[int, float, float]]  # episodes, exact value, mean return of the stretch


def train(world: World, recipe: Recipe, seed: int) -> Seed:
    learning = QLearningRuntime(world, recipe.settings, seed)
    started, curve = time.perf_counter(), []
    for _ in range(POINTS):
        outcome = learning.pursue(Pursuit(episodes=recipe.episodes // POINTS))
        value = exact_value(world, learning.policy())
        # JSON has no infinity: a policy that walks in circles for ever.
        shown = value if abs(value) != float("inf") else -1e9
        curve.append((learning.episodes, round(shown, 4), round(outcome.returns.mean(), 4)))
    return Seed(seed, value, round(time.perf_counter() - started, 2), curve)


def run(case: Case, algorithm: Any) -> dict[str, Any]:
    recipe = recipe_for(case.env_id, case.env_kwargs, algorithm)
    world = World.make(case.env_id, case.env_kwargs)
    seeds = [train(world, recipe, seed) for seed in SEEDS]
    is_on_policy = algorithm in ("sarsa", "expected_sarsa") and case.least_on_policy is not None
    least = case.least_on_policy if is_on_policy else case.least
    assert least is not None
    return {
        "case": case.name,
        "algorithm": algorithm,
        "env_id": case.env_id,
        "env_kwargs": dict(case.env_kwargs),
        "settings": recipe.settings.to_dict(),
        "episodes": recipe.episodes,
        "optimum": round(optimal_value(world), 4),
        "least": least,
        "is_reached": all(seed.value >= least - 1e-9 for seed in seeds),
        "seeds": [asdict(seed) for seed in seeds],
    }


def page(results: Mapping[str, Any]) -> str:
    lines = [
        "# Tables of values: what was learnt, exactly",
        "",
        "Made by `python -m learning.bdi`: five seeds each, by the recipes of the BDI worker. The",
        "value of each learnt policy is computed on the environment's own table with its limit of",
        "steps. The optimum may look at how many steps are left; a table of states cannot.",
        "",
        "| environment | algorithm | episodes | value of each seed | wanted | optimum | reached "
        "| s per seed |",
        "|---|---|--:|---|--:|--:|---|--:|",
    ]
    for result in results.values():
        seeds = result["seeds"]
        values = ", ".join(f"{seed['value']:.4g}" for seed in seeds)
        seconds = sum(seed["duration_s"] for seed in seeds) / len(seeds)
        lines.append(
            f"| {result['case']} | {result['algorithm']} | {result['episodes']:,} | {values} "
            f"| {result['least']:g} | {result['optimum']:g} "
            f"| {'yes' if result['is_reached'] else '**no**'} | {seconds:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    is_all_reached = True
    for case in CASES:
        for algorithm in ALGORITHMS:
            name = f"{case.name}, {algorithm}"
            if all(word in name for word in sys.argv[1:]):
                results[name] = result = run(case, algorithm)
                is_all_reached &= result["is_reached"]
                values = [round(seed["value"], 4) for seed in result["seeds"]]
                verdict = "reached" if result["is_reached"] else "NOT REACHED"
                print(f"{verdict}: {name}: {values}, wanted {result['least']}", flush=True)
    atomic_write_json(RESULTS, results)
    atomic_write(PAGE, page(results).encode())
    return 0 if is_all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
