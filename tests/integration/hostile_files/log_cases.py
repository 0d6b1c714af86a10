"""Journals, recordings and the logs of other tools: packed bytes, and lengths that lie."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from mosaic.analytics.wandb.reader import FILE_HEADER
from mosaic.contracts.process_recording import Place, index_name, pack_place, process_file_name
from mosaic.contracts.recording_file import (
    BlockKind,
    EpisodeEnd,
    pack_block,
    pack_end,
    recording_name,
)
from mosaic.contracts.tensorboard_records import masked_crc
from mosaic.telemetry.journal.files import packed_member
from tests import journal_lines as lines
from tests.integration.hostile_files.case import CLEAN, Case, content, link, pipe, sparse
from tests.unit.telemetry.recording_samples import facts, write_sample

RECORDING = recording_name(1)
DEEP = b"[" * 100_000 + b"]" * 100_000


def bomb(head: bytes = b"", size: int = 2**30) -> bytes:
    """Kilobytes that become gigabytes."""
    packer = zlib.compressobj(9)
    packed = packer.compress(head)
    piece = bytes(2**24)
    for _ in range(size // len(piece)):
        packed += packer.compress(piece)
    return packed + packer.flush()


BOMB = bomb()


def facts_block(**changes: object) -> bytes:
    described = {**asdict(facts()), **changes}
    return pack_block(BlockKind.FACTS, zlib.compress(json.dumps(described).encode()))


def after_sample(*blocks: bytes) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        with write_sample(folder).open("ab") as file:
            file.write(b"".join(blocks))

    return build


def recorded(*blocks: bytes) -> Callable[[Path], object]:
    return content(RECORDING, b"".join(blocks))


def end_of_episode(end_step: int) -> bytes:
    return pack_end(EpisodeEnd(0, 0, end_step, 1, 1.0, True, False))


KEYFRAME = pack_block(BlockKind.KEYFRAME, zlib.compress(b"state"))
ONE_STEP = zlib.compress(end_of_episode(1) + bytes(12))


def steps_block(payload: bytes, steps: int, episodes: int = 1) -> bytes:
    return pack_block(BlockKind.STEPS, payload, steps=steps, episodes=episodes)


def process_episodes(payload: bytes, places: bytes) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        block = pack_block(BlockKind.EPISODES, payload, first_episode=0, episodes=1)
        (folder / process_file_name(1, 7)).write_bytes(block)
        (folder / index_name(1)).write_bytes(places)

    return build


def packed_journal(*members: bytes) -> Callable[[Path], object]:
    return content("events.jsonl.gz", b"".join(members))


def bomb_member() -> bytes:
    """A member that says its text is short, with a body that never ends."""
    good = packed_member(b"x\n", 0)
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = raw.compress(bytes(2**26)) + raw.flush()
    sizes = struct.pack("<QII", 0, 2, 40 + len(body) + 8)
    return good[:16] + sizes + struct.pack("<I", zlib.crc32(sizes)) + body + good[-8:]


def tf_record(record: bytes, length: int | None = None) -> bytes:
    head = struct.pack("<Q", len(record) if length is None else length)
    crc = struct.pack("<I", masked_crc(record))
    return head + struct.pack("<I", masked_crc(head)) + record + crc


def wandb_log(*records: bytes) -> Callable[[Path], object]:
    log = bytearray(FILE_HEADER)
    for record in records:
        at, kind = 0, 2
        while True:
            room = 32_768 - len(log) % 32_768
            if room <= 7:
                log += bytes(room)
                continue
            part = record[at : at + room - 7]
            is_first, is_last = at == 0, at + len(part) == len(record)
            kind = 1 if is_first and is_last else 2 if is_first else 4 if is_last else 3
            data = bytes([kind]) + part
            log += struct.pack("<IH", zlib.crc32(data), len(part)) + data
            at += len(part)
            if is_last:
                break
    return content("run-a.wandb", bytes(log))


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def summary_item(*keys: bytes, text: bytes) -> bytes:
    item = b"".join(field(2, key) for key in keys) + field(16, text)
    return field(3, field(1, item))


def trials(*said: str) -> Callable[[Path], object]:
    study = '{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]}'
    trial = (
        '{"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2026-01-01T00:00:00"}'
    )
    return content("study.db", "\n".join([study, trial, *said, ""]).encode())


def finished(values: str) -> str:
    return (
        '{"op_code": 6, "worker_id": "w", "trial_id": 0, "state": 1, "datetime_complete":'
        f' "2026-01-01T00:00:01", "values": {values}}}'
    )


ONE_PLACE = pack_place(Place(0, 7, 0, 1))
EVENTS = "events.out.tfevents.1.host"

CASES = [
    Case(
        "recording: bomb of steps",
        "recordings",
        recorded(facts_block(), KEYFRAME, steps_block(bomb(end_of_episode(3)), steps=3)),
        says="damaged",
    ),
    Case(
        "recording: bomb of steps that claims its size",
        "recordings",
        recorded(facts_block(), KEYFRAME, steps_block(bomb(end_of_episode(3)), steps=2**30 // 12)),
        says="damaged",
    ),
    Case(
        "recording: bomb of facts",
        "recordings",
        after_sample(pack_block(BlockKind.FACTS, BOMB), steps_block(b"", 1)),
        says="damaged",
    ),
    Case(
        "recording: bomb of an end",
        "recordings",
        after_sample(pack_block(BlockKind.END, BOMB)),
        says="more than",
    ),
    Case(
        "recording: bomb of a keyframe",
        "recordings",
        recorded(
            facts_block(),
            pack_block(BlockKind.KEYFRAME, BOMB),
            steps_block(ONE_STEP, 1),
        ),
        says="more than",
    ),
    Case(
        "recording: bomb of a whole episode",
        "recordings",
        recorded(facts_block(), pack_block(BlockKind.EPISODE, BOMB, steps=1, episodes=1)),
        says="more than",
    ),
    Case(
        "recording: bomb of a script's episodes",
        "recordings",
        process_episodes(BOMB, ONE_PLACE),
        says="damaged",
    ),
    Case(
        "recording: table of gigabytes",
        "recordings",
        process_episodes(bomb(struct.pack("<I", 2**31)), ONE_PLACE),
        says="damaged",
    ),
    Case(
        "recording: index of billions",
        "recordings",
        process_episodes(
            zlib.compress(struct.pack("<I", 2) + b"{}"), pack_place(Place(0, 7, 0, 2**32 - 1)) * 50
        ),
        says="damaged",
    ),
    Case(
        "recording: four billion episodes",
        "recordings",
        recorded(facts_block(), steps_block(zlib.compress(b""), 1, episodes=2**32 - 1)),
        CLEAN,
    ),
    Case(
        "recording: steps without end",
        "recordings",
        recorded(
            facts_block(),
            KEYFRAME,
            steps_block(zlib.compress(end_of_episode(2**63) + bytes(12)), 1),
        ),
        CLEAN,
        "too long",
    ),
    Case(
        "recording: number beyond all",
        "recordings",
        recorded(facts_block(slots=10**1000), KEYFRAME, steps_block(ONE_STEP, 1)),
        says="damaged",
    ),
    Case(
        "recording: negative sizes",
        "recordings",
        recorded(facts_block(action_bytes=-8), KEYFRAME, steps_block(ONE_STEP, 1)),
        says="impossible",
    ),
    Case(
        "recording: facts nested deeply",
        "recordings",
        recorded(
            pack_block(BlockKind.FACTS, zlib.compress(DEEP)),
            KEYFRAME,
            steps_block(ONE_STEP, 1),
        ),
        says="damaged",
    ),
    Case(
        "recording: cut off while packed",
        "recordings",
        recorded(facts_block(), steps_block(zlib.compress(bytes(52))[:-6], 1)),
        says="damaged",
    ),
    Case("recording: pipe", "recordings", pipe(RECORDING), says="not a regular file"),
    Case("recording: device", "recordings", link(RECORDING, "/dev/zero"), says="not a regular"),
    Case(
        "journal: packed bomb",
        "journal",
        packed_journal(bomb_member(), packed_member(b"", 2)),
        CLEAN,
    ),
    Case(
        "journal: a gap of gigabytes",
        "journal",
        packed_journal(
            bytes(4 * 2**20), packed_member(b"x\n", 4 * 2**30), packed_member(b"", 4 * 2**30 + 2)
        ),
        CLEAN,
    ),
    Case(
        "journal: heads that lie",
        "journal",
        packed_journal(packed_member(lines.metric(1), 0)[:-1], packed_member(b"", 2**63)),
        CLEAN,
    ),
    Case("journal: one line without end", "journal", sparse("events.jsonl", b"{", 2**30), CLEAN),
    Case("journal: pipe", "journal", pipe("events.jsonl"), says="not a regular file"),
    Case("journal: device", "journal", link("events.jsonl", "/dev/zero"), says="not a regular"),
    Case(
        "events: a record of 2^60 bytes",
        "tensorboard",
        content(EVENTS, tf_record(b"", 2**60)),
        CLEAN,
        "longer than allowed",
    ),
    Case(
        "events: a record of a gigabyte",
        "tensorboard",
        sparse(EVENTS, tf_record(b"", 2**30)[:12], 2**31),
        CLEAN,
        "longer than allowed",
    ),
    Case(
        "events: lengths that lie",
        "tensorboard",
        content(EVENTS, tf_record(b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(30))),
        CLEAN,
        "malformed",
    ),
    Case(
        "events: a shape without end",
        "tensorboard",
        content(
            EVENTS,
            tf_record(
                b"\x2a"
                + varint(4)
                + b"\x0a\x02\x42\x00"
                + field(5, field(1, field(8, field(2, field(2, b"\x08" + varint(2**62)) * 1000))))
            ),
        ),
        CLEAN,
    ),
    Case(
        "events: garbage", "tensorboard", content(EVENTS, bytes(range(256)) * 40), CLEAN, "damaged"
    ),
    Case("events: pipe", "tensorboard", pipe(EVENTS), CLEAN, "not a regular file"),
    Case("events: device", "tensorboard", link(EVENTS, "/dev/zero"), CLEAN, "not a regular file"),
    Case("wandb: another file", "wandb", content("run-a.wandb", b"PK\3\4" * 99), CLEAN, "header"),
    Case(
        "wandb: fragments that lie",
        "wandb",
        content("run-a.wandb", FILE_HEADER + b"\0\0\0\0\xff\xff\x01" + bytes(100)),
        CLEAN,
        "damaged block",
    ),
    Case(
        "wandb: fields that lie",
        "wandb",
        wandb_log(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x8a\x01" + b"\xff" * 30),
        CLEAN,
        "malformed",
    ),
    Case(
        "wandb: a thousand keys in a row",
        "wandb",
        wandb_log(summary_item(*[b"k"] * 50_000, text=b"1")),
        CLEAN,
        "malformed",
    ),
    Case(
        "wandb: nested deeply",
        "wandb",
        wandb_log(summary_item(b"k", text=DEEP)),
        CLEAN,
        "malformed",
    ),
    Case(
        "wandb: nested as deeply as JSON allows",
        "wandb",
        wandb_log(summary_item(b"k", text=b"[" * 900 + b"]" * 900)),
        CLEAN,
        "malformed",
    ),
    Case(
        "wandb: a number beyond all",
        "wandb",
        wandb_log(
            summary_item(b"k", text=b"9" * 5000),
            field(2, field(1, field(2, b"x") + field(16, b"9" * 5000))),
        ),
        CLEAN,
        "malformed",
    ),
    Case(
        "wandb: began after all time",
        "wandb",
        wandb_log(field(17, field(17, b"\x08" + varint(2**62)))),
        CLEAN,
        "None",
    ),
    Case("wandb: pipe", "wandb", pipe("run-a.wandb"), says="not a regular file"),
    Case(
        "trials: nonsense",
        "study",
        trials("nonsense", "{}", "[1]", '{"op_code": 6}', "7"),
        CLEAN,
        "not what Optuna writes",
    ),
    Case(
        "trials: texts for values",
        "study",
        trials(finished('["a", {}]')),
        CLEAN,
        "not what Optuna writes",
    ),
    Case(
        "trials: numbers beyond all",
        "study",
        trials(finished(f"[{10**1000}]")),
        CLEAN,
        "not what Optuna writes",
    ),
    Case("trials: not finite", "study", trials(finished("[NaN]"), finished("[Infinity]")), CLEAN),
    Case("trials: nested deeply", "study", trials(DEEP.decode()), CLEAN, "not what Optuna writes"),
    Case(
        "trials: one line without end",
        "study",
        sparse("study.db", b"{", 2**28),
        CLEAN,
        "longer than allowed",
    ),
]
