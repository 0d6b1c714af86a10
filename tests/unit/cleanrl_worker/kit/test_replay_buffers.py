"""Replay buffers: what goes in comes out, uniformly, and continues exactly from a saved state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleanrl_worker.kit import replay_buffers
from cleanrl_worker.kit.checkpoints.state import ChunkedState
from cleanrl_worker.kit.replay_buffers import Batch, FrameReplayBuffer, ReplayBuffer
from mosaic.errors import ConfigError, WorkerError

STACK = (3, 2, 2)
Transition = tuple[Any, Any, Any, Any, Any]
AnyBuffer = ReplayBuffer | FrameReplayBuffer


def numbered(count: int, num_envs: int = 1) -> Iterator[Transition]:
    """Transitions whose every field tells which one it is."""
    for number in range(count):
        ids = np.arange(num_envs) + number * num_envs
        observations = np.stack([ids, ids], axis=1).astype(np.float32)
        yield observations, observations + 0.5, ids, ids.astype(np.float32), ids % 3 == 0


def vector_buffer(capacity: int, num_envs: int = 1) -> ReplayBuffer:
    return ReplayBuffer(capacity, (2,), np.float32, (), np.int64, num_envs)


def frame_stream(seed: int, steps: int, num_envs: int) -> Iterator[Transition]:
    """Stacked images whose episodes end by chance and begin with any kind of stack."""
    rng = np.random.default_rng(seed)

    def image() -> Any:
        return rng.integers(0, 6, STACK[1:], dtype=np.uint8)

    def first_stack() -> Any:
        kind = rng.integers(3)
        if kind == 0:
            return np.stack([image()] * STACK[0])
        blank = np.zeros(STACK[1:], np.uint8)
        return np.stack([blank, blank, image()] if kind == 1 else [image() for _ in range(3)])

    end_chance = rng.choice([0.0, 0.05, 0.5, 1.0])
    observations = np.stack([first_stack() for _ in range(num_envs)])
    for _ in range(steps):
        successors = np.stack([np.stack([*stack[1:], image()]) for stack in observations])
        ends = rng.random(num_envs) < end_chance
        terminated = ends & (rng.random(num_envs) < 0.5)
        actions = rng.integers(0, 4, num_envs)
        yield observations, successors, actions, rng.random(num_envs), terminated
        observations = successors.copy()
        for env in np.flatnonzero(ends):
            observations[env] = first_stack()


def image_buffers(capacity: int, num_envs: int) -> tuple[AnyBuffer, AnyBuffer]:
    """A plain one, and one that stores frames."""
    arguments: tuple[Any, ...] = (capacity, STACK, np.uint8, (), np.int64, num_envs)
    return ReplayBuffer(*arguments), FrameReplayBuffer(*arguments)


def assert_same_batch(one: Batch, other: Batch) -> None:
    for name, left, right in zip(Batch._fields, one, other, strict=True):
        assert left.dtype == right.dtype, name
        np.testing.assert_array_equal(left, right, err_msg=name)


def sampled_ids(buffer: ReplayBuffer, count: int = 2000) -> set[int]:
    return set(buffer.sample(count, np.random.default_rng(0)).actions.tolist())


def test_a_sample_keeps_the_fields_of_a_transition_together() -> None:
    buffer = vector_buffer(64, num_envs=2)
    for transition in numbered(20, num_envs=2):
        buffer.add(*transition)
    batch = buffer.sample(500, np.random.default_rng(0))
    assert batch.observations.dtype == np.float32
    assert batch.observations.shape == (500, 2)
    np.testing.assert_array_equal(batch.observations[:, 0], batch.actions)
    np.testing.assert_array_equal(batch.next_observations[:, 1], batch.actions + 0.5)
    np.testing.assert_array_equal(batch.rewards, batch.actions)
    np.testing.assert_array_equal(batch.terminated, batch.actions % 3 == 0)
    assert batch.terminated.dtype == np.float32


def test_only_filled_slots_are_sampled_and_the_oldest_give_way() -> None:
    buffer = vector_buffer(10)
    transitions = list(numbered(27))
    for transition in transitions[:4]:
        buffer.add(*transition)
    assert (len(buffer), buffer.is_full, sampled_ids(buffer)) == (4, False, {0, 1, 2, 3})
    for transition in transitions[4:10]:
        buffer.add(*transition)
    assert (len(buffer), buffer.is_full, sampled_ids(buffer)) == (10, True, set(range(10)))
    for transition in transitions[10:]:
        buffer.add(*transition)
    assert (len(buffer), sampled_ids(buffer)) == (10, set(range(17, 27)))


def test_sampling_is_uniform_over_the_slots() -> None:
    buffer = vector_buffer(8)
    for transition in numbered(8):
        buffer.add(*transition)
    ids = buffer.sample(80_000, np.random.default_rng(3)).actions
    counts = np.bincount(ids, minlength=8)
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000)


def test_the_largest_random_number_still_names_a_slot() -> None:
    class Highest:
        def random(self, size: int) -> Any:
            return np.full(size, np.nextafter(1.0, 0.0))

    for count in (1, 2, 3, 5, 7, 1_000_000, 2**31 + 1, 2**40 - 1):
        assert replay_buffers.random_slots(count, 1, Highest())[0] == count - 1  # type: ignore[arg-type]


def test_a_batch_does_not_change_when_more_is_added() -> None:
    buffer = vector_buffer(4)
    for transition in numbered(4):
        buffer.add(*transition)
    batch = buffer.sample(16, np.random.default_rng(0))
    before = [field.copy() for field in batch]
    for transition in list(numbered(12))[8:]:
        buffer.add(*transition)
    assert_same_batch(batch, Batch(*before))


def test_capacity_is_shared_by_the_environments() -> None:
    buffer = vector_buffer(10, num_envs=4)
    for transition in numbered(9, num_envs=4):
        buffer.add(*transition)
    assert len(buffer) == 8
    assert sampled_ids(buffer) == set(range(28, 36))


def test_an_empty_buffer_refuses_to_sample() -> None:
    with pytest.raises(ValueError, match="empty"):
        vector_buffer(4).sample(1, np.random.default_rng(0))


@pytest.mark.parametrize("kind", [ReplayBuffer, FrameReplayBuffer])
def test_a_buffer_beyond_the_machines_memory_is_refused_before_training(
    kind: type[ReplayBuffer | FrameReplayBuffer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 99999999 kB\nMemAvailable:    1048576 kB\n")
    monkeypatch.setattr(replay_buffers, "_MEMINFO", meminfo)
    with pytest.raises(ConfigError, match=r"1\.0 GiB are free") as caught:
        kind(10**7, (4, 84, 84), np.uint8, (), np.int64)
    assert caught.value.details == {"field": "buffer_size"}
    suggested = int(caught.value.hint.split("=")[1].split()[0])
    kind(suggested, (4, 84, 84), np.uint8, (), np.int64)  # what it suggests, fits
    monkeypatch.setattr(replay_buffers, "_MEMINFO", tmp_path / "none")
    assert replay_buffers.available_memory() is None


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(1, 120),
    capacity=st.integers(1, 40),
    num_envs=st.integers(1, 3),
)
def test_frames_kept_once_give_the_same_batches(
    seed: int, steps: int, capacity: int, num_envs: int
) -> None:
    plain, frames = image_buffers(capacity, num_envs)
    for index, transition in enumerate(frame_stream(seed, steps, num_envs)):
        plain.add(*transition)
        frames.add(*transition)
        if index % 7 == 0 or index == steps - 1:
            assert (len(plain), plain.is_full) == (len(frames), frames.is_full)
            rngs = np.random.default_rng(index), np.random.default_rng(index)
            assert_same_batch(plain.sample(50, rngs[0]), frames.sample(50, rngs[1]))


def test_frames_need_an_eighth_of_the_memory() -> None:
    arguments: tuple[Any, ...] = (1600, (4, 8, 8), np.uint8, (), np.int64)
    buffer = FrameReplayBuffer(*arguments)
    stack = np.zeros((1, 4, 8, 8), np.uint8)
    for number in range(4000):
        successor = np.concatenate([stack[:, 1:], np.full((1, 1, 8, 8), number % 251)], axis=1)
        successor = successor.astype(np.uint8)
        buffer.add(stack, successor, np.zeros(1), np.zeros(1), np.zeros(1))
        stack = successor
    frames, _ = buffer.chunks()
    held = sum(chunk["frames"].nbytes for chunk in frames)
    assert held < 1.1 * 1600 * 64


def test_observations_that_are_no_stack_are_refused() -> None:
    _, frames = image_buffers(4, 1)
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 255, (2, 1, *STACK), dtype=np.uint8)
    with pytest.raises(ValueError, match="moved on by one frame"):
        frames.add(one, other, np.zeros(1), np.zeros(1), np.zeros(1))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), steps=st.integers(0, 90), later=st.integers(1, 60))
def test_a_restored_buffer_goes_on_as_the_original(seed: int, steps: int, later: int) -> None:
    stream = list(frame_stream(seed, steps + later, 2))
    for original, restored in zip(image_buffers(30, 2), image_buffers(30, 2), strict=True):
        for transition in stream[:steps]:
            original.add(*transition)
        restored.load_state_dict(original.state_dict())
        for transition in stream[steps:]:
            original.add(*transition)
            restored.add(*transition)
        rngs = np.random.default_rng(1), np.random.default_rng(1)
        assert_same_batch(original.sample(100, rngs[0]), restored.sample(100, rngs[1]))


@pytest.mark.parametrize("index", [0, 1], ids=["plain", "frames"])
def test_a_buffer_that_never_overwrote_may_go_on_in_a_larger_one(index: int) -> None:
    stream = list(frame_stream(5, 24, 1))
    small = image_buffers(8, 1)[index]
    large, reference = image_buffers(16, 1)[index], image_buffers(16, 1)[index]
    for transition in stream[:8]:
        small.add(*transition)
        reference.add(*transition)
    large.load_state_dict(small.state_dict())
    for transition in stream[8:]:
        large.add(*transition)
        reference.add(*transition)
    rngs = np.random.default_rng(1), np.random.default_rng(1)
    assert_same_batch(large.sample(100, rngs[0]), reference.sample(100, rngs[1]))


@pytest.mark.parametrize("index", [0, 1], ids=["plain", "frames"])
def test_another_capacity_is_refused_with_the_one_that_fits(index: int) -> None:
    buffer = image_buffers(8, 1)[index]
    for transition in frame_stream(0, 12, 1):
        buffer.add(*transition)
    for capacity in (7, 9):
        with pytest.raises(ConfigError) as caught:
            image_buffers(capacity, 1)[index].load_state_dict(buffer.state_dict())
        assert caught.value.hint == "resume with buffer_size=8"
        assert caught.value.details == {"field": "buffer_size"}


def test_a_state_of_other_observations_is_refused() -> None:
    buffer = vector_buffer(8)
    for transition in numbered(3):
        buffer.add(*transition)
    other = ReplayBuffer(8, (3,), np.float32, (), np.int64)
    with pytest.raises(WorkerError, match=r"observations is float32 \[3, 1, 2\]"):
        other.load_state_dict(buffer.state_dict())
    state = {**buffer.state_dict(), "written": 5}
    with pytest.raises(WorkerError, match="3 rows of 5"):
        vector_buffer(8).load_state_dict(state)


def test_only_chunks_that_were_written_to_change_their_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cleanrl_worker.kit.checkpoints.state.CHUNK_ROWS", 4)
    buffer = vector_buffer(10)
    transitions = list(numbered(40))

    def versions(start: int, end: int) -> list[Any]:
        for transition in transitions[start:end]:
            buffer.add(*transition)
        chunks = buffer.chunks()
        assert isinstance(chunks, ChunkedState)
        return [chunks.version(index) for index in range(len(chunks))]

    first = versions(0, 5)  # slots 0-3 full, 4 begun
    assert len(first) == 2
    second = versions(5, 9)
    assert len(second) == 3
    assert second[0] == first[0]
    assert second[1] != first[1]
    third = versions(9, 12)  # wraps: slots 9, 0 and 1
    assert third[1] == second[1]
    assert third[0] != second[0]
    assert third[2] != second[2]
    fourth = versions(12, 20)  # the ring is again full to the brim
    assert len({*third, *fourth}) == 6
    assert [len(chunk["actions"]) for chunk in buffer.chunks()] == [4, 4, 2]
    twin = vector_buffer(10)
    twin.load_state_dict(buffer.state_dict())
    assert twin.chunks().version(0) != buffer.chunks().version(0)  # filled by another history
