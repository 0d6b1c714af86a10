"""Packing a journal: at no moment is there a form of it from which a byte is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mosaic.telemetry.journal.packing import pack_journal
from tests.crash_states.proof import Announce
from tests.journal_lines import content, step

WHOLE = b"".join(step(n) for n in range(200))


def prepare(root: Path) -> None:
    (root / "events.jsonl").write_bytes(WHOLE)


def write(root: Path, announce: Announce) -> None:
    assert pack_journal(root / "events.jsonl", min_bytes=0)
    announce("packed")


def recover(root: Path) -> bytes:
    """After the next start has packed what was not."""
    before = content(root / "events.jsonl")
    pack_journal(root / "events.jsonl", min_bytes=0)
    assert content(root / "events.jsonl") == before
    assert [path.name for path in root.iterdir()] == ["events.jsonl.gz"]
    return before


def complaint(recovered: bytes, said: Sequence[str]) -> str:
    return "" if recovered == WHOLE else f"lost: {len(recovered)} of {len(WHOLE)} bytes are there"
