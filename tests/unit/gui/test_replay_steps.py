"""A recorded episode in words and rows."""

from __future__ import annotations

import struct
from typing import Any

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.gui.replay.model import (
    EpisodeSteps,
    Sameness,
    comparison_badge,
    ended_text,
    episode_cells,
    heading,
    hud_fields,
    loaded_text,
    new_episodes_text,
    verdict_badge,
)
from mosaic.gui.state.notices import sentence_of
from mosaic.replay.verdict import DIFFERS, IDENTICAL, ReplayVerdict, impossible_replay


def episode(**changes: Any) -> EpisodeSummary:
    values: dict[str, Any] = {
        "run_id": "R",
        "agent_id": "",
        "worker_id": "",
        "seq": 1,
        "timestamp": 0.0,
        "episode_index": 1204,
        "total_reward": 6.0,
        "steps": 3,
        "terminated": True,
        "truncated": False,
    }
    return EpisodeSummary(**{**values, **changes})


def recording(**changes: Any) -> EpisodeRecording:
    values: dict[str, Any] = {
        "run_id": "R",
        "episode": episode(),
        "attempt": 1,
        "env_id": "E",
        "maker": "m:f",
        "python": "/bin/python",
        "settings": {},
        "lead": 1,
        "action_dtype": "<i8",
        "actions": struct.pack("<4q", 9, 0, 1, 0),
        "rewards": (5.0, 1.0, -2.0, 7.0),
    }
    return EpisodeRecording(**{**values, **changes})


def test_what_led_to_the_beginning_is_not_shown() -> None:
    steps = EpisodeSteps.of(recording())
    assert len(steps) == 3
    assert steps.cells(0) == ("0", "–", "–", "0", "")
    assert steps.cells(2) == ("2", "1", "-2", "-1", "")
    assert steps.cells(3) == ("3", "0", "7", "6", "terminated")


def test_the_extremes_are_found_by_their_step() -> None:
    steps = EpisodeSteps.of(recording())
    assert (steps.lowest, steps.highest) == (2, 3)
    assert steps.marks() == ([2], [3])


def test_equal_rewards_have_no_extremes() -> None:
    steps = EpisodeSteps.of(recording(rewards=(1.0, 1.0, 1.0, 1.0)))
    assert (steps.lowest, steps.highest, steps.marks()) == (None, None, ([], []))


def test_rewards_that_are_no_numbers_are_no_extremes() -> None:
    steps = EpisodeSteps.of(recording(rewards=(0.0, float("nan"), 3.0, 1.0)))
    assert (steps.lowest, steps.highest) == (3, 2)


def test_damaged_actions_leave_the_rewards() -> None:
    steps = EpisodeSteps.of(recording(actions=b"abc"))
    assert steps.cells(1) == ("1", "–", "1", "1", "")


def test_the_strip_tells_a_reward_twice_where_it_differs() -> None:
    steps = EpisodeSteps.of(recording())
    assert hud_fields(2, steps, -2.0) == ("step 2 / 3", "action 1", "reward -2", "return -1")
    assert hud_fields(2, steps, 0.5)[2] == "reward -2 (simulated 0.5)"
    assert hud_fields(0, steps, None) == ("step 0 / 3", "action –", "reward –", "return 0")


def test_the_badge_names_the_first_step_that_differs() -> None:
    long = "differs at step 64: recorded 1.0, simulated 0.0 (3 of 80 rewards differ)"
    found = comparison_badge(long, 80)
    assert (found.sameness, found.text, found.tip) == (
        Sameness.DIFFERENT,
        "differs at step 64",
        long,
    )
    assert comparison_badge("", 3).text == "identical so far"
    assert comparison_badge("", 0).sameness is Sameness.UNKNOWN


def test_a_verdict_is_a_sentence() -> None:
    same = verdict_badge(ReplayVerdict(IDENTICAL, "identical", steps=115))
    assert same.tip == "Identical: 115 rewards as recorded, and the same end."
    other = verdict_badge(ReplayVerdict(DIFFERS, "differs at step 4: x", first_step=4))
    assert (other.text, other.tip) == ("differs at step 4", "Differs at step 4: x.")
    assert verdict_badge(impossible_replay("no maker")).tip == "Cannot be simulated: no maker."


def test_an_episode_in_a_row() -> None:
    assert episode_cells(episode()) == ("1,204", "6", "3", "–", "terminated")
    assert episode_cells(episode(episode_seed=7))[3] == "7"
    assert ended_text(episode(terminated=False, truncated=True)) == "cut off"
    assert ended_text(episode(terminated=False)) == "open"


def test_the_heading_names_what_is_special() -> None:
    assert heading(recording()) == "Episode 1,204 · return 6 · 3 steps"
    assert heading(recording(attempt=2, episode=episode(episode_seed=5))).endswith(
        "· seed 5 · attempt 2"
    )


def test_why_an_episode_cannot_be_shown() -> None:
    error = WorkerError("the interpreter /x is not on this machine", hint="replay elsewhere")
    assert sentence_of(error) == "The interpreter /x is not on this machine. Replay elsewhere."


def test_the_list_says_how_much_of_it_there_is() -> None:
    assert loaded_text(200, 10_000, False) == "200 of 10,000 episodes"
    assert loaded_text(3, 3, True) == "3 episodes"
    assert new_episodes_text(10, 22) == "12 new"
    assert new_episodes_text(22, 22) == ""
