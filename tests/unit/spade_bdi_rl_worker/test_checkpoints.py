"""Checkpoints: what comes back, what is refused, and what is found."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mosaic.errors import CheckpointError, ConfigError
from mosaic.gui.checkpoints.model.files import problem_with
from spade_bdi_rl_worker.checkpoint_check import check_checkpoint
from spade_bdi_rl_worker.checkpoints import (
    CheckpointFolder,
    Trained,
    find_checkpoint,
    load_checkpoint,
    read_trained,
)
from spade_bdi_rl_worker.table_file import read_tables, write_tables

TRAINED = Trained("q_learning", "FrozenLake-v1", 1, 1000, 500, 60, states=16, actions=4)
STATE: dict[str, Any] = {
    "learning": {
        "values": np.arange(8.0).reshape(2, 4),
        "visits": np.arange(3),
        "flags": np.array([True, False]),
        "none": None,
        "random": {"state": 2**127 + 1},
        "list": [1, {"a": np.zeros(0)}],
    },
    "memory": {"learner": ["demand(0.7)"]},
}


def test_what_is_written_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    path = tmp_path / "x.qtable"
    digest = write_tables(path, STATE, asdict(TRAINED))
    state, about = read_tables(path)
    assert Trained.from_dict(about, path) == TRAINED == read_trained(path)
    assert (state["learning"]["values"] == STATE["learning"]["values"]).all()
    assert state["learning"]["flags"].dtype == np.bool_
    assert state["learning"]["random"]["state"] == 2**127 + 1
    assert state["memory"] == STATE["memory"]
    assert digest == write_tables(tmp_path / "y.qtable", STATE, asdict(TRAINED))


def test_the_window_takes_it_for_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "x.qtable"
    write_tables(path, STATE, asdict(TRAINED))
    assert problem_with(path) == ""


def test_a_flipped_or_missing_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.qtable"
    write_tables(path, STATE, asdict(TRAINED))
    whole = path.read_bytes()
    step = max(1, len(whole) // 200)
    for place in range(0, len(whole), step):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        try:
            assert "learning" in read_tables(path)[0]
        except CheckpointError:
            continue
        text = whole[8 : 8 + int.from_bytes(whole[:8], "little")]
        is_blank = text.rstrip(b" ") == text[: place - 8].rstrip(b" ")
        assert is_blank or place < 8, f"byte {place} was changed and nobody saw it"
    for length in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            read_tables(path)


@pytest.mark.parametrize(
    "about", [{}, {"algo": 1}, {**asdict(TRAINED), "step": "x"}, {**asdict(TRAINED), "algo": None}]
)
def test_what_says_nothing_sound_of_itself_is_refused(
    tmp_path: Path, about: dict[str, Any]
) -> None:
    write_tables(tmp_path / "x.qtable", STATE, about)
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "x.qtable")


def test_a_file_that_is_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.qtable").write_bytes(b"PK\x03\x04 and more of it")
    with pytest.raises(CheckpointError, match="no checkpoint of the BDI worker"):
        read_tables(tmp_path / "x.qtable")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError):
        read_tables(tmp_path / "pipe")


def test_the_newest_of_a_run_is_found_before_the_best(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "outputs" / "checkpoints", "q-FrozenLake-v1")
    assert find_checkpoint(tmp_path) is None
    folder.save(STATE, asdict(TRAINED))
    assert folder.save_best(STATE, asdict(TRAINED), 0.5)
    assert not folder.save_best(STATE, asdict(TRAINED), 0.5)
    assert find_checkpoint(tmp_path) == folder.path
    assert load_checkpoint(tmp_path).trained == TRAINED


def test_a_warm_start_from_another_family_is_refused_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "x.qtable"
    write_tables(path, STATE, asdict(TRAINED))
    config = {"algo": "sarsa", "env_id": "FrozenLake8x8-v1", "total_timesteps": 5}
    config["extras"] = {"warm_start_path": str(path)}
    check_checkpoint(config)
    with pytest.raises(ConfigError, match="FrozenLake-v1"):
        check_checkpoint({**config, "env_id": "Taxi-v3"})
    path.write_text(json.dumps({}))
    with pytest.raises(CheckpointError):
        check_checkpoint(config)
