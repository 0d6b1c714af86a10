"""Every writer survives a power cut at every moment, whatever the disk had not got round to.

The quick form is part of every test run; the thorough one belongs to the chaos tests.
"""

from __future__ import annotations

import functools
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.daemon.registry import schema
from tests.chaos import figures
from tests.crash_states.operations import Recording
from tests.crash_states.power_cut import QUICK, THOROUGH, unsynced
from tests.crash_states.proof import prove, writer_called
from tests.crash_states.recorder import record

WRITERS = (
    *("atomic_file", "registry", "submission", "checkpoints", "journal", "published_chunks"),
    *("attempt_end", "ingest", "journal_packing", "archive_file", "importing", "trash"),
)
CARELESS = {
    "careless_files.in_place": "torn",
    "careless_files.without_file_sync": "torn",
    "careless_files.without_folder_sync": "lost",
}
SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In memory, where there is such a file system: thousands of states are written out."""
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="mosaic-crash-", dir=place) as folder:
        root = Path(folder) / "disk"
        root.mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)  # the home makes a folder for sockets there
        # What the tables of each version look like is always the same.
        for name in ("_expected_shape", "statements_of"):
            monkeypatch.setattr(schema, name, functools.cache(getattr(schema, name)))
        logging.disable()  # each recovery says what it found: thousands of lines
        yield root
        logging.disable(logging.NOTSET)


def recorded(name: str, root: Path) -> Recording:
    writer_called(name).prepare(root)
    return record(name, root)


@pytest.mark.timeout(600)  # seconds of work, on a machine that may have much else to do
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_acknowledged_is_lost_in_a_power_cut(name: str, root: Path) -> None:
    recording = recorded(name, root)
    tally = prove(name, recording, root, QUICK)
    print(tally)
    assert not tally.complaints, "\n".join(tally.complaints)
    assert tally.recovered == tally.distinct > 1
    # Had it not synced anything, that would have been noticed.
    careless = prove(name, unsynced(recording), root, QUICK, most_complaints=1)
    assert careless.complaints


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_acknowledged_is_lost_in_any_of_very_many_power_cuts(name: str, root: Path) -> None:
    tally = prove(name, recorded(name, root), root, THOROUGH)
    figures.record("4", str(tally))
    assert not tally.complaints, "\n".join(tally.complaints)


@pytest.mark.parametrize(("name", "damage"), CARELESS.items())
def test_a_careless_writer_is_found_out(name: str, damage: str, root: Path) -> None:
    tally = prove(name, recorded(name, root), root, QUICK)
    assert any(complaint.startswith(damage) for complaint in tally.complaints), tally
