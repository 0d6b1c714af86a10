"""Paths of another home in documents, and runs that configs mention."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.daemon.keeping.archive.importing import move_paths, moved_value
from mosaic.daemon.keeping.retention import mentioned_runs

RUN = "01M7GMPJSZ0BRD37XN2WQBJ4W5"
OTHER = "01M7GMPZ4XRYYH66DCYMN8YV3R"
OLD, NEW = "/old/home/runs", "/new/runs"


def test_paths_below_runs_are_moved_wherever_they_stand() -> None:
    found = {"a": [f"{OLD}/{RUN}/model.bin", 3], "b": {"c": f"{OLD}/{RUN}"}, "d": None}
    assert moved_value(found, OLD, NEW) == {
        "a": [f"{NEW}/{RUN}/model.bin", 3],
        "b": {"c": f"{NEW}/{RUN}"},
        "d": None,
    }


@pytest.mark.parametrize(
    "text",
    [
        f"see {OLD}/{RUN}/model.bin",
        f"{OLD}/{RUN}/../../etc/passwd",
        f"{OLD}/elsewhere/model.bin",
        f"{OLD}ish/{RUN}/model.bin",
        f"{OLD}/{RUN}x/model.bin",
        OLD,
        "",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert moved_value(text, OLD, NEW) == text


@pytest.mark.parametrize("old", ["", "relative/runs", "/"])
def test_an_odd_origin_changes_nothing_that_is_not_below_a_run(tmp_path: Path, old: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"path": "/etc/passwd", "name": "x"}))
    move_paths([path, tmp_path / "missing.json"], old, Path(NEW))
    assert json.loads(path.read_text()) == {"path": "/etc/passwd", "name": "x"}


def test_a_damaged_document_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{")
    move_paths([path], OLD, Path(NEW))
    assert path.read_text() == "{"


def test_a_config_mentions_runs_by_parent_or_path_but_not_itself() -> None:
    text = json.dumps(
        {
            "metadata": {"lineage": {"parent_run": OTHER}},
            "environment": {"KEY": f"secret://{RUN}/KEY"},
        }
    )
    assert mentioned_runs(text, RUN) == {OTHER}
    assert mentioned_runs(f'"/home/runs/{OTHER}/model"', RUN) == {OTHER}
    assert mentioned_runs(f"{OTHER}0 0{OTHER}", RUN) == set()
