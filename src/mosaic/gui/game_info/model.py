"""What there is to know about an environment, as words for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mosaic.contracts.bundles import VenvInfo
from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.front.human import count, decimal
from mosaic.gui.play.model.keys import KeyMap, key_map_of
from mosaic.gui.state.compatibility import fitting_algorithms, missing_packages

_SPACE_HELP = "as an algorithm sees it, after the usual pre-processing of the family"
_PLAYERS = {"agent": "agents", "human": "people with a keyboard"}


@dataclass(frozen=True)
class Fact:
    name: str
    value: str
    help: str = ""


@dataclass(frozen=True)
class GameInfo:
    title: str
    family: str
    summary: str
    facts: tuple[Fact, ...]
    missing: str  # what must be installed first; empty when nothing must


def game_info(
    info: EnvironmentInfo,
    algorithms: Iterable[AlgorithmInfo] = (),
    bundle: VenvInfo | None = None,
) -> GameInfo:
    limit, threshold = info.max_episode_steps, info.reward_threshold
    able = ", ".join(algorithm.name for algorithm in fitting_algorithms(info, algorithms))
    facts = (
        Fact("Observations", f"{info.observation_kind}\n{info.observation_space}", _SPACE_HELP),
        Fact("Actions", f"{info.action_kind}\n{info.action_space}", _SPACE_HELP),
        Fact("Longest episode", "no limit" if limit is None else f"{count(limit)} steps"),
        Fact("Solved at", _solved(threshold), "the mean return that counts as solved"),
        Fact("Played by", " and ".join(_PLAYERS.get(mode, mode) for mode in info.control_modes)),
        Fact("Keys", _keys(info), "in human play"),
        Fact("Algorithms", able, "those that can train on it"),
        Fact("Pictures", "yes" if "rgb_array" in info.render_modes else "none"),
        Fact("Default seed", str(info.default_seed)),
    )
    family = info.family_title or info.family.replace("_", " ").capitalize()
    kept = tuple(fact for fact in facts if fact.value)
    return GameInfo(info.id, family, info.summary, kept, missing_packages(info, bundle))


def nothing_known(env_id: str, is_loaded: bool) -> str:
    if not env_id:
        return "Choose one on the left: what it is about appears here."
    if not is_loaded:
        return "Reading the catalogue of environments…"
    return (
        "The catalogue of the installed workers does not know it, so there is nothing to tell. "
        "Training works all the same where the package that registers it is installed."
    )


def _keys(info: EnvironmentInfo) -> str:
    """One key per line; empty if a keyboard is not enough."""
    found = key_map_of(info.id, info.family, info.action_space)
    if "human" not in info.control_modes or not isinstance(found, KeyMap):
        return ""
    return "\n".join(f"{' '.join(one.signs)}  {one.text}" for one in found.bindings)


def _solved(threshold: float | None) -> str:
    return "no threshold published" if threshold is None else f"mean return {decimal(threshold)}"
