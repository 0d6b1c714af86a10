"""Events published over the wire: every chunk whose offset was answered is in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mosaic.telemetry.journal.files import append_chunk
from tests.crash_states.proof import Announce
from tests.journal_lines import metric

CHUNKS = [b"".join(metric(3 * chunk + n) for n in range(3)) for chunk in range(4)]
WHOLE = b"".join(CHUNKS)


def prepare(root: Path) -> None:
    """The folder of a run that was just launched."""


def write(root: Path, announce: Announce) -> None:
    offset = 0
    for chunk in CHUNKS:
        offset = append_chunk(root / "events.jsonl", offset, chunk)
        announce(f"durable {offset}")


def recover(root: Path) -> bytes:
    journal = root / "events.jsonl"
    return journal.read_bytes() if journal.exists() else b""


def complaint(recovered: bytes, said: Sequence[str]) -> str:
    durable = int(said[-1].split()[1]) if said else 0
    return "" if recovered[:durable] == WHOLE[:durable] else f"lost: bytes below {durable}"
