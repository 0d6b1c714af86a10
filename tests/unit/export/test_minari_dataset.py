from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import pytest

from mosaic.errors import DependencyError, RequestError
from mosaic.export.destination import MARKER
from mosaic.export.minari_dataset import export_minari, name_of_dataset
from mosaic.export.run_rows import LeftOutEpisode, PlayedEpisode
from tests.unit.export.run_rows_samples import record

MISSION = "get to the green goal square"


def played(index: int = 0, **changes: Any) -> PlayedEpisode:
    known: dict[str, Any] = {
        "episode_index": index,
        "observations": [np.full(4, step, np.float32) for step in range(4)],
        "actions": [0, 1, 1],
        "rewards": [1.0, 0.5, 0.25],
        "terminations": [False, False, True],
        "truncations": [False, False, False],
        "seed": 7 + index,
    }
    return PlayedEpisode(**{**known, **changes})


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def loaded(*episodes: PlayedEpisode | LeftOutEpisode, **changes: Any) -> Any:
        made = export_minari(record(**changes), iter(episodes), tmp_path / "out")
        monkeypatch.setenv("MINARI_DATASETS_PATH", str(made.folder))
        return minari.load_dataset(name_of_dataset(record(**changes)))

    return loaded


def test_a_dataset_is_loaded_by_minari_and_knows_its_environment(load: Any) -> None:
    dataset = load(played(0), played(1, rewards=[0.0, 0.0, 3.0]))
    first, second = dataset.iterate_episodes()
    assert first.observations.dtype == np.float32
    assert first.observations[:, 0].tolist() == [0, 1, 2, 3]
    assert first.actions.tolist() == [0, 1, 1]
    assert first.rewards.tolist() == [1.0, 0.5, 0.25]
    assert first.terminations.tolist() == [False, False, True]
    assert second.rewards.tolist() == [0.0, 0.0, 3.0]
    assert (dataset.total_episodes, dataset.total_steps) == (2, 6)
    seeds = [data["seed"] for data in dataset.storage.get_episode_metadata([0, 1])]
    assert seeds == [7, 8]
    env = dataset.recover_environment()
    assert env.spec.id == "CartPole-v1"
    assert dataset.action_space == env.action_space == gymnasium.spaces.Discrete(2)
    env.close()


def test_observations_of_another_form_get_a_space_of_their_own(load: Any) -> None:
    frames = [np.full((2, 3), step, np.uint8) for step in range(4)]
    dataset = load(played(observations=frames))
    assert dataset.observation_space.shape == (2, 3)
    assert dataset.observation_space.dtype == np.uint8
    assert dataset.action_space == gymnasium.spaces.Discrete(2)
    assert dataset.env_spec is None


def test_spaces_of_an_environments_own_making_are_stored_as_what_they_hold(load: Any) -> None:
    pytest.importorskip("minigrid")
    env_id = "minigrid:MiniGrid-Empty-5x5-v0"
    image = np.zeros((7, 7, 3), np.uint8)
    observations = [{"image": image, "direction": 1, "mission": MISSION} for _ in range(4)]
    dataset = load(played(observations=observations), env_id=env_id)
    (episode,) = dataset.iterate_episodes()
    assert episode.observations["mission"] == [MISSION] * 4
    assert dataset.observation_space["direction"] == gymnasium.spaces.Discrete(4)
    env = dataset.recover_environment()
    env.close()
    assert env.spec.id == "MiniGrid-Empty-5x5-v0"


def test_an_environment_that_is_not_here_costs_only_its_name(load: Any) -> None:
    observations = [{"a": [step / 2], "b": 3} for step in range(4)]
    dataset = load(played(observations=observations, seed=2**80), env_id="Nowhere/Unknown-v9")
    (episode,) = dataset.iterate_episodes()
    assert episode.observations["a"].tolist() == [[0.0], [0.5], [1.0], [1.5]]
    assert episode.observations["b"].tolist() == [3, 3, 3, 3]
    assert dataset.action_space.contains(np.array(2**40))


def test_what_cannot_be_had_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    episodes: list[PlayedEpisode | LeftOutEpisode] = [
        LeftOutEpisode(0, "differs at step 3"),
        played(1),
        played(2, observations=[[1.0], [2.0, 3.0], [1.0], [1.0]]),
        played(3, actions=[], rewards=[], observations=[[0.0] * 4]),
        played(4, note="its first step is missing"),
    ]
    made = export_minari(record(), episodes, tmp_path / "out")
    assert made.rows == {"episodes": 2, "steps": 6}
    names = [text.partition(":")[0] for text in made.left_out]
    assert names == ["episode 0", "episode 2", "episode 3", "episode 4"]
    assert json.loads((made.folder / MARKER).read_text())["left_out"] == list(made.left_out)


def test_a_run_without_a_single_episode_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no episode for a dataset: episode 3: gone"):
        export_minari(record(), [LeftOutEpisode(3, "gone")], tmp_path / "out")
    with pytest.raises(RequestError, match="no array of numbers"):
        export_minari(record(), [played(actions=[None] * 3)], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_without_minari_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(DependencyError, match="minari") as caught:
        export_minari(record(), [played()], tmp_path / "out")
    assert "mosaic-rl[minari]" in caught.value.hint


@pytest.mark.parametrize(
    ("env_id", "run_name", "expected"),
    [
        ("CartPole-v1", "ppo seed=3", "CartPole-v1/ppo-seed-3-v0"),
        ("ALE/Pong-v5", "dqn-v2", "ALE-Pong-v5/dqn-v0"),
        ("", "größe", "gr-e-v0"),
        ("???", "!!", "run-v0"),
    ],
)
def test_names_are_what_minari_admits(env_id: str, run_name: str, expected: str) -> None:
    name = name_of_dataset(record(env_id=env_id, run_name=run_name))
    assert name == expected
    minari.dataset.minari_dataset.parse_dataset_id(name)
