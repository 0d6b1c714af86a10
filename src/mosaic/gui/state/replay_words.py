"""What the replay says: its heading, the strip below the picture, how it compares. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import MosaicError
from mosaic.front.human import amount, count, decimal
from mosaic.gui.state.replay_steps import EpisodeSteps
from mosaic.replay.verdict import DIFFERS, IDENTICAL, Verdict, is_same

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


def verdict_badge(verdict: Verdict) -> Badge:
    if verdict.kind == IDENTICAL:
        return Badge(Sameness.SAME, "identical", verdict_sentence(verdict))
    if verdict.kind == DIFFERS:
        return Badge(
            Sameness.DIFFERENT, f"differs at step {verdict.first_step}", verdict_sentence(verdict)
        )
    return Badge(Sameness.UNKNOWN, "not compared", verdict_sentence(verdict))


def verdict_sentence(verdict: Verdict) -> str:
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


def why_not(error: MosaicError) -> str:
    """One sentence why an episode cannot be shown."""
    text = error.message[:1].upper() + error.message[1:]
    hint = f" {error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
    return f"{text}.{hint}" if not text.endswith(".") else f"{text}{hint}"


def loaded_text(loaded: int, total: int, is_all: bool) -> str:
    """Below the list of episodes."""
    if is_all or total <= loaded:
        return amount(loaded, "episode")
    return f"{count(loaded)} of {amount(total, 'episode')}"


def new_episodes_text(listed_at: int, now: int) -> str:
    """What a running run has finished since the list was read; empty: nothing."""
    return f"{count(now - listed_at)} new" if now > listed_at else ""
