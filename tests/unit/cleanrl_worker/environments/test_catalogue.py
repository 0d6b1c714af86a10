"""The catalogue is complete, current and describes each environment in its own words."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from pathlib import Path

import gymnasium
import pytest

from cleanrl_worker.environments import catalogue, families, single
from cleanrl_worker.environments.catalogue import environment_catalogue, environments
from cleanrl_worker.environments.families import FAMILIES, base_name, family_of
from cleanrl_worker.environments.family_imports import import_family
from cleanrl_worker.kit import space_check
from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.errors import ConfigError

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools"))
import environment_catalogue as generator  # noqa: E402

HEAVY = {"numpy", "gymnasium", "torch", "cv2"}


@pytest.mark.parametrize(
    "env_id",
    [
        "Taxi-v4",
        "Acrobot-v1",
        "LunarLanderContinuous-v3",
        "Ant-v5",
        "ALE/Tennis-v5",
        "MiniGrid-MultiRoom-N4-S5-v0",
        "BabyAI-GoToSeqS5R2-v0",
        "dm_control/reacher-hard-v0",
    ],
)
def test_entries_are_what_the_installed_packages_say(env_id: str) -> None:
    entries = {info.id: info for info in environments()}
    assert entries[env_id] == generator.entry(env_id), "run tools/environment_catalogue.py"


def test_summaries_are_those_of_the_descriptions() -> None:
    for info in environments():
        assert info.summary == generator.summary(info.id), "run tools/environment_catalogue.py"


def test_every_registered_environment_of_the_families_is_listed() -> None:
    listed = [info.id for info in environments()]
    assert listed == list(generator.environment_ids()), "run tools/environment_catalogue.py"
    gymnasium_ids = set(gymnasium.registry)
    assert set(listed) <= gymnasium_ids
    games = {env_id for env_id in gymnasium_ids if env_id.startswith("ALE/")}
    assert games <= set(listed)
    assert sum(info.id.endswith("-v5") for info in environments("mujoco")) == 11


def test_each_environment_is_described_in_its_own_words() -> None:
    assert all(len(info.summary) > 40 for info in environments())
    texts: list[str] = []
    for file in generator.DESCRIPTIONS.glob("*.json"):
        for about in json.loads(file.read_bytes()).values():
            texts.append(about if isinstance(about, str) else about["summary"])
    assert [text for text, count in Counter(texts).items() if count > 1] == []
    names: dict[str, set[str]] = {}
    for info in environments():
        names.setdefault(info.summary, set()).add(base_name(info.id))
    assert [shared for shared in names.values() if len(shared) > 1] == []


def test_fields_make_sense() -> None:
    for info in environments():
        assert info.family == family_of(info.id).name
        assert info.observation_kind in ("vector", "image")
        assert info.action_kind in ("discrete", "continuous", "unbounded")
        assert "agent" in info.control_modes
        assert "rgb_array" in info.render_modes
    pong = next(info for info in environments("atari") if info.id == "ALE/Pong-v5")
    assert pong.control_modes == ("human", "agent")
    assert "PongNoFrameskip-v4" in pong.summary
    assert pong.max_episode_steps == 27_000
    assert all(info.control_modes == ("agent",) for info in environments("mujoco"))


def test_one_family_or_all() -> None:
    assert [info.id for info in environments("box2d")] == [
        info.id for info in environment_catalogue() if info.family == "box2d"
    ]
    assert {info.family for info in environments()} == set(FAMILIES) - {"gymnasium"}
    with pytest.raises(ConfigError) as caught:
        environments("boxed")
    assert "box2d" in caught.value.hint


def test_entries_survive_the_way_through_json() -> None:
    info = environments("box2d")[0]
    data = json.loads(json.dumps(info.to_dict()))
    assert EnvironmentInfo.from_dict({**data, "from_the_future": 1}) == info
    with pytest.raises(ConfigError):
        EnvironmentInfo.from_dict({"id": "Half-v0"})


def test_listing_environments_imports_none_of_them() -> None:
    for module in (catalogue, families, single, space_check):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        for node in tree.body:
            if isinstance(node, ast.Import):
                assert not {name.name.partition(".")[0] for name in node.names} & HEAVY
            elif isinstance(node, ast.ImportFrom):
                assert str(node.module).partition(".")[0] not in HEAVY
    assert catalogue.CATALOGUE_FILE.stat().st_size < 200_000


def test_families_can_be_imported_for_their_registered_ids() -> None:
    for family in FAMILIES.values():
        assert import_family(family, "a test") is gymnasium
