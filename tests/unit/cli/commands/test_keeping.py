"""Which trashed run is meant, and what an archive is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.cli.commands.keeping import archive_path, choose_trashed
from mosaic.contracts.keeping import TrashedRun
from mosaic.errors import RequestError, UnknownRunError

ONE, TWO = "01M7GMPJSZ0BRD37XN2WQBJ4W5", "01M7GMPZ4XRYYH66DCYMN8YV3R"
TRASH = [TrashedRun(ONE, "mine", 9.0, 1, "user"), TrashedRun(TWO, "yours", 8.0, 1, "user")]


@pytest.mark.parametrize("text", [ONE, ONE.lower(), "mine", "J4W5", "01M7GMPJ", "latest"])
def test_a_trashed_run_is_found_by_id_part_name_or_as_the_latest(text: str) -> None:
    assert [run.run_id for run in choose_trashed(TRASH, text)] == [ONE]


@pytest.mark.parametrize("text", ["", "W5", "min", "nobody", "../x"])
def test_what_is_not_in_the_trash(text: str) -> None:
    with pytest.raises(UnknownRunError):
        choose_trashed(TRASH, text)


def test_an_empty_trash_has_no_latest() -> None:
    with pytest.raises(UnknownRunError):
        choose_trashed([], "latest")


def test_several_candidates_are_named() -> None:
    with pytest.raises(RequestError, match=f"{ONE}, {TWO}"):
        choose_trashed(TRASH, "01M7GMP")


def test_the_name_of_a_group_means_its_seeds_in_the_trash() -> None:
    seeds = [
        TrashedRun(ONE, "ours-seed2", 9.0, 1, "user"),
        TrashedRun(TWO, "ours-seed1", 8.0, 1, ""),
    ]
    assert choose_trashed([*seeds, *TRASH], "ours") == seeds


def test_an_archive_is_named_after_name_and_id(tmp_path: Path) -> None:
    name = f"mine-{ONE}.mosaic.zip"
    assert archive_path(None, "mine", ONE, True) == Path(name)
    assert archive_path(str(tmp_path), "mine", ONE, False) == tmp_path / name
    assert archive_path(str(tmp_path / "a.zip"), "mine", ONE, True) == tmp_path / "a.zip"
    assert archive_path(None, "???", ONE, True).name == f"run-{ONE}.mosaic.zip"
    assert "/" not in archive_path(None, "a b", ONE, True).name


@pytest.mark.parametrize(("out", "is_only"), [("missing/", True), ("file.zip", False)])
def test_several_runs_need_a_folder_that_exists(tmp_path: Path, out: str, is_only: bool) -> None:
    with pytest.raises(RequestError, match="no folder"):
        archive_path(f"{tmp_path}/{out}", "mine", ONE, is_only)
