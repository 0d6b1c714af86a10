"""Which of a script's own metric names mean the few numbers everybody looks at first. Pure.

The names are those of CleanRL, Stable-Baselines3, RLlib and what people log to W&B by hand.
"""

from __future__ import annotations

import re

RETURN, LENGTH, SPEED = "episodic_return", "episodic_length", "SPS"
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
        (f"{_RETURNS_OF_ONE}|{_MEAN_RETURNS}", RETURN),
        (f"({_LENGTHS})(_mean)?|mean_({_LENGTHS})", LENGTH),
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
    """`rollout/ep_rew_mean` is the episodic return; None for a metric that is no headline."""
    *groups, last = _parts(name)
    if any(_OTHER_GROUPS.fullmatch(group) for group in groups):
        return None
    for pattern, headline in _RULES:
        if pattern.fullmatch(last):
            return headline
    return LOSS if any(group in _LOSS_GROUPS for group in groups) else None


def is_one_episode(name: str) -> bool:
    """Whether each point of this metric is the return of one episode, not a mean over some."""
    return headline_of(name) == RETURN and _RETURN_OF_ONE.fullmatch(_parts(name)[-1]) is not None


def is_plainer(name: str, than: str) -> bool:
    """`train/loss` stands for the loss of a training better than `train/entropy_loss`."""
    return _parts(name)[-1] == headline_of(name) and _parts(than)[-1] != headline_of(than)


def _parts(name: str) -> list[str]:
    words = re.sub(r"[ \-.]+", "_", name.strip().lower())
    return [part for part in words.split("/") if part] or [""]
