"""W&B without its process: what is sent, where it goes, what is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cleanrl_worker.kit.writers.wandb import messages, require_wandb, sidecar_environment
from mosaic.errors import DependencyError


def test_values_of_one_step_travel_together() -> None:
    samples = [("loss", 1.0, 5), ("speed", 2.0, 5), ("loss", 3.0, 6)]
    assert [json.loads(line) for line in messages(samples)] == [
        {"step": 5, "values": {"loss": 1.0, "speed": 2.0}},
        {"step": 6, "values": {"loss": 3.0}},
    ]


def test_two_episodes_that_end_at_one_step_both_count() -> None:
    samples = [("return", 1.0, 5), ("length", 9.0, 5), ("return", 2.0, 5)]
    assert [json.loads(line)["values"] for line in messages(samples)] == [
        {"return": 1.0, "length": 9.0},
        {"return": 2.0},
    ]


def test_nothing_is_sent_anywhere_without_a_key(tmp_path: Path) -> None:
    environment = sidecar_environment({"PATH": "/bin"}, tmp_path)
    assert environment["WANDB_MODE"] == "offline"
    assert environment["WANDB_DIR"] == str(tmp_path)
    assert environment["PATH"] == "/bin"


def test_a_key_or_an_explicit_mode_decides(tmp_path: Path) -> None:
    assert "WANDB_MODE" not in sidecar_environment({"WANDB_API_KEY": "k" * 40}, tmp_path)
    both = {"WANDB_API_KEY": "k" * 40, "WANDB_MODE": "offline"}
    assert sidecar_environment(both, tmp_path)["WANDB_MODE"] == "offline"
    assert sidecar_environment({"WANDB_MODE": "disabled"}, tmp_path)["WANDB_MODE"] == "disabled"


def test_files_stay_below_the_run_whatever_the_user_has_set(tmp_path: Path) -> None:
    environment = sidecar_environment({"WANDB_DIR": "/elsewhere"}, tmp_path)
    assert environment["WANDB_DIR"] == str(tmp_path)


def test_missing_package_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder that an earlier run left in the working directory looks like a package.
    (tmp_path / "wandb").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with pytest.raises(DependencyError, match="track") as missing:
        require_wandb()
    assert missing.value.hint == 'pip install "mosaic-rl[wandb]"'
