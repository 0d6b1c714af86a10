"""eval_summary.json, as it is while somebody writes it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.evaluation_summary import FILE_NAME, EvaluationBatch
from mosaic.gui.live.model.hud import EvaluationFile

ENTRY = {
    "batch_index": 1,
    "episodes": 50,
    "avg_return": 112.3,
    "min_return": 90.1,
    "max_return": 142.6,
}
BATCH = EvaluationBatch(1, 50, 112.3, 90.1, 142.6)


def write(folder: Path, content: Any, at: int) -> None:
    path = folder / FILE_NAME
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    os.utime(path, (at, at))


def test_the_newest_batch_is_found_when_it_comes(tmp_path: Path) -> None:
    file = EvaluationFile(tmp_path)
    assert file.newest_batch() is None
    write(tmp_path, {"history": [ENTRY]}, 1)
    assert file.newest_batch() == BATCH
    write(tmp_path, {"history": [ENTRY, {**ENTRY, "batch_index": 2}]}, 2)
    found = file.newest_batch()
    assert found is not None and found.number == 2


def test_half_a_file_leaves_what_was_known(tmp_path: Path) -> None:
    file = EvaluationFile(tmp_path)
    write(tmp_path, {"history": [ENTRY]}, 1)
    file.newest_batch()
    write(tmp_path, '{"history": [{"batch_in', 2)
    assert file.newest_batch() == BATCH
    (tmp_path / FILE_NAME).unlink()
    assert file.newest_batch() == BATCH


def test_a_folder_in_its_place_is_no_batch(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    assert EvaluationFile(tmp_path).newest_batch() is None


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"history": []},
        {"history": 7},
        {"history": [None]},
        {"history": [{**ENTRY, "episodes": "many"}]},
        {"history": [{**ENTRY, "avg_return": None}]},
        {"history": [{**ENTRY, "batch_index": 1e400}]},
    ],
)
def test_other_content_is_no_batch(tmp_path: Path, content: Any) -> None:
    write(tmp_path, content, 1)
    assert EvaluationFile(tmp_path).newest_batch() is None


@pytest.mark.timeout(20)
def test_a_pipe_of_that_name_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    assert EvaluationFile(tmp_path).newest_batch() is None
