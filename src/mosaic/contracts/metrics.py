"""What is told about the numbers of a run: its metrics, the episodes that count, the headlines.

Said once, for everybody who shows a number; the page for people is docs/reference/numbers.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

# The mean return of a run is that of this many finished training episodes, the last ones.
EPISODES_IN_MEAN = 100
MEAN_RETURN_NAME = f"mean of the last {EPISODES_IN_MEAN} episodes"
LAST_RETURN_NAME = "return of the last episode"

# The `purpose` in the metadata of an episode that trains nobody.
EVALUATION = "evaluation"


class EpisodeKind(IntEnum):
    """Of which curves an episode is a point; as it is stored.

    An episode counts when it terminated or was truncated. One that was broken off in the middle
    has no return, and one that is lived through again since a checkpoint would count twice.
    """

    UNCOUNTED = 0
    TRAINING = 1
    EVALUATION = 2


class EpisodeCurve(NamedTuple):
    kind: EpisodeKind
    column: str  # of the table of episodes


EPISODIC_RETURN, EPISODIC_LENGTH = "episodic_return", "episodic_length"
# Curves every run has whose episodes are told, whatever its worker logs.
EPISODE_CURVES = {
    EPISODIC_RETURN: EpisodeCurve(EpisodeKind.TRAINING, "total_reward"),
    EPISODIC_LENGTH: EpisodeCurve(EpisodeKind.TRAINING, "steps"),
    f"eval/{EPISODIC_RETURN}": EpisodeCurve(EpisodeKind.EVALUATION, "total_reward"),
    f"eval/{EPISODIC_LENGTH}": EpisodeCurve(EpisodeKind.EVALUATION, "steps"),
}
# What a worker logs itself under one of these names is kept under this group.
LOGGED_GROUP = "logged/"


def mean_of(values: Sequence[float]) -> float | None:
    """The mean of those that are finite, correctly rounded: the same digits wherever it is made."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    try:
        return math.fsum(finite) / len(finite)
    except OverflowError:  # the sum of returns near the largest number is none
        return math.fsum(value / len(finite) for value in finite)


@dataclass(frozen=True)
class MetricInfo:
    name: str
    points: int
    first_step: int
    last_step: int
    last_value: float


@dataclass(frozen=True)
class MetricSeries:
    """Columns of equal length, in the order of the journal. A point is a bucket of one."""

    run_id: str
    name: str
    first_steps: tuple[int, ...]
    last_steps: tuple[int, ...]
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    counts: tuple[int, ...]
    timestamps: tuple[float, ...]  # the latest in each bucket
    points: int  # in the range asked for
    next_cursor: int = 0  # 0: nothing more


@dataclass(frozen=True)
class LogMatch:
    run_id: str
    stream: str
    line_number: int
    line: str


# -- Headlines: names of CleanRL, Stable-Baselines3, RLlib and what people log to W&B by hand

SPEED = "SPS"
LOSS, LEARNING_RATE = "loss", "learning_rate"

_RETURNS_OF_ONE = "episodic_return|episode_return|episode_reward|ep_return|ep_reward|ep_rew"
_MEAN_RETURNS = (
    "ep_rew_mean|ep_return_mean|episode_reward_mean|episode_return_mean|episodic_return_mean"
    "|mean_episode_return|mean_episode_reward|mean_episodic_return|mean_reward|mean_return"
    "|avg_episodic_return|avg_reward|average_return|average_reward"
)
_LENGTHS = "episodic_length|episode_length|episode_len|ep_length|ep_len"
_SPEEDS = "sps|fps|steps_per_second|steps_per_sec|env_steps_per_second|num_env_steps_sampled_per_s"
_RULES = tuple(
    (re.compile(pattern), headline)
    for pattern, headline in (
        (f"{_RETURNS_OF_ONE}|{_MEAN_RETURNS}", EPISODIC_RETURN),
        (f"({_LENGTHS})(_mean)?|mean_({_LENGTHS})", EPISODIC_LENGTH),
        (_SPEEDS, SPEED),
        (r"(.*_)?loss(_\d+)?", LOSS),
        (r"(.*_)?(learning_rate|lr)(_\d+)?", LEARNING_RATE),
    )
)
_RETURN_OF_ONE = re.compile(_RETURNS_OF_ONE)
_LOSS_GROUPS = ("losses", "loss")
# What is measured beside the training is not the training's own curve.
_OTHER_GROUPS = re.compile(r"(eval|evaluation|test|val|validation|benchmark)(_.*)?")


def headline_of(name: str) -> str | None:
    """`rollout/ep_rew_mean` is the episodic return; None for a metric that is not a headline."""
    *groups, last = _parts(name)
    if any(_OTHER_GROUPS.fullmatch(group) for group in groups):
        return None
    for pattern, headline in _RULES:
        if pattern.fullmatch(last):
            return headline
    return LOSS if any(group in _LOSS_GROUPS for group in groups) else None


def is_one_episode(name: str) -> bool:
    """Whether each point of this metric is the return of one episode, not a mean over some."""
    return (
        headline_of(name) == EPISODIC_RETURN
        and _RETURN_OF_ONE.fullmatch(_parts(name)[-1]) is not None
    )


def is_plainer(name: str, than: str) -> bool:
    """`train/loss` stands for the loss of a training better than `train/entropy_loss`."""
    return _parts(name)[-1] == headline_of(name) and _parts(than)[-1] != headline_of(than)


def _parts(name: str) -> list[str]:
    words = re.sub(r"[ \-.]+", "_", name.strip().lower())
    return [part for part in words.split("/") if part] or [""]
