"""Pictures of batches are those of Gymnasium and change nothing; videos are decoded with PyAV."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import gymnasium
import numpy as np
import pytest

from cleanrl_worker.environments import rendering
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.environments.families import CLASSIC_CONTROL, DM_CONTROL, MUJOCO
from cleanrl_worker.environments.family_imports import headless_variables
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.environments.rendering import Frame, VideoWriter, rendered
from cleanrl_worker.environments.single import make_single
from cleanrl_worker.kit.normalizers import NormalizingBatch
from mosaic.errors import DependencyError, WorkerError
from mosaic.fastlane import drawing
from mosaic.fastlane.drawing import can_draw, gl_backend
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.settings import Settings
from mosaic.fastlane.viewer import Viewer
from tests.unit.cleanrl_worker.environments.batch_comparison import (
    assert_same_step,
    random_actions,
)
from tests.waiting import wait_until

SEED = 5
HAS_OPENGL = gl_backend() is not None
NATIVE = [
    "Acrobot-v1",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
]
LOOP = [
    "BipedalWalker-v3",
    "CarRacing-v3",
    "FrozenLake-v1",
    "LunarLander-v3",
    "MiniGrid-Empty-8x8-v0",
    "PongNoFrameskip-v4",
    pytest.param("Hopper-v5", marks=pytest.mark.skipif(not HAS_OPENGL, reason="no OpenGL")),
]


@contextmanager
def batch_of(env_id: str, count: int, **options: Any) -> Iterator[EnvBatch]:
    envs = make_env_batch(env_id, count, **options)
    try:
        yield envs
    finally:
        envs.close()


@pytest.mark.parametrize("env_id", NATIVE)
def test_native_pictures_are_gymnasiums(env_id: str) -> None:
    with batch_of(env_id, 2) as envs:
        reference: Any = gymnasium.make(env_id, render_mode="rgb_array")
        envs.reset(SEED - 1)
        reference.reset(seed=SEED)
        np.testing.assert_array_equal(envs.render(1), reference.render())
        draw, ends = random_actions(envs), 0
        for count in range(230):
            step = envs.step(actions := draw())
            *_, terminated, truncated, _ = reference.step(actions[1])
            if terminated or truncated:
                reference.reset()
                ends += 1
            if count % 5 == 0 or 1 in step.finals:
                np.testing.assert_array_equal(envs.render(1), reference.render(), str(count))
        assert ends or env_id in ("Acrobot-v1", "MountainCarContinuous-v0")
        assert (envs.render(0) != envs.render(1)).any()
        reference.close()


@pytest.mark.parametrize("env_id", [*NATIVE, *LOOP])
def test_rendering_changes_nothing(env_id: str) -> None:
    with batch_of(env_id, 2) as seen, batch_of(env_id, 2) as unseen:
        np.testing.assert_array_equal(seen.reset(SEED), unseen.reset(SEED))
        draw = random_actions(unseen)
        for count in range(60):
            step = unseen.step(actions := draw())
            assert_same_step(seen.step(actions), step)
            if count % 4 == 0:
                picture = seen.render(count % 2)
                assert picture.ndim == 3 and picture.dtype == np.uint8 and picture.any()


def test_render_mode_is_as_before() -> None:
    env = make_single("LunarLander-v3")
    env.reset(seed=SEED)
    rendered(env)
    assert env.unwrapped.render_mode is None
    env.close()


def test_atari_shows_the_screen_in_colour() -> None:
    env: Any = make_single("PongNoFrameskip-v4")
    env.reset(seed=SEED)
    np.testing.assert_array_equal(rendered(env), env.unwrapped.ale.getScreenRGB())
    env.close()


def test_normalised_batches_are_drawn_as_they_are() -> None:
    with batch_of("CartPole-v1", 1) as envs:
        normalized = NormalizingBatch(envs, observations=True, rewards=True, gamma=0.9)
        normalized.reset(SEED)
        np.testing.assert_array_equal(normalized.render(0), envs.render(0))


def test_environment_without_pictures_says_so() -> None:
    class Blind(gymnasium.Env[Any, Any]):
        pass

    with pytest.raises(WorkerError, match="draws no pictures"):
        rendered(Blind())


def test_drivers_are_chosen_by_what_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = {"libEGL.so.1", "libOSMesa.so.8"}
    monkeypatch.setattr(drawing, "_can_load", lambda name: name in libraries)
    assert headless_variables(CLASSIC_CONTROL).get("MUJOCO_GL") is None
    assert headless_variables(MUJOCO)["MUJOCO_GL"] == "egl"
    libraries.remove("libEGL.so.1")
    assert headless_variables(DM_CONTROL)["MUJOCO_GL"] == "osmesa"
    assert can_draw("osmesa") and not can_draw("egl")
    libraries.clear()
    assert not can_draw(headless_variables(MUJOCO)["MUJOCO_GL"])
    assert can_draw("glfw"), "the user knows better"


def test_physics_go_on_where_nothing_can_be_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rendering, "can_draw", lambda backend: False)
    path = segment_path("01RUN", tmp_path)
    notes: list[str] = []
    viewer = Viewer(path, slot_count=2)
    with batch_of("Hopper-v5", 2, vectorization="loop") as envs:
        envs.open_view(Settings(str(path)), notes.append)
        envs.reset(SEED)
        draw = random_actions(envs)

        def step() -> bool:
            viewer.poll()
            envs.step(draw())
            return bool(notes)

        wait_until(step, what="a note")
        for _ in range(20):
            step()
    viewer.close()
    assert len(notes) == 1 and "neither libEGL nor libOSMesa" in notes[0]


def frame(height: int, width: int, brightness: int) -> Frame:
    return np.full((height, width, 3), brightness, np.uint8)


def decoded(path: Path) -> list[Frame]:
    with av.open(str(path)) as container:
        pictures = container.decode(video=0)
        return [picture.to_ndarray(format="rgb24").astype(np.uint8) for picture in pictures]


def test_every_frame_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "videos" / "episode-0.mp4"
    with VideoWriter(path, fps=30) as writer:
        for index in range(40):
            writer.add(frame(64, 96, index * 6))
    pictures = decoded(path)
    assert len(pictures) == 40
    assert pictures[0].shape == (64, 96, 3)
    brightness = [float(picture.mean()) for picture in pictures]
    assert np.allclose(brightness, np.arange(40) * 6, atol=6)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == 30


@pytest.mark.parametrize(("height", "width"), [(65, 97), (1, 1), (210, 160), (64, 33)])
def test_odd_sizes_are_padded_to_even_ones(tmp_path: Path, height: int, width: int) -> None:
    path = tmp_path / "video.mp4"
    with VideoWriter(path, fps=12.5) as writer:
        for _ in range(3):
            writer.add(frame(height, width, 200))
    pictures = decoded(path)
    assert len(pictures) == 3
    assert pictures[0].shape == (height + height % 2, width + width % 2, 3)


def test_frames_of_another_size_do_not_end_the_video(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    with VideoWriter(path, fps=10) as writer:
        writer.add(frame(32, 32, 10))
        writer.add(frame(64, 16, 10))
    assert [picture.shape for picture in decoded(path)] == [(32, 32, 3)] * 2


def test_a_video_has_its_name_only_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    writer = VideoWriter(path, fps=10)
    writer.add(frame(32, 32, 10))
    assert not path.exists()
    writer.close()
    writer.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["video.mp4"]


def test_without_a_frame_there_is_no_file(tmp_path: Path) -> None:
    VideoWriter(tmp_path / "video.mp4", fps=10).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "bad", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), None]
)
def test_what_is_no_picture_is_refused(tmp_path: Path, bad: Frame) -> None:
    with pytest.raises(WorkerError, match="uint8"):
        VideoWriter(tmp_path / "video.mp4", fps=10).add(bad)


def test_missing_package_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DependencyError) as missing:
        VideoWriter(tmp_path / "video.mp4", fps=10)
    assert missing.value.hint == 'pip install "mosaic-rl[video]"'


def test_a_full_disk_costs_the_video_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = VideoWriter(Path("/dev/full/video.mp4"), fps=10)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            writer.add(frame(32, 32, 10))
        writer.close()
    assert [record.message for record in caplog.records] == ["video.write_failed"]

    half = VideoWriter(tmp_path / "video.mp4", fps=10)
    half.add(frame(32, 32, 10))
    (tmp_path / "video.mp4").mkdir()  # the name cannot be taken any more
    half.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["video.mp4"]
