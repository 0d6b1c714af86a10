"""Recorded episodes are read back whole, and from a damaged file whatever is not damaged."""

from __future__ import annotations

import json
import math
import os
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.contracts.recording_file import HEADER_BYTES, BlockKind, pack_block, recording_name
from mosaic.errors import CorruptStoreError
from mosaic.telemetry.recordings.blocks import scan_blocks
from mosaic.telemetry.recordings.episodes import (
    RecordedEpisode,
    read_episode,
    recorded_episodes,
    why_not_recorded,
)
from mosaic.worker.recording import RecordingWriter
from tests.unit.telemetry.recording_samples import (
    EPISODES,
    KEYFRAMES,
    LIMIT,
    SETTINGS,
    SLOTS,
    actions_of,
    episode,
    facts,
    rewards_of,
    write_keyframe,
    write_sample,
    write_steps,
)


def assert_is_sample_episode(found: RecordedEpisode | None, number: int) -> None:
    slot, first, end = EPISODES[number]
    start = KEYFRAMES[number]
    assert found is not None
    assert (found.episode_index, found.end) == (number, episode(slot, first, end))
    assert found.start_state == f"slot {slot} at {start}".encode()
    assert found.lead == first - start
    assert found.actions == actions_of(slot, start, end)
    assert found.rewards == rewards_of(slot, start, end)
    assert (found.problem, found.env_id, found.settings) == ("", "Sample-v0", SETTINGS)


def read_or_refuse(folder: Path, number: int) -> RecordedEpisode | None:
    """None where it is missing or refused; whatever else comes must be right."""
    try:
        found = read_episode(folder, number)
    except CorruptStoreError as error:
        assert recording_name(1) in error.message
        return None
    if found is not None:
        # An older keyframe leads there as well, when the nearer one is damaged.
        slot, first, end = EPISODES[number]
        start = first - found.lead
        assert start in (0, 10)
        assert found.start_state == f"slot {slot} at {start}".encode()
        assert found.actions == actions_of(slot, start, end)
        assert found.rewards == rewards_of(slot, start, end)
    return found


def test_every_episode_is_read_back(tmp_path: Path) -> None:
    write_sample(tmp_path)
    assert recorded_episodes(tmp_path) == list(EPISODES)
    for number in EPISODES:
        assert_is_sample_episode(read_episode(tmp_path, number), number)
    assert read_episode(tmp_path, 5) is None
    assert read_episode(tmp_path, -1) is None
    assert read_episode(tmp_path, 0, attempt=2) is None


def test_missing_and_empty_recordings_hold_nothing(tmp_path: Path) -> None:
    assert recorded_episodes(tmp_path / "nowhere") == []
    assert read_episode(tmp_path / "nowhere", 0) is None
    (tmp_path / recording_name(1)).touch()
    (tmp_path / "notes.txt").write_text("not a recording")
    (tmp_path / "attempt-x.rec").write_text("neither")
    assert recorded_episodes(tmp_path) == []
    assert read_episode(tmp_path, 0) is None


def test_cut_off_anywhere_the_rest_is_readable(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    data = path.read_bytes()
    ends = [block.end for block in scan_blocks(path).blocks]
    for length in range(len(data)):
        path.write_bytes(data[:length])
        scan = scan_blocks(path)
        assert [block.end for block in scan.blocks] == [end for end in ends if end <= length]
        assert not scan.damages, "a torn end is no damage"
    # All but the last block: the first three episodes are complete.
    path.write_bytes(data[: ends[-1] - 1])
    for number in (0, 1, 2):
        assert_is_sample_episode(read_episode(tmp_path, number), number)
    assert read_episode(tmp_path, 3) is None


def test_a_flipped_bit_anywhere_costs_only_what_it_touches(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    data = path.read_bytes()
    facts_end = scan_blocks(path).blocks[0].end
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= 0x10
        path.write_bytes(broken)
        found = [number for number in EPISODES if read_or_refuse(tmp_path, number) is not None]
        if place >= facts_end:
            assert found, f"byte {place}"
        assert place < HEADER_BYTES or scan_blocks(path).blocks


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_damage_is_taken_for_a_recording(tmp_path_factory: object, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("damaged")  # type: ignore[attr-defined]
    path = write_sample(folder)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 60))
        content[start : start + length] = data.draw(st.binary(max_size=60))
    path.write_bytes(content)
    for number in EPISODES:
        read_or_refuse(folder, number)


def test_damage_is_named(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    last = scan_blocks(path).blocks[-1]
    content = bytearray(path.read_bytes())
    content[last.offset + HEADER_BYTES] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptStoreError, match=f"bytes {last.offset} and {last.end}"):
        read_episode(tmp_path, 3)
    assert_is_sample_episode(read_episode(tmp_path, 2), 2)


def test_a_damaged_keyframe_is_replaced_by_an_earlier_one(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    keyframe = next(block for block in scan_blocks(path).blocks if block.header.first_step == 10)
    content = bytearray(path.read_bytes())
    content[keyframe.offset + HEADER_BYTES + 3] ^= 1
    path.write_bytes(content)
    found = read_episode(tmp_path, 3)
    assert found is not None
    assert (found.lead, found.start_state) == (12, b"slot 0 at 0")
    assert found.actions == actions_of(0, 0, 25)


def test_steps_lost_in_the_middle_are_named(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    block = [block for block in scan_blocks(path).blocks if block.header.first_step == 10][-1]
    content = bytearray(path.read_bytes())
    content[block.offset] ^= 1  # its header
    path.write_bytes(content)
    with pytest.raises(CorruptStoreError, match="lacks steps 10 to 24"):
        read_episode(tmp_path, 3)
    assert_is_sample_episode(read_episode(tmp_path, 0), 0)


def test_newest_attempt_wins_unless_another_is_named(tmp_path: Path) -> None:
    write_sample(tmp_path, attempt=1)
    write_sample(tmp_path, attempt=10)
    write_sample(tmp_path, attempt=9)
    newest, named = read_episode(tmp_path, 1), read_episode(tmp_path, 1, attempt=1)
    assert newest is not None and newest.attempt == 10
    assert named is not None and named.attempt == 1


def test_a_session_after_a_torn_one_in_the_same_file_is_found(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    torn = path.read_bytes()[:-30]
    path.unlink()
    write_sample(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(torn + whole)
    for number in EPISODES:
        assert_is_sample_episode(read_episode(tmp_path, number), number)


def resume(folder: Path, attempt: int, at: int, *ends: tuple[int, int, int, bool]) -> None:
    """An attempt that goes on at a step; slot, first step, end and whether it began before."""
    writer = RecordingWriter(folder / recording_name(attempt), facts(is_resumed=True), LIMIT)
    write_keyframe(writer, at)
    stop = max([at + 1, *(end for _, _, end, _ in ends)])
    write_steps(writer, at, stop, 3, *[episode(*values) for values in ends])
    writer.close()


def test_an_episode_across_a_resume_is_put_together(tmp_path: Path) -> None:
    write_sample(tmp_path)
    resume(tmp_path, 2, 20, (0, 20, 27, True), (1, 20, 40, True), (0, 27, 41, False))
    first, second, third = (read_episode(tmp_path, number) for number in (3, 4, 5))
    assert first is not None and second is not None and third is not None
    assert (first.lead, first.start_state) == (2, b"slot 0 at 10")
    assert first.actions == actions_of(0, 10, 27)
    assert second.actions == actions_of(1, 10, 40)
    assert second.rewards == rewards_of(1, 10, 40)
    assert (third.lead, third.start_state) == (7, b"slot 0 at 20")


def test_an_episode_across_several_resumes_is_put_together(tmp_path: Path) -> None:
    write_sample(tmp_path)
    resume(tmp_path, 2, 20)  # killed before any episode ended
    resume(tmp_path, 3, 20, (1, 20, 21, True))  # its slot 0 goes on
    writer = RecordingWriter(tmp_path / recording_name(4), facts(is_resumed=True), LIMIT)
    write_keyframe(writer, 21)
    write_steps(writer, 21, 30, 4, episode(0, 21, 30, began_before=True))
    writer.close()
    found = read_episode(tmp_path, 4)
    assert found is not None
    assert found.actions == actions_of(0, 10, 30)
    assert found.lead == 2


def test_an_episode_that_began_in_another_run_says_so(tmp_path: Path) -> None:
    resume(tmp_path, 1, 20, (0, 20, 27, True), (0, 27, 41, False))
    found, next_one = read_episode(tmp_path, 3), read_episode(tmp_path, 4)
    assert found is not None and "began before this recording" in found.problem
    assert next_one is not None and not next_one.problem


def test_a_resume_with_other_settings_is_not_put_together(tmp_path: Path) -> None:
    write_sample(tmp_path)
    changed = facts(is_resumed=True, settings={"env_id": "Sample-v0", "size": 4})
    writer = RecordingWriter(tmp_path / recording_name(2), changed, LIMIT)
    write_keyframe(writer, 20)
    write_steps(writer, 20, 30, 3, episode(0, 20, 27, began_before=True))
    writer.close()
    found = read_episode(tmp_path, 3)
    assert found is not None and found.problem


def test_whole_episodes_need_no_keyframe(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / recording_name(1), facts(slots=1), LIMIT)
    for number in (7, 3):
        end = episode(0, 0, number)
        actions, rewards = actions_of(0, 0, number), bytes(4 * number)
        writer.write_episode(number, end, {"seed": number}, actions, rewards)
    writer.close()
    assert recorded_episodes(tmp_path) == [3, 7]
    found = read_episode(tmp_path, 7)
    assert found is not None
    assert (found.start, found.start_state, found.lead) == ({"seed": 7}, b"", 0)
    assert (found.actions, found.rewards) == (actions_of(0, 0, 7), (0.0,) * 7)


def write_valued(folder: Path, *values: float) -> Path:
    """One whole episode of four steps, and what was expected at each."""
    path = folder / recording_name(1)
    writer = RecordingWriter(path, facts(slots=1), LIMIT)
    expected = struct.pack(f"<{len(values)}f", *values)
    writer.write_episode(0, episode(0, 0, 4), {}, actions_of(0, 0, 4), bytes(16), expected)
    writer.close()
    return path


def values_in(folder: Path) -> tuple[float, ...]:
    found = read_episode(folder, 0)
    assert found is not None and not found.problem
    assert (found.actions, found.rewards) == (actions_of(0, 0, 4), (0.0,) * 4)
    return found.values


def test_what_the_agent_expected_is_read_back(tmp_path: Path) -> None:
    write_valued(tmp_path, 0.5, -2.0, math.nan, 3.25)
    expected, lower, unknown, last = values_in(tmp_path)
    assert (expected, lower, last) == (0.5, -2.0, 3.25) and math.isnan(unknown)


def test_an_older_reader_finds_the_episode_without_its_values(tmp_path: Path) -> None:
    path = write_valued(tmp_path, 0.5, -2.0, 1.0, 3.25)
    kinds = [block.header.kind for block in scan_blocks(path).blocks]
    assert kinds == [BlockKind.FACTS, BlockKind.EPISODE, BlockKind.VALUES]
    unknown: Any = max(BlockKind) + 1  # as VALUES is to a reader that was made before it
    data, (_, _, block) = path.read_bytes(), scan_blocks(path).blocks
    header = block.header._asdict()
    for name in ("payload_bytes", "payload_crc", "kind"):
        del header[name]
    payload = data[block.offset + HEADER_BYTES :]
    path.write_bytes(data[: block.offset] + pack_block(unknown, payload, **header))
    assert values_in(tmp_path) == ()


@pytest.mark.parametrize("count", [0, 1, 3, 5, 4_000_000])
def test_values_that_are_not_one_per_step_are_left_out(tmp_path: Path, count: int) -> None:
    write_valued(tmp_path, *[1.0] * count)
    assert values_in(tmp_path) == ()


def test_values_without_a_meaning_are_unknown(tmp_path: Path) -> None:
    write_valued(tmp_path, math.inf, -math.inf, math.nan, 1.0)
    assert [math.isnan(value) for value in values_in(tmp_path)] == [True, True, True, False]


def test_values_before_their_episode_are_of_no_episode(tmp_path: Path) -> None:
    path = write_valued(tmp_path, 1.0, 2.0, 3.0, 4.0)
    data, (_, whole, values) = path.read_bytes(), scan_blocks(path).blocks
    head, middle, tail = data[: whole.offset], data[whole.offset : whole.end], data[whole.end :]
    assert len(tail) == values.end - values.offset
    path.write_bytes(head + tail + middle)
    assert values_in(tmp_path) == ()
    path.write_bytes(head + middle + tail + middle)
    assert values_in(tmp_path) == (), "they are those of the first of two"


def test_damaged_values_do_not_take_their_episode_along(tmp_path: Path) -> None:
    path = write_valued(tmp_path, 1.0, 2.0, 3.0, 4.0)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    assert values_in(tmp_path) == ()


def test_actions_without_a_size_are_read_back(tmp_path: Path) -> None:
    """A Box of shape (0,) is odd, and legal."""
    changed = facts(action_dtype="<f4", action_shape=(0,), action_bytes=0)
    writer = RecordingWriter(tmp_path / recording_name(1), changed, LIMIT)
    write_keyframe(writer, 0)
    writer.write_steps(0, 4, b"", bytes(4 * 4 * SLOTS), 0, [episode(1, 0, 4)])
    writer.close()
    found = read_episode(tmp_path, 0)
    assert found is not None
    assert (found.actions, found.rewards) == (b"", (0.0,) * 4)


def test_a_reader_beside_the_writer_sees_whole_episodes_only(tmp_path: Path) -> None:
    """Blocks of some size, so that a reader meets half of one."""
    length, count = 2000, 60
    failures: list[str] = []
    is_written = threading.Event()

    def write() -> None:
        writer = RecordingWriter(tmp_path / recording_name(1), facts(), LIMIT)
        write_keyframe(writer, 0)
        for number in range(count):
            first = number * length
            write_steps(writer, first, first + length, number, episode(0, first, first + length))
        writer.close()
        is_written.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not is_written.is_set():
        numbers = recorded_episodes(tmp_path)
        if numbers != list(range(len(numbers))):
            failures.append(str(numbers))
        if numbers:
            found = read_episode(tmp_path, numbers[-1])
            if found is None or found.actions != actions_of(0, 0, (numbers[-1] + 1) * length):
                failures.append(f"episode {numbers[-1]}")
    thread.join()
    assert not failures
    assert recorded_episodes(tmp_path) == list(range(count))


def test_why_a_recording_ended_is_kept(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / recording_name(1), facts(), limit_bytes=6000)
    while not writer.why_ended:
        writer.write_keyframe(0, [os.urandom(200), os.urandom(200)])
    assert writer.why_ended in why_not_recorded(tmp_path, 0, is_over=True)
    assert "limit" in writer.why_ended
    assert (tmp_path / recording_name(1)).stat().st_size <= 6000
    json.dumps(writer.why_ended)
