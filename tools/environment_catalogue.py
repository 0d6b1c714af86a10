"""Writes catalogue.json: every environment of the installed packages with our own description.

python tools/environment_catalogue.py           # write it
python tools/environment_catalogue.py CartPole-v1   # show one entry
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from cleanrl_worker.environments.catalogue import CATALOGUE_FILE
from cleanrl_worker.environments.families import (
    ATARI,
    BABYAI,
    DM_CONTROL,
    FAMILIES,
    GYMNASIUM,
    MINIGRID,
    MUJOCO,
    base_name,
    family_of,
    version_of,
)
from cleanrl_worker.environments.family_imports import import_family
from cleanrl_worker.environments.single import make_single
from cleanrl_worker.kit.space_check import observation_kind, space_kind
from cleanrl_worker.registry import DISCRETE
from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.files import atomic_write

DESCRIPTIONS = CATALOGUE_FILE.parent / "descriptions"
_GRID_REWARD = "Success pays 1, less up to 0.9 for the steps it took."
_GRID_TEXT = "The instruction is text and not part of the image."
_OLD_MUJOCO = "Version 4, with the rewards and observations of earlier publications."
# As many motors as a person has fingers for.
_PLAYABLE_WITH_CONTINUOUS_ACTIONS = (
    *("CarRacing", "LunarLanderContinuous", "BipedalWalker", "BipedalWalkerHardcore"),
    *("MountainCarContinuous", "Pendulum"),
)
# The wheel of minigrid lacks the images WFC levels are grown from; Pusher-v4 needs MuJoCo 2.
_NOT_MAKEABLE = ("MiniGrid-WFC-", "Pusher-v4")
_VARIANT = re.compile(r"(\d+)x\d+|([SNR])(\d+)|([A-Z][a-z]+)")
_SEEDS_TO_COMPARE = (1, 2, 3)


def environment_ids() -> Iterator[str]:
    """The ids of the catalogue, family by family."""
    for name, family in FAMILIES.items():
        if name != GYMNASIUM:
            gymnasium = import_family(family, f"the family {name}")
            ids = (env_id for env_id in gymnasium.registry if _belongs(env_id, name))
            yield from sorted(ids, key=lambda env_id: (env_id.lower(), env_id))


def _belongs(env_id: str, family: str) -> bool:
    if family_of(env_id).name != family or env_id.startswith(_NOT_MAKEABLE):
        return False
    if family == ATARI:
        return env_id.startswith("ALE/")  # the other ids of a game are named in its summary
    if family == DM_CONTROL:
        return base_name(env_id).removeprefix("dm_control/") in _described(DM_CONTROL)
    return family != MUJOCO or (version_of(env_id) or 0) >= 4


def entry(env_id: str) -> EnvironmentInfo:
    env = make_single(env_id)
    try:
        env.reset(seed=1)
        family = family_of(env_id).name
        action_kind = space_kind(env.action_space)
        playable = action_kind == DISCRETE or base_name(env_id) in _PLAYABLE_WITH_CONTINUOUS_ACTIONS
        threshold = env.unwrapped.spec.reward_threshold if env.unwrapped.spec else None
        return EnvironmentInfo(
            id=env_id,
            family=family,
            summary=summary(env_id),
            observation_space=_space_text(env.observation_space),
            action_space=_space_text(env.action_space),
            action_kind=action_kind,
            observation_kind=observation_kind(env.observation_space),
            render_modes=tuple(env.metadata.get("render_modes", ())),
            control_modes=("human", "agent") if playable else ("agent",),
            max_episode_steps=_step_limit(env, family),
            reward_threshold=None if threshold is None else float(threshold),
        )
    finally:
        env.close()


def _step_limit(env: Any, family: str) -> int | None:
    """Some environments end episodes themselves and do not register the limit."""
    if family == DM_CONTROL:
        limit = env.unwrapped._env._step_limit
        return int(limit) if limit < float("inf") else None
    if family in (MINIGRID, BABYAI):
        limits = {_limit_of_level(env, seed) for seed in _SEEDS_TO_COMPARE}
        return limits.pop() if len(limits) == 1 else None  # BabyAI's depend on the instruction
    limit = env.max_episode_steps
    return None if limit is None else int(limit)


def _limit_of_level(env: Any, seed: int) -> int:
    env.reset(seed=seed)
    return int(env.unwrapped.max_steps)


def _space_text(space: Any) -> str:
    if type(space).__name__ != "Box":
        return str(space)
    low, high = space.low.flat[0], space.high.flat[0]
    if (space.low == low).all() and (space.high == high).all():
        return f"Box({low}, {high}, {space.shape}, {space.dtype})"
    return f"Box({space.shape}, {space.dtype})"


def summary(env_id: str) -> str:
    family = family_of(env_id).name
    name = base_name(env_id)
    if family in (MINIGRID, BABYAI):
        return _grid_summary(env_id, family)
    if family == ATARI:
        game = name.removeprefix("ALE/")
        has_old_id = family_of(f"{game}NoFrameskip-v4").name == ATARI
        also = f" Also as {game}NoFrameskip-v4." if has_old_id else ""
        return f"{_described(ATARI)[game]}{also}"
    if family == DM_CONTROL:
        return str(_described(DM_CONTROL)[name.removeprefix("dm_control/")])
    texts = _described(GYMNASIUM)
    parts = [texts[name], texts.get(env_id, "")]
    if family == MUJOCO and version_of(env_id) == 4:
        parts.append(_OLD_MUJOCO)
    return " ".join(part for part in parts if part)


def _grid_summary(env_id: str, family: str) -> str:
    levels = _described(family)
    name = base_name(env_id).partition("-")[2]
    level = max((key for key in levels if name.startswith(key)), key=len)
    about = levels[level]
    parts = [about["summary"]]
    if level != "Playground":
        parts.append(_GRID_REWARD)
    variant = about.get(env_id) or ", ".join(
        _variant_clauses(about, name.removeprefix(level).strip("-"), version_of(env_id))
    )
    if variant:
        parts.append(f"Here: {variant}.")
    if about.get("text"):
        parts.append(_GRID_TEXT)
    return " ".join(parts)


def _variant_clauses(about: dict[str, Any], variant: str, version: int | None) -> Iterator[str]:
    if variant in about:
        yield about[variant]
    else:
        for side, letter, number, word in _VARIANT.findall(variant):
            clause = about[word or letter or "x"]
            yield _plural(clause.format(number or side)) if number else clause.format(side)
    if f"v{version}" in about:
        yield about[f"v{version}"]


def _plural(clause: str) -> str:
    """`1 rivers` is one river."""
    return re.sub(r"^1 (\w+)s\b", r"1 \1", clause)


@cache
def _described(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DESCRIPTIONS / f"{name}.json").read_bytes())
    return found


def compact(info: EnvironmentInfo) -> dict[str, Any]:
    """Without the fields that have their default value."""
    defaults = {item.name: item.default for item in fields(EnvironmentInfo)}
    return {key: value for key, value in info.to_dict().items() if value != defaults[key]}


def write(path: Path = CATALOGUE_FILE) -> int:
    lines = [json.dumps(compact(entry(env_id))) for env_id in environment_ids()]
    atomic_write(path, ("[\n" + ",\n".join(lines) + "\n]\n").encode(), mode=0o644)
    return len(lines)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps([entry(env_id).to_dict() for env_id in sys.argv[1:]], indent=2))
    else:
        print(f"{write()} environments in {CATALOGUE_FILE}")
