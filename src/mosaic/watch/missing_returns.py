"""Notices a script that logs, but not its returns, since it was written for Gymnasium < 1.0. Pure.

Such a script looks for finished episodes in `infos["final_info"]`, which vectors of environments
no longer have: it trains, writes its losses, and its most important curve is missing without any
error.
"""

from __future__ import annotations

import re

# Episodes of MuJoCo last 1,000 steps and some scripts log every so many episodes: before this
# nothing can be said.
MIN_EPISODES = 100
MIN_STEPS = 10_000
MIN_POINTS = 10

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
        self._points = 0
        self._is_settled = False

    def vectors_were_made(self, gymnasium: str) -> None:
        """By this version, 1.0 or newer, and without saying how they reset."""
        self._gymnasium = gymnasium

    def metric_came(self, name: str) -> None:
        self._points += 1
        if not self._is_settled and is_about_episodes(name):
            self._is_settled = True

    def alarm(self, steps: int, episodes: int) -> str | None:
        if self._is_settled or not self._gymnasium:
            return None
        if steps < MIN_STEPS or episodes < MIN_EPISODES or self._points < MIN_POINTS:
            return None
        self._is_settled = True
        return (
            f"{steps:,} steps and {episodes:,} finished episodes, but the script has logged no"
            f" episodic return: it may be written for Gymnasium before 1.0 (here it is"
            f" {self._gymnasium}); try `mosaic watch --compat`"
        )
