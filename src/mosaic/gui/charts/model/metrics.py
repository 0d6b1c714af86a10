"""Which metrics are charts worth looking at, in which order, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mosaic.contracts.metrics import (
    EPISODIC_LENGTH,
    EPISODIC_RETURN,
    LEARNING_RATE,
    LOSS,
    SPEED,
    headline_of,
    is_one_episode,
)

_EVALUATIONS = ("eval", "evaluation", "test", "validation")
_EVALUATED_RETURN = re.compile(r"(.*_)?(return|reward|rew)(_mean)?")
# One number that stands for all episodes of an evaluation, before its extremes and deviation.
_TYPICAL = re.compile(r"(avg|average|mean|episodic|episode)_|.*_mean")
_ORDER = (EPISODIC_RETURN, "evaluation", SPEED, LOSS, EPISODIC_LENGTH, "", LEARNING_RATE, "beside")
_LOSSES_AT_ONCE = 3
_UNITS = {SPEED: "steps/s", EPISODIC_LENGTH: "steps"}


@dataclass(frozen=True)
class Chip:
    """Charts that can be added together, and taken away again."""

    title: str
    names: tuple[str, ...]
    is_shown: bool


def prefix_of(name: str) -> str:
    return name.rpartition("/")[0]


def title_of(name: str) -> str:
    """`charts/episodic_return` is the "episodic return"; what is evaluated says so."""
    group, _, last = name.rpartition("/")
    words = last.replace("_", " ").strip() or name
    return f"{words} (eval)" if _is_evaluation(group) else words


def unit_of(name: str) -> str:
    return _UNITS.get(headline_of(name) or "", "")


def is_return(name: str) -> bool:
    """Of the training itself, not of an evaluation."""
    return headline_of(name) == EPISODIC_RETURN


def is_per_episode(name: str) -> bool:
    """Whether every point is one episode, so that episodes can be counted."""
    return is_one_episode(name) or headline_of(name) == EPISODIC_LENGTH


def evaluated_return(names: Iterable[str]) -> str:
    """The series whose points are returns of evaluations; empty where there is none."""
    found = [name for name in names if _kind_of(name) == "evaluation"]
    return ranked(found)[0] if found else ""


def ranked(names: Iterable[str]) -> list[str]:
    """What people look at first comes first."""
    return sorted(set(names), key=_rank)


def default_charts(names: Iterable[str]) -> list[str]:
    """The return, or whatever comes closest to it."""
    return ranked(names)[:1]


def chosen_charts(names: Iterable[str], remembered: Sequence[str]) -> list[str]:
    """The charts somebody chose before, as far as these runs have them."""
    known = set(names)
    return [name for name in dict.fromkeys(remembered) if name in known] or default_charts(known)


def chips_of(names: Iterable[str], shown: Sequence[str]) -> list[Chip]:
    """Shortcuts to the charts most people want besides the return."""
    order = ranked(names)
    chips = []
    for title, kind in (("return", EPISODIC_RETURN), ("eval", "evaluation"), ("SPS", SPEED)):
        found = [name for name in order if _kind_of(name) == kind][:1]
        if found:
            chips.append(Chip(title, tuple(found), found[0] in shown))
    losses = [name for name in order if headline_of(name) == LOSS]
    if losses:
        is_shown = any(name in shown for name in losses)
        # Removing them means all of them, however they were added.
        chosen = [name for name in losses if name in shown] or losses[:_LOSSES_AT_ONCE]
        chips.append(Chip("losses", tuple(chosen), is_shown))
    return chips


def _kind_of(name: str) -> str:
    headline = headline_of(name)
    if headline is not None:
        return headline
    group, _, last = name.lower().rpartition("/")
    if not _is_evaluation(group):
        return ""
    return "evaluation" if _EVALUATED_RETURN.fullmatch(last) else "beside"


def _is_evaluation(group: str) -> bool:
    return any(part.partition("_")[0] in _EVALUATIONS for part in group.lower().split("/"))


def _rank(name: str) -> tuple[object, ...]:
    kind = _kind_of(name)
    last = name.lower().rpartition("/")[2]
    is_plain = {
        EPISODIC_RETURN: name == EPISODIC_RETURN,
        "evaluation": _TYPICAL.match(last) is not None and "discounted" not in last,
        LOSS: "loss" in last,
    }.get(kind, True)
    # Of returns a worker logs itself, those of single episodes before means of some.
    is_mean = kind == EPISODIC_RETURN and not is_one_episode(name)
    return (_ORDER.index(kind), not is_plain, is_mean, name.lower(), name)
