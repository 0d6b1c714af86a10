"""The choice of an environment: families, ids, and what is said about the chosen one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mosaic.contracts.environment_info import EnvironmentInfo
from mosaic.front.human import decimal

# The family of an environment that no catalogue knows.
CUSTOM = ""
CUSTOM_TITLE = "Custom id…"


class FamilyChoice(NamedTuple):
    name: str
    title: str
    ids: tuple[str, ...]


def family_choices(environments: Iterable[EnvironmentInfo]) -> list[FamilyChoice]:
    """In the order of the catalogue, and last the ids that are in none."""
    ids: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for item in environments:
        ids.setdefault(item.family, []).append(item.id)
        titles[item.family] = item.family_title or item.family.replace("_", " ").capitalize()
    found = [FamilyChoice(name, titles[name], tuple(listed)) for name, listed in ids.items()]
    return [*found, FamilyChoice(CUSTOM, CUSTOM_TITLE, ())]


def family_of(env_id: str, choices: Sequence[FamilyChoice]) -> str:
    return next((choice.name for choice in choices if env_id in choice.ids), CUSTOM)


def typed_id(text: str, ids: Sequence[str]) -> str:
    """What somebody means by a text: an id, the first one that holds it, or an id of their own."""
    wanted = text.strip()
    lower = wanted.lower()
    exact = next((item for item in ids if item.lower() == lower), None)
    if exact is not None:
        return exact
    return next((item for item in ids if lower in item.lower()), wanted)


def about(environment: EnvironmentInfo | None, env_id: str) -> str:
    """The short game info: spaces, length and what counts as solved."""
    if environment is None:
        return "Not in the catalogue: the worker will look at it" if env_id else ""
    parts = [f"actions {environment.action_space}", f"observes {environment.observation_space}"]
    if environment.max_episode_steps:
        parts.append(f"{environment.max_episode_steps:,} steps at most")
    if environment.reward_threshold is not None:
        parts.append(f"solved at {decimal(environment.reward_threshold)}")
    return " · ".join(parts)


def first_sentence(text: str) -> str:
    head, dot, _ = text.partition(". ")
    return head + "." if dot else head
