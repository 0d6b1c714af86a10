"""What is said about a replayed episode: its heading, its steps, whether it goes as recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.replay import EpisodeRecording
from mosaic.front.human import amount, count, decimal
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.replay.verdict import DIFFERS, IDENTICAL, ReplayVerdict, is_same

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
