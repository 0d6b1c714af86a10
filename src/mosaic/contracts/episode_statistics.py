"""What is told about the episodes of a run: which of them count, their curves, their mean.

Said once, for everybody who shows a number; the page for people is docs/reference/numbers.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

# The mean return of a run is that of so many finished training episodes, the last ones.
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
