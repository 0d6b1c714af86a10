"""Presets, and what was trained last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.errors import StoreError
from mosaic.gui.state.launch_memory import LaunchMemory
from mosaic.gui.state.presets import PresetFile, name_problem
from mosaic.gui.state.targets import Operation
from mosaic.paths import Home

DOCUMENT = {"run_name": "a", "environment": {"WANDB_API_KEY": "hush", "A": "1"}}


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
    assert later is not None and later.left_out == ("WANDB_API_KEY",)
    assert later.documents[0]["environment"] == {"A": "1"}


@pytest.mark.parametrize("value", ["{", {}, {"documents": []}, {"documents": [1]}, [], 3])
def test_a_damaged_memory_is_told(home: Home, value: object) -> None:
    memory = LaunchMemory(home)
    memory.path.parent.mkdir(parents=True)
    memory.path.write_text(value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(StoreError):
        memory.recall()
