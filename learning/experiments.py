"""What is trained, and which return is expected: the values CleanRL published for the same setting.

Published: mean of each seed's last 100 training episodes, then mean and deviation over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

THREE, TEN = range(1, 4), range(1, 11)


@dataclass(frozen=True)
class Experiment:
    algo: str
    env_id: str
    total_timesteps: int
    expected: float
    deviation: float
    source: str = "CleanRL"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seeds: range = THREE
    # Over how many of the last episodes: a run of 100 episodes has learnt in the first of them.
    last_episodes: int = 100
    # A negative control: the algorithm is known not to learn this, so learning it would be odd.
    is_negative: bool = False
    # Too long for a CPU; `make learn` leaves it out.
    needs_gpu: bool = False

    @property
    def name(self) -> str:
        return f"{self.algo} {self.env_id}"

    @property
    def threshold(self) -> float:
        return self.expected - self.deviation

    def is_reached(self, mean_return: float) -> bool:
        if self.is_negative:
            return abs(mean_return - self.expected) <= self.deviation
        return mean_return >= self.threshold


# Q-learners on CartPole balance for hundreds of thousands of steps and then, in one run of five or
# ten, forget how: what they learn from holds nothing but success any more. Three seeds say little.
EXPERIMENTS = (
    Experiment("ppo", "CartPole-v1", 500_000, 490.04, 6.12),
    Experiment("ppo", "Acrobot-v1", 500_000, -86.36, 1.32),
    Experiment("ppo", "MountainCar-v0", 500_000, -200.0, 0.5, is_negative=True),
    Experiment("dqn", "CartPole-v1", 500_000, 488.69, 16.11, seeds=TEN),
    Experiment("dqn", "Acrobot-v1", 500_000, -91.54, 7.20),
    Experiment("c51", "CartPole-v1", 500_000, 481.20, 20.53),
    Experiment("c51", "Acrobot-v1", 500_000, -87.70, 5.52),
    Experiment("pqn", "CartPole-v1", 500_000, 495.13, 6.89, seeds=TEN),
    Experiment("pqn", "Acrobot-v1", 500_000, -95.63, 5.73),
    Experiment("ppo_continuous_action", "InvertedPendulum-v4", 1_000_000, 963.09, 22.20),
    Experiment("ppo_continuous_action", "Hopper-v4", 1_000_000, 2382.86, 271.74),
    Experiment(
        "sac_continuous_action",
        "Pendulum-v1",
        20_000,
        -150.0,
        50.0,
        source="about -150",
        parameters={"learning_starts": 1000},
        last_episodes=20,
    ),
    Experiment(
        "td3_continuous_action",
        "Pendulum-v1",
        20_000,
        -150.0,
        50.0,
        source="about -150",
        parameters={"learning_starts": 1000},
        last_episodes=20,
    ),
    Experiment("ppo", "MiniGrid-Empty-8x8-v0", 100_000, 0.9, 0.0, source="solved above 0.9"),
    Experiment("ppo", "BabyAI-GoToRedBallNoDists-v0", 300_000, 0.9, 0.0, source="solved above 0.9"),
    Experiment(
        "td3_continuous_action", "HalfCheetah-v4", 1_000_000, 9583.22, 126.09, needs_gpu=True
    ),
    Experiment(
        "sac_continuous_action", "HalfCheetah-v4", 1_000_000, 9634.89, 1423.73, needs_gpu=True
    ),
    Experiment("ppo_atari", "PongNoFrameskip-v4", 10_000_000, 20.36, 0.20, needs_gpu=True),
    Experiment("dqn_atari", "PongNoFrameskip-v4", 10_000_000, 20.25, 0.41, needs_gpu=True),
)


def chosen(words: list[str]) -> list[Experiment]:
    """Those whose name contains every word; without words all that need no GPU."""
    if not words:
        return [item for item in EXPERIMENTS if not item.needs_gpu]
    return [item for item in EXPERIMENTS if all(word in item.name for word in words)]
