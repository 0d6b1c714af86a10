"""What a run may name depends on where it comes from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.errors import CorruptStoreError
from mosaic.front.references import may_leave_its_folder, named_file


def record(folder: Path, **known: Any) -> RunRecord:
    return cast(RunRecord, SimpleNamespace(paths={"run_directory": str(folder)}, **known))


@pytest.mark.parametrize("origin", [Origin.HERE, Origin.SCRIPT])
def test_a_run_made_here_may_name_files_anywhere(origin: Origin, tmp_path: Path) -> None:
    made = record(tmp_path / "run", origin=origin)
    assert may_leave_its_folder(made)
    elsewhere = str(tmp_path / "study.db")
    assert named_file(made, elsewhere, "optuna_db_path") == tmp_path / "study.db"


def test_a_run_that_was_imported_has_its_folder_only(tmp_path: Path) -> None:
    imported = record(tmp_path / "run", origin=Origin.IMPORTED)
    assert not may_leave_its_folder(imported)
    inside = named_file(imported, "a/study.db", "optuna_db_path")
    assert inside == tmp_path / "run" / "a" / "study.db"
    for named in (str(tmp_path / "study.db"), "../study.db"):
        with pytest.raises(CorruptStoreError, match="optuna_db_path"):
            named_file(imported, named, "optuna_db_path")
