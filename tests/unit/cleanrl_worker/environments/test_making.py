"""make_env_batch: what `auto` takes, what is refused, and the videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.environments.making import choose_vectorization, make_env_batch
from cleanrl_worker.environments.rendering import is_filmed
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.environments.batch_comparison import random_actions, through_a_file


def chosen(wanted: str, env_id: str, num_envs: int, **changes: Any) -> str:
    given: dict[str, Any] = {"env_kwargs": {}, "has_video": False, "cores": 4, **changes}
    return choose_vectorization(wanted, env_id, num_envs, **given)


@pytest.mark.parametrize(
    ("env_id", "num_envs", "changes", "expected"),
    [
        ("CartPole-v1", 4, {}, "native"),
        ("CartPole-v1", 4, {"env_kwargs": {"sutton_barto_reward": True}}, "loop"),
        ("CartPole-v1", 4, {"has_video": True}, "loop"),
        ("CartPole-v1", 4, {"allow_native": False}, "loop"),
        ("BreakoutNoFrameskip-v4", 8, {"allow_native": False}, "processes"),
        ("FrozenLake-v1", 8, {}, "loop"),
        ("HalfCheetah-v4", 1, {}, "loop"),
        ("HalfCheetah-v4", 8, {"cores": 2}, "loop"),
        ("HalfCheetah-v4", 8, {"cores": 8}, "processes"),
        ("BreakoutNoFrameskip-v4", 1, {}, "loop"),
        ("BreakoutNoFrameskip-v4", 8, {}, "processes"),
        ("BreakoutNoFrameskip-v4", 8, {"cores": 2}, "loop"),
        ("BreakoutNoFrameskip-v4", 8, {"cores": 1}, "loop"),
        ("my.module:SomeGame-v0", 64, {"cores": 64}, "loop"),
        ("BreakoutNoFrameskip-v4", 8, {"has_video": True}, "loop"),
    ],
)
def test_auto_takes_the_fastest(
    env_id: str, num_envs: int, changes: dict[str, Any], expected: str
) -> None:
    assert chosen("auto", env_id, num_envs, **changes) == expected


@pytest.mark.parametrize(
    ("wanted", "env_id", "num_envs", "changes"),
    [
        ("native", "LunarLander-v3", 4, {}),
        ("native", "CartPole-v1", 4, {"env_kwargs": {"sutton_barto_reward": True}}),
        ("native", "CartPole-v1", 4, {"has_video": True}),
        ("processes", "CartPole-v1", 1, {}),
        ("processes", "CartPole-v1", 4, {"has_video": True}),
        ("threads", "CartPole-v1", 4, {}),
    ],
)
def test_what_cannot_be_had_is_refused(
    wanted: str, env_id: str, num_envs: int, changes: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=wanted) as caught:
        chosen(wanted, env_id, num_envs, **changes)
    assert caught.value.details["field"] == "vectorization"


def test_a_wanted_way_is_taken() -> None:
    envs = make_env_batch("CartPole-v1", 2, vectorization="loop")
    assert (envs.vectorization, envs.num_envs) == ("loop", 2)


def test_episodes_are_filmed_rarely() -> None:
    filmed = [number for number in range(3001) if is_filmed(number)]
    assert filmed == [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000, 3000]


def test_videos_of_the_first_environment(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    envs = make_env_batch("CartPole-v1", 2, video_directory=tmp_path)
    assert envs.vectorization == "loop"
    envs.reset(1)
    draw = random_actions(envs)
    lengths: list[int] = []
    while len(lengths) < 3:
        step = envs.step(draw())
        lengths += [episode.length for episode in step.episodes if episode.env_index == 0]
    state = through_a_file(envs.state_dict())
    envs.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episode-0.mp4", "episode-1.mp4"]
    for number in (0, 1):
        with av.open(str(tmp_path / f"episode-{number}.mp4")) as video:
            frames = sum(1 for _ in video.decode(video=0))
        assert frames == lengths[number] + 1

    before = (tmp_path / "episode-0.mp4").read_bytes()
    resumed = make_env_batch("CartPole-v1", 2, video_directory=tmp_path)
    resumed.reset(1)
    resumed.load_state_dict(state)
    resumed.step(draw())
    resumed.close()
    assert (tmp_path / "episode-0.mp4").read_bytes() == before
