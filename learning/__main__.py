"""`python -m learning [WORD…]`: trains the chosen experiments through the daemon."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from learning.curves import last_returns_mean, thinned
from learning.experiments import Experiment, chosen
from learning.results import FOLDER, Result, Seed, load, store
from mosaic.client import TrainerClient
from mosaic.front.catalogue import find_algorithm
from mosaic.front.training_config import run_document


def main() -> int:
    experiments = chosen(sys.argv[1:])
    if not experiments:
        print(f"no experiment matches {sys.argv[1:]}", file=sys.stderr)
        return 2
    is_all_reached = True
    with TrainerClient() as client:
        waiting = [(item, submit(client, item)) for item in experiments]
        for item, run_ids in waiting:
            seeds = tuple(
                collect(client, run_id, seed, item.last_episodes)
                for run_id, seed in zip(run_ids, item.seeds, strict=True)
            )
            result = Result(item, seeds, time.strftime("%Y-%m-%d"))
            store({**load(), item.name: result})  # others may have stored theirs meanwhile
            is_all_reached &= result.is_reached
            verdict = "reached" if result.is_reached else "NOT REACHED"
            print(
                f"{verdict}: {item.name}: {result.mean:.2f} ± {result.spread:.2f}, expected "
                f"{item.expected:.2f} ± {item.deviation:.2f}",
                flush=True,
            )
    draw(load(), {item.algo for item in experiments})
    return 0 if is_all_reached else 1


def submit(client: TrainerClient, item: Experiment) -> list[str]:
    algorithm = find_algorithm(item.algo)
    return [
        client.start_run(
            run_document(
                algorithm.worker,
                f"learn-{item.algo}-{item.env_id}-seed{seed}",
                {
                    "algo": item.algo,
                    "env_id": item.env_id,
                    "total_timesteps": item.total_timesteps,
                    "seed": seed,
                    "extras": {"algo_params": {**item.parameters, "threads": 1}},
                },
                cpus=1,
                memory_mb=algorithm.memory_mb,
            )
        )
        for seed in item.seeds
    ]


def collect(client: TrainerClient, run_id: str, seed: int, last_episodes: int) -> Seed:
    record = client.wait(run_id)
    if record.failure is not None or record.progress.mean_return is None:
        raise SystemExit(f"{record.run_name} did not finish: {record.failure}")
    returns = list(episode_returns(client, run_id))
    duration_s = (record.finished_at or 0.0) - (record.started_at or 0.0)
    return Seed(
        seed=seed,
        mean_return=last_returns_mean(returns, last_episodes),
        duration_s=round(duration_s, 1),
        steps_per_second=round(record.progress.steps / duration_s, 1),
        curve=thinned(returns),
    )


def episode_returns(client: TrainerClient, run_id: str) -> Iterator[tuple[int, float]]:
    """(step, return) of every finished episode."""
    for batch in client.stream_events(run_id, types=["metric"]):
        for event in batch.events():
            if event["name"] == "charts/episodic_return":
                yield event["step"], event["value"]


def draw(results: dict[str, Result], algos: set[str]) -> None:
    from learning.plots import plot_algorithm

    for algo in sorted(algos):
        of_algo = [result for result in results.values() if result.experiment.algo == algo]
        plot_algorithm(algo, of_algo, FOLDER)


if __name__ == "__main__":
    sys.exit(main())
