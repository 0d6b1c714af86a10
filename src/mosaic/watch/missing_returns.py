"""Notices a script that misses its returns, since it was written for Gymnasium < 1.0. Pure.

Such a script looks for finished episodes in `infos["final_info"]`, which vectors of environments
no longer have: it trains, writes its losses, and its most important curve is missing without any
error. One that waits for such an episode waits for ever.
"""

from __future__ import annotations

import re

# Episodes of MuJoCo last 1,000 steps and some scripts log every so many episodes: before this
# nothing can be said.
MIN_EPISODES = 100
MIN_STEPS = 10_000
MIN_POINTS = 10
# A script that logs nothing at all may only print; whether it waits for something, time tells.
SILENT_S = 45.0
# Where the script is known to look for what is not there, a few episodes are enough.
LOOKED_FOR_EPISODES = 10
LOOKED_FOR_S = 5.0

_ABOUT_EPISODES = re.compile(
    r"return|reward|episod|score|success|(?<![a-z])(ep|ret|rew)(rew|ret|len)?(?![a-z])"
)


def is_about_episodes(metric_name: str) -> bool:
    """In any of the words people use; better one too many than a false alarm."""
    return _ABOUT_EPISODES.search(metric_name.lower()) is not None


class MissingReturns:
    """Told what happens; `alarm` is the sentence for people, once."""

    def __init__(self) -> None:
        self._gymnasium = ""
        self._is_looked_for = False
        self._made_at = 0.0
        self._points = 0
        self._is_settled = False

    def vectors_were_made(self, gymnasium: str, now: float, *, is_looked_for: bool = False) -> None:
        """By this version, 1.0 or newer, and without saying how they reset.

        `is_looked_for`: who made them looks for `final_info`.
        """
        if not self._gymnasium:
            self._made_at = now
        self._gymnasium = gymnasium
        self._is_looked_for |= is_looked_for

    def metric_came(self, name: str) -> None:
        self._points += 1
        if not self._is_settled and is_about_episodes(name):
            self._is_settled = True

    def alarm(self, steps: int, episodes: int, now: float) -> str | None:
        if self._is_settled or not self._gymnasium:
            return None
        waited = now - self._made_at
        if self._is_looked_for and episodes >= LOOKED_FOR_EPISODES and waited >= LOOKED_FOR_S:
            missing = "and the script looks for them in `final_info`, which is not there: it is"
        elif steps < MIN_STEPS or episodes < MIN_EPISODES:
            return None
        elif self._points >= MIN_POINTS:
            missing = "but the script has logged no episodic return: it may be"
        elif self._points == 0 and waited >= SILENT_S:
            missing = "but the script has logged nothing at all: if it waits for them, it may be"
        else:
            return None
        self._is_settled = True
        return (
            f"{steps:,} steps and {episodes:,} finished episodes, {missing} written for Gymnasium"
            f" before 1.0 (here it is {self._gymnasium}); try `mosaic watch --compat`"
        )
