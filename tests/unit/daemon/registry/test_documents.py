"""run.json, from which a lost registry is rebuilt."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mosaic.contracts.run_files import RunFiles
from mosaic.daemon.registry.documents import read_run_file, write_row_file, write_run_file
from mosaic.errors import CorruptStoreError
from tests.registry_samples import new_run


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    new = new_run("my run", client_key="key", priority=7)
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    row = read_run_file(files)
    assert (row["run_name"], row["client_key"], row["priority"]) == ("my run", "key", 7)
    assert files.record.stat().st_mode & 0o777 == 0o600


def test_a_changed_value_is_noticed(tmp_path: Path) -> None:
    new = new_run("first name")
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    files.record.write_text(files.record.read_text().replace("first name", "other name"))
    with pytest.raises(CorruptStoreError, match="does not match its checksum"):
        read_run_file(files)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "5", '{"version": 1}', '{"version": 9}', "\x00", "[" * 100_000],
)
def test_a_damaged_file_is_no_record(tmp_path: Path, content: str) -> None:
    files = RunFiles(tmp_path / new_run().record.run_id)
    files.directory.mkdir()
    files.record.write_text(content)
    with pytest.raises(CorruptStoreError, match=r"run\.json is no record of a run"):
        read_run_file(files)


def test_a_missing_file_or_one_that_is_a_folder_is_said_to_be_so(tmp_path: Path) -> None:
    files = RunFiles(tmp_path / new_run().record.run_id)
    with pytest.raises(CorruptStoreError, match="is missing"):
        read_run_file(files)
    files.record.mkdir(parents=True)
    with pytest.raises(CorruptStoreError, match="cannot be read"):
        read_run_file(files)


@pytest.mark.timeout(20)
def test_a_pipe_in_its_place_does_not_hold_up_a_daemon_that_starts(tmp_path: Path) -> None:
    files = RunFiles(tmp_path / new_run().record.run_id)
    files.directory.mkdir()
    os.mkfifo(files.record)
    with pytest.raises(CorruptStoreError, match="it is not a regular file"):
        read_run_file(files)


def test_a_value_no_record_can_hold_is_named_though_its_checksum_is_right(tmp_path: Path) -> None:
    new = new_run()
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    write_row_file(files, {**read_run_file(files), "attempt": 10**12})
    with pytest.raises(CorruptStoreError, match="attempt is 1000000000000; it must be"):
        read_run_file(files)


def test_the_file_of_another_run_is_not_believed(tmp_path: Path) -> None:
    new = new_run()
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    files.directory.rename(tmp_path / new_run().record.run_id)
    (renamed,) = tmp_path.iterdir()
    with pytest.raises(CorruptStoreError, match=f"speaks of the run {new.record.run_id}"):
        read_run_file(RunFiles(renamed))


def test_the_end_is_not_written_for_a_deleted_run(tmp_path: Path) -> None:
    new = new_run()
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    row = read_run_file(files)
    files.record.unlink()
    files.directory.rmdir()
    with pytest.raises(FileNotFoundError):
        write_row_file(files, row)
    assert not files.directory.exists()


def test_the_file_holds_no_field_a_person_could_not_read(tmp_path: Path) -> None:
    new = new_run()
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    document = json.loads(files.record.read_text())
    assert document["run"]["run_id"] == new.record.run_id
