"""Saved tables come back as they were; what was changed in between is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spade_bdi_rl_worker.learning import checkpoint
from spade_bdi_rl_worker.learning.checkpoint import (
    MANIFEST,
    load_tables,
    read_manifest,
    save_tables,
)
from spade_bdi_rl_worker.learning.errors import TablesError

STATE: dict[str, Any] = {
    "version": 1,
    "main": {"values": np.arange(12.0).reshape(3, 4), "visits": np.ones((3, 4), dtype=np.int64)},
    "random": {"state": {"state": 2**127 + 1}},
    "names": ["a", None, 1.5],
    "empty": np.empty((0, 2)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tables(tmp_path / "tables", STATE, {"env_id": "FrozenLake-v1", "episodes": 7})
    return tmp_path / "tables"


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != MANIFEST)


def test_what_was_saved_comes_back(folder: Path) -> None:
    for path in (folder, folder / MANIFEST):
        saved = load_tables(path)
        assert saved.description == {"env_id": "FrozenLake-v1", "episodes": 7}
        assert_array_equal(saved.state["main"]["values"], STATE["main"]["values"])
        assert saved.state["main"]["visits"].dtype == np.int64
        assert saved.state["random"] == STATE["random"]
        assert saved.state["names"] == STATE["names"]
        assert saved.state["empty"].shape == (0, 2)


def test_the_manifest_alone_says_what_it_is(folder: Path) -> None:
    for path in files_of(folder):
        path.unlink()
    assert read_manifest(folder)["description"]["env_id"] == "FrozenLake-v1"


def test_saving_again_replaces_what_was_there(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    before = files_of(folder)
    save_tables(folder, {**STATE, "names": ["b"]})
    assert load_tables(folder).state["names"] == ["b"]
    assert len(files_of(folder)) == len(before)
    assert (folder / "notes.txt").exists()


def test_a_crash_before_the_manifest_leaves_the_old_tables(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "atomic_write_json", fail)
    with pytest.raises(TablesError, match="No space left") as caught:
        save_tables(folder, {**STATE, "names": ["b"]})
    assert "what was saved before stays" in caught.value.hint
    assert load_tables(folder).state["names"] == STATE["names"]


def test_any_flipped_byte_is_named(folder: Path) -> None:
    for path in files_of(folder):
        data = path.read_bytes()
        for place in (0, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            with pytest.raises(TablesError, match=path.name):
                load_tables(folder)
        path.write_bytes(data)
    load_tables(folder)


def test_a_file_that_is_cut_off_grown_or_gone_is_named(folder: Path) -> None:
    for path in files_of(folder):
        data = path.read_bytes()
        for other in (data[:-1], data + b"x", b""):
            path.write_bytes(other)
            with pytest.raises(TablesError, match=path.name):
                load_tables(folder)
        path.unlink()
        with pytest.raises(TablesError, match="it is missing"):
            load_tables(folder)
        path.write_bytes(data)


@pytest.mark.parametrize("place", range(0, 840, 7))
def test_a_manifest_with_a_flipped_byte_is_refused_or_says_the_same(
    folder: Path, place: int
) -> None:
    path = folder / MANIFEST
    data = path.read_bytes()
    path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
    try:
        saved = load_tables(folder)
    except TablesError:
        return
    # What is for people only has no hash.
    assert_array_equal(saved.state["main"]["values"], STATE["main"]["values"])


def changed(folder: Path, change: Any) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    change(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(format="other"), "no manifest of tables"),
        (lambda m: m.update(version=9), "version 9"),
        (lambda m: m.update(files=[]), "lists no files"),
        (lambda m: m.update(description=None), "no description"),
        (lambda m: m.update(values="array-none.npy"), "no hash"),
        (lambda m: m.update(values=["x"]), "no hash"),
        (lambda m: m["files"].update({"../../secret": {"sha256": "", "size": 1}}), "secret"),
        (lambda m: m["files"].update({"array-" + "0" * 16 + ".npy": 3}), "none of a checkpoint"),
        (
            lambda m: m["files"].update({f"array-{'0' * 16}.npy": {"sha256": "", "size": 2**40}}),
            "can be read",
        ),
    ],
)
def test_a_manifest_that_was_tampered_with_is_refused(folder: Path, change: Any, said: str) -> None:
    changed(folder, change)
    with pytest.raises(TablesError, match=said):
        load_tables(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": NaN}'])
def test_what_is_no_manifest_is_refused(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(TablesError, match=MANIFEST):
        load_tables(folder)


def test_a_huge_manifest_is_not_read(folder: Path) -> None:
    with (folder / MANIFEST).open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(TablesError, match="larger than"):
        load_tables(folder)


def test_a_huge_file_is_not_read(folder: Path) -> None:
    path = files_of(folder)[0]
    with path.open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(TablesError, match=path.name):
        load_tables(folder)


def test_a_pipe_in_place_of_a_file_is_refused(folder: Path) -> None:
    path = files_of(folder)[0]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(TablesError, match=path.name):
        load_tables(folder)


def test_nothing_is_unpickled(folder: Path) -> None:
    array = np.array([{"a": 1}], dtype=object)
    path = folder / "evil.npy"
    np.save(path, array, allow_pickle=True)
    with pytest.raises(ValueError, match="no table does"):
        checkpoint._array(path.read_bytes(), path.name)


def test_an_array_that_claims_to_be_huge_is_refused() -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    header += b" " * (117 - len(header)) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(ValueError, match="not as long as it says"):
        checkpoint._array(data, "array")


def test_where_nothing_was_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(TablesError, match="no saved tables"):
        load_tables(tmp_path / "nowhere")
