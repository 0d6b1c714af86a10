"""Short trainings in every family of environments, and random episodes of them simulated again.

Each training is stopped half-way and resumed. Of its episodes some are picked at random, with the
first, the last and those after the resume. `--picks N` and parts of environment ids choose.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Report
from benchmarks.training_speed import Stopwatch
from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.training import run_training
from cleanrl_worker.launcher import make_arguments
from cleanrl_worker.registry import find_algorithm
from cleanrl_worker.replay import make_environment
from mosaic.contracts.recording_file import recording_name
from mosaic.contracts.replay import EpisodeStart
from mosaic.telemetry.recordings.episodes import RecordedEpisode, read_episode, recorded_episodes


@dataclass(frozen=True)
class Case:
    algo: str
    env_id: str
    steps: int
    values: dict[str, Any] = field(default_factory=dict)


FOUR: dict[str, Any] = {"num_envs": 4, "num_steps": 64, "update_epochs": 1}
TWO: dict[str, Any] = {"num_envs": 2, "num_steps": 256, "update_epochs": 1}
LATE: dict[str, Any] = {"learning_starts": 700, "buffer_size": 1000}
CASES = (
    Case("ppo", "CartPole-v1", 60_000, {"num_envs": 4}),
    Case("ppo", "CartPole-v1", 8_000, {**FOUR, "vectorization": "loop"}),
    Case("ppo", "CartPole-v1", 8_000, {**FOUR, "vectorization": "processes"}),
    Case("dqn", "CartPole-v1", 8_000),
    Case("pqn", "Acrobot-v1", 12_000, {"num_envs": 4}),
    Case("c51", "MountainCar-v0", 3_000, {"learning_starts": 2_800}),
    Case("sac_continuous_action", "Pendulum-v1", 900, LATE),
    Case("ddpg_continuous_action", "MountainCarContinuous-v0", 3_000, {"learning_starts": 2_900}),
    Case("ppo", "FrozenLake-v1", 8_000, FOUR),
    Case("ppo", "Taxi-v4", 8_000, FOUR),
    Case("ppo", "Blackjack-v1", 8_000, FOUR),
    Case("ppo", "LunarLander-v3", 8_000, FOUR),
    Case("ppo_continuous_action", "BipedalWalker-v3", 8_000, TWO),
    Case("ppo_continuous_action", "HalfCheetah-v5", 8_000, TWO),
    Case("rpo_continuous_action", "Hopper-v4", 8_000, TWO),
    Case("td3_continuous_action", "Reacher-v5", 900, LATE),
    Case("ppo_atari", "BreakoutNoFrameskip-v4", 6_000, {**FOUR, "num_envs": 2}),
    Case("dqn_atari", "ALE/Breakout-v5", 2_000, {"learning_starts": 5_000, "buffer_size": 2_000}),
    Case("ppo", "MiniGrid-Empty-8x8-v0", 8_000, FOUR),
    Case("ppo", "BabyAI-GoToRedBallGrey-v0", 6_000, FOUR),
    Case("ppo_continuous_action", "dm_control/cartpole-swingup-v0", 6_000, TWO),
)


class Stopping(Stopwatch):
    def __init__(self, stop_at: float) -> None:
        super().__init__(0)
        self.numbers: list[int] = []
        self._stop_at = stop_at
        self._reached = 0

    def episode(self, **values: Any) -> None:
        self.numbers.append(values["episode_index"])

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self._reached = steps

    def should_stop(self) -> bool:
        return self._reached >= self._stop_at


def train(case: Case, folder: Path, attempt: int, stop_at: float) -> list[int]:
    """The numbers of the episodes that it reported."""
    algorithm = find_algorithm(case.algo)
    given = {"env_id": case.env_id, "total_timesteps": case.steps, "threads": 1, **case.values}
    path = find_checkpoint(folder) if attempt > 1 else None
    reporter = Stopping(stop_at)
    run_training(
        algorithm,
        make_arguments(algorithm, given),
        reporter,
        folder,
        checkpoint=load_checkpoint(path) if path else None,
        folder=path.parent if path else None,
        recording=folder / "recordings" / recording_name(attempt),
    )
    return reporter.numbers


def replay(episode: RecordedEpisode) -> tuple[bool, float]:
    """Whether all rewards are identical, and how long it took to get to the beginning."""
    actions: Any = np.frombuffer(episode.actions, episode.action_dtype)
    actions = actions.reshape(len(episode.rewards), *episode.action_shape)
    env = make_environment(episode.settings)
    try:
        before = time.perf_counter()
        lead = actions[: episode.lead]
        env.begin(EpisodeStart(episode.start, episode.start_state, lead))
        beginning_s = time.perf_counter() - before
        rewards = [env.step(action).reward for action in actions[episode.lead :]]
    finally:
        env.close()
    return tuple(rewards) == episode.rewards[episode.lead :], beginning_s


def judge(case: Case, picks: int, chance: random.Random) -> tuple[int, int, str]:
    """Episodes replayed, identical ones, and a line about them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train(case, folder, 1, case.steps * 0.55)
        after = train(case, folder, 2, case.steps)
        recordings = folder / "recordings"
        numbers = recorded_episodes(recordings)
        chosen = {*chance.sample(numbers, min(picks, len(numbers))), *numbers[:1], *numbers[-1:]}
        chosen.update(after[:3])
        episodes = [read_episode(recordings, number) for number in sorted(chosen)]
        size = sum(path.stat().st_size for path in recordings.iterdir())
    results = [replay(episode) for episode in episodes if episode and not episode.problem]
    identical = sum(is_same for is_same, _ in results)
    slowest = max((seconds for _, seconds in results), default=0.0)
    line = f"of {len(numbers):,} episodes; beginning within {slowest:.2f} s; "
    return len(episodes), identical, f"{line}{size / case.steps:.1f} bytes per step"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environments", nargs="*")
    parser.add_argument("--picks", type=int, default=6)
    arguments = parser.parse_args()
    report, chance = Report("episodes simulated again"), random.Random(0)
    replayed = same = 0
    for case in CASES:
        if arguments.environments and not any(p in case.env_id for p in arguments.environments):
            continue
        count, identical, line = judge(case, arguments.picks, chance)
        replayed, same = replayed + count, same + identical
        way = case.values.get("vectorization", "auto")
        report.add(f"{case.algo}, {case.env_id}, {way}", f"{identical} of {count} identical", line)
    report.add("all", f"{same} of {replayed} identical", "")
    report.print()
    return 0 if same == replayed else 1


if __name__ == "__main__":
    raise SystemExit(main())
