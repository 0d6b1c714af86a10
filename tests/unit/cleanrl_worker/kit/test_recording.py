"""RecordedBatch: what it notes is what happened, and what happens is what happens without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker.environments.batch import Episode
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.kit.recording import (
    KEYFRAME_STEPS,
    KEYFRAME_THINNING_BYTES,
    BatchRecorder,
    KeyframeSchedule,
    RecordedBatch,
)
from mosaic.contracts.recording_file import BlockKind, recording_name
from mosaic.telemetry.recordings.blocks import scan_blocks
from mosaic.telemetry.recordings.episodes import read_episode, recorded_episodes, why_not_recorded
from tests.replayed_episodes import assert_replays_identically, recorded, replay
from tests.unit.cleanrl_worker.environments.batch_comparison import assert_same_step, random_actions

LIMIT = 10**9
CART_POLE: dict[str, Any] = {"env_id": "CartPole-v1", "num_envs": 3}


class Recorded:
    """A batch that is recorded in a folder, and what it was told."""

    def __init__(self, folder: Path, limit: int = LIMIT, attempt: int = 1, **how: Any) -> None:
        self.notes: list[str] = []
        self.path = folder / recording_name(attempt)
        self.recorder = BatchRecorder(self.path, limit, self.notes.append)
        self.inside = make_env_batch(**how)
        settings = {name: value for name, value in how.items() if name != "num_envs"}
        self.batch = RecordedBatch(self.inside, self.recorder, settings)

    def play(self, steps: int, seed: int = 0) -> list[Episode]:
        draw = random_actions(self.batch, seed)
        return [episode for _ in range(steps) for episode in self.batch.step(draw()).episodes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recordings"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keyframes at every opportunity."""
    monkeypatch.setattr("cleanrl_worker.kit.recording.KEYFRAME_STEPS", 1)
    monkeypatch.setattr("cleanrl_worker.kit.recording._CHECK_EVERY", 10)


@pytest.mark.parametrize("vectorization", ["native", "loop"])
@pytest.mark.usefixtures("often")
def test_the_batch_does_what_it_does_without(folder: Path, vectorization: str) -> None:
    how: dict[str, Any] = {**CART_POLE, "vectorization": vectorization}
    recording, plain = Recorded(folder, **how), make_env_batch(**how)
    batch = recording.batch
    np.testing.assert_array_equal(batch.reset(4), plain.reset(4))
    batch.begin(0, 0, is_resumed=False)
    draw = random_actions(plain)
    for _ in range(150):
        actions = draw()
        assert_same_step(batch.step(actions), plain.step(actions))
        np.testing.assert_array_equal(batch.observations, plain.observations)
    batch.close()
    plain.close()
    assert not recording.notes


@pytest.mark.parametrize(
    ("how", "steps"),
    [
        ({**CART_POLE, "vectorization": "native"}, 300),
        ({**CART_POLE, "vectorization": "loop"}, 300),
        ({"env_id": "Pendulum-v1", "num_envs": 2}, 450),
        ({"env_id": "FrozenLake-v1", "num_envs": 2}, 60),
        ({"env_id": "MountainCarContinuous-v0", "num_envs": 1, "vectorization": "loop"}, 1100),
    ],
    ids=str,
)
def test_every_episode_can_be_simulated_again(
    folder: Path, how: dict[str, Any], steps: int
) -> None:
    recording = Recorded(folder, **how)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    episodes = recording.play(steps)
    recording.batch.close()
    numbers = recorded_episodes(folder)
    assert numbers == list(range(len(episodes))) and episodes
    for number in (0, len(numbers) // 2, len(numbers) - 1):
        end, told = recorded(folder, number).end, episodes[number]
        assert (end.slot, end.total_reward, end.length) == told[:3]
        assert (end.terminated, end.truncated) == told[3:]
        assert_replays_identically(folder, number)


@pytest.mark.usefixtures("often")
def test_a_keyframe_is_never_far(folder: Path) -> None:
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(200)
    recording.batch.close()
    for number in recorded_episodes(folder):
        assert recorded(folder, number).lead < 10
        assert_replays_identically(folder, number)


def test_numbers_and_steps_go_on_where_a_training_does(folder: Path) -> None:
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(300, 41, is_resumed=True)
    recording.play(100)
    recording.batch.close()
    numbers = recorded_episodes(folder)
    assert numbers[0] == 41
    assert recorded(folder, 41).end.first_step == 100
    assert recorded(folder, 41).problem  # it may have begun before
    assert_replays_identically(folder, numbers[-1])


def test_steps_before_the_beginning_are_not_recorded(folder: Path) -> None:
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.play(100)
    assert not recording.path.exists()
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(100)
    recording.batch.close()
    assert_replays_identically(folder, 0)


def test_actions_of_any_type_are_the_same_actions(folder: Path) -> None:
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    draw = random_actions(recording.batch)
    for number in range(120):
        recording.batch.step(draw().astype([np.int32, np.int64, np.uint8][number % 3]))
    recording.batch.close()
    assert_replays_identically(folder, 2)


def test_what_was_done_is_in_the_file_after_a_flush(folder: Path) -> None:
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    episodes = recording.play(100)
    recording.batch.flush()
    assert recorded_episodes(folder) == list(range(len(episodes)))
    assert_replays_identically(folder, 0)
    recording.batch.close()


def test_the_limit_ends_the_recording_and_not_the_training(folder: Path) -> None:
    recording = Recorded(folder, limit=9000, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    for seed in range(200):
        recording.play(50, seed)
        recording.batch.flush()
    recording.batch.close()
    (note,) = recording.notes
    assert "not recorded any more: it reached its limit" in note
    assert "limit" in why_not_recorded(folder, 200, is_over=True)
    assert recording.path.stat().st_size <= 9000
    assert not recording.recorder.rows, "nothing piles up"
    assert_replays_identically(folder, recorded_episodes(folder)[-1])


def test_an_unwritable_folder_ends_the_recording_and_not_the_training(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(100)
    recording.batch.close()
    assert len(recording.notes) == 1


def test_an_environment_without_a_state_ends_the_recording_and_not_the_training(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recorded(folder, **CART_POLE)

    def fail() -> dict[str, Any]:
        raise RuntimeError("no state")

    monkeypatch.setattr(recording.inside, "state_dict", fail)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(100)
    recording.batch.close()
    assert len(recording.notes) == 1 and "no state" in recording.notes[0]
    assert recorded_episodes(folder) == []


def test_a_state_that_cannot_be_packed_ends_the_recording(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recorded(folder, **CART_POLE)
    monkeypatch.setattr(recording.inside, "state_dict", lambda: {"environments": [{"x": object()}]})
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(100)
    recording.batch.close()
    assert len(recording.notes) == 1


def test_an_episode_goes_on_in_the_next_attempt(folder: Path) -> None:
    first = Recorded(folder, **CART_POLE)
    first.batch.reset(7)
    first.batch.begin(0, 0, is_resumed=False)
    before = first.play(100)
    state = first.batch.state_dict()
    first.batch.flush()
    first.play(30, seed=1)  # lost: the next attempt starts from the state
    first.batch.close()
    second = Recorded(folder, attempt=2, **CART_POLE)
    second.batch.reset(7)
    second.batch.load_state_dict(state)
    second.batch.begin(300, len(before), is_resumed=True)
    second.play(100, seed=2)
    second.batch.close()
    slots = set()
    for number in recorded_episodes(folder, attempt=2)[:6]:
        slots.add(recorded(folder, number).end.slot)
        assert_replays_identically(folder, number)
    assert len(slots) > 1


def test_a_replay_ends_with_the_last_picture_of_the_episode(folder: Path) -> None:
    """Not with the first one of the next."""
    recording = Recorded(folder, env_id="CartPole-v1", num_envs=1)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(100)
    recording.batch.close()
    _, first = replay(recorded(folder, 0))
    _, again = replay(recorded(folder, 0))
    _, other = replay(recorded(folder, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_keyframes_become_rarer_with_their_size() -> None:
    schedule = KeyframeSchedule(share=0.5)
    assert schedule.is_due(0), "the first one is needed"
    schedule.restart()
    schedule.add(1000, 0.002)
    assert not schedule.is_due(0)
    schedule.add(1000, 0.002)
    assert schedule.is_due(0), "2 s of one environment"
    assert not schedule.is_due(KEYFRAME_THINNING_BYTES)
    schedule.add(2000, 0.002)
    assert schedule.is_due(KEYFRAME_THINNING_BYTES)
    schedule.restart()
    schedule.add(KEYFRAME_STEPS, 0.0)
    assert schedule.is_due(0)


def test_each_slot_has_a_keyframe_of_its_own(folder: Path) -> None:
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(5)
    recording.batch.close()
    blocks = scan_blocks(recording.path).blocks
    slots = [block.header.slot for block in blocks if block.header.kind == BlockKind.KEYFRAME]
    assert slots == [0, 1, 2]
    assert read_episode(folder, 0) is None


def test_what_is_too_much_for_a_block_is_written_as_several(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cleanrl_worker.kit.recording._BLOCK_BYTES", 100)
    recording = Recorded(folder, **CART_POLE)
    recording.batch.reset(7)
    recording.batch.begin(0, 0, is_resumed=False)
    recording.play(200)
    recording.batch.close()
    numbers = recorded_episodes(folder)
    assert len(numbers) > 10
    for number in (numbers[0], numbers[-1]):
        assert_replays_identically(folder, number)
