"""Presets, and what was trained last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.errors import StoreError
from mosaic.gui.launch.model.saved_values import (
    LaunchMemory,
    PresetFile,
    name_problem,
    storable_lines,
)
from mosaic.gui.state.targets import Operation
from mosaic.paths import Home

DOCUMENT = {"run_name": "a", "environment": {"WANDB_API_KEY": "hush", "DATA": "/x", "SEED": "1"}}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_presets_of_the_operations_are_apart(home: Home) -> None:
    PresetFile(home, Operation.TRAIN).save("fast", {"seeds": "1..5"})
    assert PresetFile(home, Operation.TRAIN).read() == {"fast": {"seeds": "1..5"}}
    assert PresetFile(home, Operation.EVALUATE).read() == {}
    assert (home.root / "gui" / "presets" / "train.json").exists()


def test_presets_are_replaced_and_deleted(home: Home) -> None:
    file = PresetFile(home, Operation.TRAIN)
    file.save("a", {"x": 1})
    file.save("a", {"x": 2})
    assert file.save("b", {}) == {"a": {"x": 2}, "b": {}}
    assert file.delete("a") == {"b": {}} and file.delete("gone") == {"b": {}}


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "\x00\xff", '"x"'])
def test_a_damaged_file_is_kept(home: Home, text: str) -> None:
    file = PresetFile(home, Operation.TRAIN)
    file.path.parent.mkdir(parents=True)
    file.path.write_text(text)
    for attempt in (file.read, lambda: file.save("a", {}), lambda: file.delete("a")):
        with pytest.raises(StoreError) as caught:
            attempt()
        assert caught.value.hint
    assert file.path.read_text() == text


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\nb"])
def test_names_that_cannot_be(name: str) -> None:
    assert name_problem(name)


def test_names_that_can() -> None:
    assert name_problem("PPO & friends 🚀") == ""


def test_the_last_training_is_known_again_without_its_secrets(home: Home) -> None:
    memory = LaunchMemory(home)
    assert memory.recall() is None
    memory.remember([DOCUMENT])
    memory.save()
    here = memory.recall()
    assert here is not None and here.documents == (DOCUMENT,) and here.left_out == ()
    assert "hush" not in memory.path.read_text()
    later = LaunchMemory(home).recall()
    assert later is not None and later.left_out == ("DATA", "WANDB_API_KEY")
    assert later.documents[0]["environment"] == {"SEED": "1"}


def test_values_an_earlier_version_kept_are_taken_out_when_the_file_is_read(home: Home) -> None:
    memory = LaunchMemory(home)
    memory.path.parent.mkdir(parents=True)
    memory.path.write_text(json.dumps({"documents": [DOCUMENT], "left_out": ["MORE"]}))
    found = memory.recall()
    assert found is not None and found.left_out == ("DATA", "MORE", "WANDB_API_KEY")
    assert "hush" not in memory.path.read_text() and "/x" not in memory.path.read_text()
    assert LaunchMemory(home).recall() == found


def test_presets_keep_the_names_of_variables_and_harmless_values(home: Home) -> None:
    file = PresetFile(home, Operation.SCRIPT)
    lines = ["SEED=1", "DATA=/x", "MY_TOKEN=hush", "TZ=", "ASKED_FOR"]
    file.path.parent.mkdir(parents=True)
    file.path.write_text(json.dumps({"old": {"command": "true", "variables": lines}}))
    kept = {"old": {"command": "true", "variables": storable_lines(lines)}}
    assert kept["old"]["variables"] == ["SEED=1", "DATA", "MY_TOKEN", "TZ=", "ASKED_FOR"]
    assert file.read() == kept
    assert json.loads(file.path.read_text()) == kept


@pytest.mark.parametrize("value", ["{", {}, {"documents": []}, {"documents": [1]}, [], 3])
def test_a_damaged_memory_is_told(home: Home, value: object) -> None:
    memory = LaunchMemory(home)
    memory.path.parent.mkdir(parents=True)
    memory.path.write_text(value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(StoreError):
        memory.recall()
