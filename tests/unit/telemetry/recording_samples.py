"""A small recording made by hand: two slots, episodes of known lengths, rewards that tell where."""

from __future__ import annotations

import struct
from pathlib import Path

from mosaic.contracts.recording_file import EpisodeEnd, recording_name
from mosaic.worker.recording import RecordingFacts, RecordingWriter

SLOTS = 2
SETTINGS = {"env_id": "Sample-v0", "size": 3}
LIMIT = 10**9


def facts(is_resumed: bool = False, **changes: object) -> RecordingFacts:
    values: dict[str, object] = {
        "env_id": "Sample-v0",
        "settings": SETTINGS,
        "slots": SLOTS,
        "action_dtype": "<u2",
        "action_shape": (),
        "action_bytes": 2,
        "exactness": "exact",
        "is_resumed": is_resumed,
        **changes,
    }
    return RecordingFacts(**values)  # type: ignore[arg-type]


def action(step: int, slot: int) -> int:
    return (step * 7 + slot) % 60_000


def reward(step: int, slot: int) -> float:
    return step + slot / 2


def rows(first: int, end: int) -> tuple[bytes, bytes]:
    places = [(step, slot) for step in range(first, end) for slot in range(SLOTS)]
    actions = struct.pack(f"<{len(places)}H", *[action(*place) for place in places])
    return actions, struct.pack(f"<{len(places)}f", *[reward(*place) for place in places])


def actions_of(slot: int, first: int, end: int) -> bytes:
    return struct.pack(f"<{end - first}H", *[action(step, slot) for step in range(first, end)])


def rewards_of(slot: int, first: int, end: int) -> tuple[float, ...]:
    return tuple(reward(step, slot) for step in range(first, end))


def episode(slot: int, first: int, end: int, began_before: bool = False) -> EpisodeEnd:
    length = end - first
    return EpisodeEnd(slot, first, end, length, float(length), True, False, began_before)


def write_steps(
    writer: RecordingWriter, first: int, end: int, number: int = 0, *ends: EpisodeEnd
) -> None:
    writer.write_steps(first, end - first, *rows(first, end), number, ends)


def write_keyframe(writer: RecordingWriter, step: int) -> None:
    writer.write_keyframe(step, [f"slot {slot} at {step}".encode() for slot in range(SLOTS)])


def write_sample(folder: Path, attempt: int = 1) -> Path:
    """Steps 0 to 29 in three blocks, keyframes at 0 and 10; slot 0 ends at 5, 12 and 25, slot 1 at
    12 and 30."""
    path = folder / recording_name(attempt)
    writer = RecordingWriter(path, facts(), LIMIT)
    write_keyframe(writer, 0)
    write_steps(writer, 0, 10, 0, episode(0, 0, 5))
    write_keyframe(writer, 10)
    write_steps(writer, 10, 20, 1, episode(0, 5, 12), episode(1, 0, 12))
    write_steps(writer, 20, 30, 3, episode(0, 12, 25), episode(1, 12, 30))
    writer.close()
    return path


EPISODES = {0: (0, 0, 5), 1: (0, 5, 12), 2: (1, 0, 12), 3: (0, 12, 25), 4: (1, 12, 30)}
KEYFRAMES = {0: 0, 1: 0, 2: 0, 3: 10, 4: 10}
