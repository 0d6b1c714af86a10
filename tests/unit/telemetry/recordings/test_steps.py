"""Episodes as their steps tell them, and why some cannot be simulated again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from mosaic.telemetry.recordings.steps import RecordedSteps, recorded_steps
from tests import journal_lines as lines
from tests.unit.telemetry.curve_samples import stored


def steps_of(episode: int, count: int, first_seq: int, **fields: Any) -> list[bytes]:
    return [
        lines.step(
            first_seq + place,
            **{
                "episode_index": episode,
                "step_index": place,
                "action": [place, 0.5],
                "reward": place + 0.25,
                "truncated": False,
                "terminated": place == count - 1,
                "episode_seed": 40 + episode,
                **fields,
            },
        )
        for place in range(count)
    ]


def found(path: Path, episode: int, attempt: int | None = None) -> RecordedSteps:
    recorded = recorded_steps(path, episode, attempt)
    assert recorded is not None
    return recorded


def test_actions_and_rewards_come_in_their_order(tmp_path: Path) -> None:
    summary = lines.episode(9, 0.75, episode_index=1, steps=2, episode_seed=41)
    path = stored(tmp_path, [lines.registered(), *steps_of(0, 3, 1), *steps_of(1, 2, 5), summary])
    recorded = found(path, 1)
    assert recorded.actions == ([0, 0.5], [1, 0.5]) and recorded.rewards == (0.25, 1.25)
    assert (recorded.attempt, recorded.problem, recorded.episode.seq) == (1, "", 9)
    assert recorded_steps(path, 7) is None
    assert recorded_steps(tmp_path / "none.sqlite", 0) is None


def test_an_episode_that_goes_on_is_what_its_steps_are(tmp_path: Path) -> None:
    path = stored(tmp_path, [lines.registered(), *steps_of(3, 4, 1, terminated=False)])
    recorded = found(path, 3)
    assert (recorded.episode.steps, recorded.episode.total_reward) == (4, 7.0)
    assert not recorded.episode.terminated and recorded.episode.episode_seed == 43
    assert recorded.problem == ""


def test_the_latest_attempt_is_taken_unless_another_is_named(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        [
            lines.registered(),
            *steps_of(0, 2, 1, reward=1.0),
            lines.episode(3, 2.0, steps=2, episode_seed=40),
            lines.registered(4, attempt=2),
            *steps_of(0, 3, 5, reward=5.0),
            lines.episode(8, 15.0, steps=3, episode_seed=40),
        ],
    )
    assert (found(path, 0).attempt, found(path, 0).rewards) == (2, (5.0, 5.0, 5.0))
    first = found(path, 0, 1)
    assert (first.attempt, first.rewards, first.episode.total_reward) == (1, (1.0, 1.0), 2.0)
    assert recorded_steps(path, 0, 3) is None


def test_a_reward_that_is_no_number_stays_none(tmp_path: Path) -> None:
    path = stored(tmp_path, [lines.registered(), *steps_of(0, 2, 1, reward="NaN")])
    assert all(math.isnan(reward) for reward in found(path, 0).rewards)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([], "single steps were not recorded"),
        (steps_of(0, 10, 1, episode_seed=None), "did not tell the seed"),
        (steps_of(0, 10, 1)[4:], "before step 4 are missing"),
        (steps_of(0, 10, 1)[:4] + steps_of(0, 10, 1)[5:], "step 4 is missing"),
        (steps_of(0, 7, 1), "only 7 of its 10 steps"),
        (steps_of(0, 10, 1, action={"dtype": "f4", "shape": [9, 9], "crc32": 1}), "too large"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, told: list[bytes], words: str) -> None:
    path = stored(tmp_path, [lines.registered(), *told, lines.episode(20, steps=10)])
    recorded = found(path, 0)
    assert words in recorded.problem and recorded.actions == ()
    assert recorded.episode.total_reward == 10.0
