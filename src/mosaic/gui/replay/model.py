"""A replay without Qt: where it stands, the steps of its episode, and what is said about them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.front.human import amount, count, decimal
from mosaic.front.run_words import action_text
from mosaic.replay.playback import recorded_actions
from mosaic.replay.verdict import DIFFERS, IDENTICAL, ReplayVerdict, is_same

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
# Steps a second at speed 1.
STEPS_PER_SECOND = 30.0
# A late picture, or a busy window, does not cause a jump.
_LONGEST_S = 0.1


class ReplayPlayer:
    """Where a replay stands, how fast it goes, and when its next step is due.

    At step 0 the episode has just begun; at step n its first n actions are taken.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.speed = 1.0
        self.is_looped = False
        self.is_playing = False
        self._place = 0.0  # between two steps the earlier one is shown
        self._at_s: float | None = None  # up to when time was counted

    @property
    def step(self) -> int:
        return int(self._place)

    @property
    def is_at_end(self) -> bool:
        return self.step >= self.steps

    @property
    def steps_per_second(self) -> float:
        return STEPS_PER_SECOND * self.speed

    def load(self, steps: int) -> None:
        """Another episode; it stands at its beginning."""
        self.steps = max(0, steps)
        self._place, self._at_s = 0.0, None
        self.is_playing = False

    def play(self, now_s: float) -> None:
        """From the beginning where it stands at the end."""
        if not self.steps:
            return
        if self.is_at_end:
            self._place = 0.0
        self.is_playing, self._at_s = True, now_s

    def pause(self) -> None:
        self.is_playing, self._at_s = False, None

    def toggle(self, now_s: float) -> None:
        if self.is_playing:
            self.pause()
        else:
            self.play(now_s)

    def seek(self, step: int) -> int:
        """Returns where it stands then; it goes on playing from there."""
        self._place = float(min(max(step, 0), self.steps))
        return self.step

    def move(self, by: int) -> int:
        """A step forth or back, and stand still: to look closely."""
        self.pause()
        return self.seek(self.step + by)

    def end_at(self, step: int) -> None:
        """There is nothing after this step: the simulated episode was shorter."""
        self.pause()
        self.seek(step)

    def advance(self, now_s: float) -> int:
        """After the time that has gone by; at the end it pauses, or begins again."""
        if not self.is_playing:
            return self.step
        gone = 0.0 if self._at_s is None else now_s - self._at_s
        self._at_s = now_s
        self._place += min(max(gone, 0.0), _LONGEST_S) * self.steps_per_second
        if self._place >= self.steps:
            if self.is_looped and self._place >= self.steps + 1:
                self._place = 0.0
            elif not self.is_looped:
                self.end_at(self.steps)
        return min(self.step, self.steps)

    def hold(self, now_s: float) -> None:
        """The picture it stands at is not there yet: no time goes by for it."""
        if self.is_playing:
            self._at_s = now_s

    @property
    def due_s(self) -> float | None:
        """How long until the next step, as seen when time was last counted; None: it stands."""
        if not self.is_playing:
            return None
        return (self.step + 1 - self._place) / self.steps_per_second

    def ahead(self, shown_per_second: float, count: int) -> list[int]:
        """The steps that will be shown next, to be drawn before they are needed."""
        if not self.is_playing:
            return []
        stride = max(1.0, self.steps_per_second / shown_per_second)
        steps = [int(self._place + stride * number) for number in range(1, count + 1)]
        return [step for step in dict.fromkeys(steps) if step <= self.steps]


def faster(speed: float) -> float:
    return next((item for item in SPEEDS if item > speed), SPEEDS[-1])


def slower(speed: float) -> float:
    return next((item for item in reversed(SPEEDS) if item < speed), SPEEDS[0])


def speed_text(speed: float) -> str:
    return f"{speed:g}×"


COLUMNS = ("Step", "Action", "Reward", "Return", "End")
_NOTHING = "–"
# Episodes whose rewards are nearly all alike (1, 1, 1, …) have no extremes worth a mark.
_MOST_MARKS = 40


@dataclass(frozen=True)
class EpisodeSteps:
    """A recorded episode step by step, as its table and its marks show it."""

    actions: Sequence[Any]  # of the episode alone, without those that lead to its beginning
    rewards: tuple[float, ...]
    returns: tuple[float, ...]  # after each step, from 0 on
    end: str  # "terminated", "cut off" or empty

    @classmethod
    def of(cls, recording: EpisodeRecording) -> EpisodeSteps:
        """What is damaged in it is left out: the simulation will say so."""
        lead = max(0, recording.lead)
        rewards = recording.rewards[lead:]
        try:
            actions = recorded_actions(recording)[lead:]
        except WorkerError:
            actions = ()
        episode = recording.episode
        end = "terminated" if episode.terminated else "cut off" if episode.truncated else ""
        return cls(actions, rewards, tuple(accumulate(rewards, initial=0.0)), end)

    def __len__(self) -> int:
        return len(self.rewards)

    def cells(self, step: int) -> tuple[str, str, str, str, str]:
        """A row of the table; row 0 is the beginning, without action."""
        if step <= 0:
            return ("0", _NOTHING, _NOTHING, decimal(0.0), "")
        return (
            count(step),
            self.action(step),
            decimal(self.rewards[step - 1]),
            decimal(self.returns[step]),
            self.end if step == len(self) else "",
        )

    def action(self, step: int) -> str:
        """Which one led to this step."""
        place = step - 1
        return action_text(self.actions[place]) if 0 <= place < len(self.actions) else _NOTHING

    @property
    def lowest(self) -> int | None:
        """The first step with the lowest reward; None where no two rewards differ."""
        return self._extreme(min)

    @property
    def highest(self) -> int | None:
        return self._extreme(max)

    def _extreme(self, choose: Any) -> int | None:
        finite = [reward for reward in self.rewards if math.isfinite(reward)]
        if not finite or min(finite) == max(finite):
            return None
        return self.rewards.index(choose(finite)) + 1

    def marks(self) -> tuple[list[int], list[int]]:
        """Steps with the lowest and with the highest reward, where they are few."""
        finite = [reward for reward in self.rewards if math.isfinite(reward)]
        if not finite or min(finite) == max(finite):
            return [], []
        low, high = min(finite), max(finite)
        lows = [at for at, reward in enumerate(self.rewards, 1) if reward == low]
        highs = [at for at, reward in enumerate(self.rewards, 1) if reward == high]
        return (
            lows if len(lows) <= _MOST_MARKS else [],
            highs if len(highs) <= _MOST_MARKS else [],
        )


EPISODE_COLUMNS = ("Episode", "Return", "Steps", "Seed", "Ended")
_FIRST_DIFFERENCE = re.compile(r"differs at step \d+")


class Sameness(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Badge:
    """Whether what is simulated goes as it was recorded."""

    sameness: Sameness
    text: str
    tip: str = ""


def comparison_badge(difference: str, seen: int) -> Badge:
    """`difference` as the simulation tells it, after it has taken `seen` steps."""
    if difference and difference != IDENTICAL:
        found = _FIRST_DIFFERENCE.match(difference)
        return Badge(Sameness.DIFFERENT, found[0] if found else "differs", difference)
    if not seen:
        return Badge(Sameness.UNKNOWN, "not compared yet")
    return Badge(Sameness.SAME, "identical so far", f"{amount(seen, 'step')} as recorded")


def verdict_badge(verdict: ReplayVerdict) -> Badge:
    if verdict.kind == IDENTICAL:
        return Badge(Sameness.SAME, "identical", verdict_sentence(verdict))
    if verdict.kind == DIFFERS:
        return Badge(
            Sameness.DIFFERENT, f"differs at step {verdict.first_step}", verdict_sentence(verdict)
        )
    return Badge(Sameness.UNKNOWN, "not compared", verdict_sentence(verdict))


def verdict_sentence(verdict: ReplayVerdict) -> str:
    if verdict.kind == IDENTICAL:
        return f"Identical: {amount(verdict.steps, 'reward')} as recorded, and the same end."
    text = verdict.sentence[:1].upper() + verdict.sentence[1:]
    return text if text.endswith(".") else f"{text}."


def heading(recording: EpisodeRecording) -> str:
    episode = recording.episode
    attempt = "" if recording.attempt == 1 else f" · attempt {recording.attempt}"
    seed = "" if episode.episode_seed is None else f" · seed {episode.episode_seed}"
    return (
        f"Episode {count(episode.episode_index)} · return {decimal(episode.total_reward)} · "
        f"{amount(episode.steps, 'step')}{seed}{attempt}"
    )


def hud_fields(
    step: int, steps: EpisodeSteps, simulated_reward: float | None
) -> tuple[str, str, str, str]:
    """Step, action, reward and return so far; the reward twice where the two differ."""
    place = f"step {count(step)} / {count(len(steps))}"
    if step <= 0 or step > len(steps):
        return place, "action –", "reward –", "return 0"
    recorded = steps.rewards[step - 1]
    reward = f"reward {decimal(recorded)}"
    if simulated_reward is not None and not is_same(recorded, simulated_reward):
        reward += f" (simulated {decimal(simulated_reward)})"
    return (
        place,
        f"action {steps.action(step)}",
        reward,
        f"return {decimal(steps.returns[step])}",
    )


def episode_cells(episode: EpisodeSummary) -> tuple[str, str, str, str, str]:
    return (
        count(episode.episode_index),
        decimal(episode.total_reward),
        count(episode.steps),
        _NO_SEED if episode.episode_seed is None else str(episode.episode_seed),
        ended_text(episode),
    )


_NO_SEED = "–"


def ended_text(episode: EpisodeSummary) -> str:
    if episode.terminated:
        return "terminated"
    return "cut off" if episode.truncated else "open"


def loaded_text(loaded: int, total: int, is_all: bool) -> str:
    """Below the list of episodes."""
    if is_all or total <= loaded:
        return amount(loaded, "episode")
    return f"{count(loaded)} of {amount(total, 'episode')}"


def new_episodes_text(listed_at: int, now: int) -> str:
    """What a running run has finished since the list was read; empty: nothing."""
    return f"{count(now - listed_at)} new" if now > listed_at else ""
