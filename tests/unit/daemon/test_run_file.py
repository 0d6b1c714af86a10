"""run.json, from which a lost registry is rebuilt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.contracts.run_files import RunFiles
from mosaic.daemon.registry.run_file import read_run_file, write_row_file, write_run_file
from tests.registry_samples import new_run


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    new = new_run("my run", client_key="key", priority=7)
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    row = read_run_file(files)
    assert row is not None
    assert (row["run_name"], row["client_key"], row["priority"]) == ("my run", "key", 7)
    assert files.record.stat().st_mode & 0o777 == 0o600


def test_a_changed_value_is_noticed(tmp_path: Path) -> None:
    new = new_run("first name")
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    files.record.write_text(files.record.read_text().replace("first name", "other name"))
    assert read_run_file(files) is None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"version": 1}', '{"version": 9}', "\x00"]
)
def test_a_damaged_file_says_nothing(tmp_path: Path, content: str) -> None:
    files = RunFiles(tmp_path / new_run().record.run_id)
    files.directory.mkdir()
    files.record.write_text(content)
    assert read_run_file(files) is None


def test_the_file_of_another_run_is_not_believed(tmp_path: Path) -> None:
    new = new_run()
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    files.directory.rename(tmp_path / new_run().record.run_id)
    (renamed,) = tmp_path.iterdir()
    assert read_run_file(RunFiles(renamed)) is None


def test_the_end_is_not_written_for_a_deleted_run(tmp_path: Path) -> None:
    new = new_run()
    files = RunFiles(tmp_path / new.record.run_id)
    write_run_file(files, new)
    row = read_run_file(files)
    assert row is not None
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
