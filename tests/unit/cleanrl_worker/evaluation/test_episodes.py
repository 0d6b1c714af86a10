"""Episodes with seeds of their own, played in several environments at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.environments.rendering import VideoWriter
from cleanrl_worker.evaluation.episodes import EpisodeRules, FinishedEpisode, play_episodes
from cleanrl_worker.evaluation.policy import Decision
from mosaic.errors import WorkerError


class CountDown(gymnasium.Env[Any, Any]):
    """An episode lasts `seed % 7 + 1` steps; every reward is the seed."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        assert seed is not None, "every episode has a seed of its own"
        self.seed, self.left = seed, seed % 7 + 1
        return np.array([seed], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action == self.seed % 2, "the action was chosen for another environment"
        self.left -= 1
        return np.array([self.seed], np.float32), float(self.seed), self.left == 0, False, {}


class Parity:
    """Acts by the observation, and remembers which episodes it was told of."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []

    def begin_episode(self, slot: int, seed: int) -> None:
        self.begun.append((slot, seed))

    def decide(self, observations: Any, deterministic: bool) -> Decision:
        return Decision(observations[:, 0].astype(int) % 2, observations[:, 0] / 2)


def play(
    count: int, envs: int, rules: EpisodeRules | None = None, first: int = 0
) -> list[FinishedEpisode]:
    rules = rules or EpisodeRules(seed=10, gamma=0.5)
    environments = [CountDown() for _ in range(envs)]
    numbers = range(first, first + count)
    return list(play_episodes(environments, Parity(), numbers, rules, lambda: False))


@pytest.mark.parametrize("envs", [1, 3, 8])
def test_every_episode_is_played_once_with_its_own_seed(envs: int) -> None:
    episodes = sorted(play(20, envs))
    assert [episode.number for episode in episodes] == list(range(20))
    assert [episode.seed for episode in episodes] == list(range(10, 30))
    for episode in episodes:
        assert episode.length == episode.seed % 7 + 1
        assert episode.total_reward == episode.seed * episode.length
        discounts = [0.5**step for step in range(episode.length)]
        assert episode.discounted_return == pytest.approx(episode.seed * sum(discounts))
        assert (episode.terminated, episode.truncated) == (True, False)


def test_more_environments_than_episodes_do_no_harm() -> None:
    assert sorted(play(2, envs=5)) == sorted(play(2, envs=1))


def test_later_batches_go_on_counting() -> None:
    assert [episode.seed for episode in sorted(play(3, envs=2, first=50))] == [60, 61, 62]


def test_episodes_that_last_too_long_are_cut() -> None:
    episodes = play(20, envs=4, rules=EpisodeRules(seed=10, gamma=1.0, max_steps=3))
    for episode in episodes:
        natural = episode.seed % 7 + 1
        assert episode.length == min(natural, 3)
        assert episode.terminated == (natural <= 3)
        assert episode.truncated == (natural > 3)


def test_policy_is_told_of_every_episode_before_its_first_action() -> None:
    policy = Parity()
    rules = EpisodeRules(seed=10, gamma=1.0)
    list(play_episodes([CountDown(), CountDown()], policy, range(6), rules, lambda: False))
    assert sorted(seed for _, seed in policy.begun) == list(range(10, 16))
    assert {slot for slot, _ in policy.begun} == {0, 1}


def test_stop_is_obeyed_before_the_next_step() -> None:
    asked: list[int] = []

    def stop_at_third_look() -> bool:
        asked.append(1)
        return len(asked) == 3

    rules = EpisodeRules(seed=13, gamma=1.0)  # 7 steps
    assert not list(play_episodes([CountDown()], Parity(), range(1), rules, stop_at_third_look))
    assert len(asked) == 3


def test_environment_that_cannot_be_filmed_is_refused_in_words(tmp_path: Path) -> None:
    class Blind(CountDown):
        def render(self) -> Any:
            raise RuntimeError("no display")

    def video_of(number: int) -> VideoWriter:
        return VideoWriter(tmp_path / f"{number}.mp4", fps=30)

    rules = EpisodeRules(seed=0, gamma=1.0)
    with pytest.raises(WorkerError, match="no display"):
        list(play_episodes([Blind()], Parity(), range(1), rules, lambda: False, video_of))
    assert list(tmp_path.iterdir()) == []
