"""Config files and `--set`: nested and flat documents, strict JSON, errors that name the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import ConfigError
from mosaic.worker import config_schema, load_config_file, option
from mosaic.worker.config import apply_assignments


@dataclass
class Inner:
    size: int = 1


@dataclass
class Sample:
    name: str = ""
    lr: float = 0.1
    verbose: bool = False
    seed: int | None = None
    inner: Inner = field(default_factory=Inner)
    extras: Mapping[str, Any] = option(dict)


SCHEMA = config_schema(Sample)


def written(folder: Path, text: str) -> Path:
    path = folder / "worker.json"
    path.write_text(text)
    return path


def test_flat_file_is_the_config(tmp_path: Path) -> None:
    assert load_config_file(written(tmp_path, '{"seed": 1}')) == {"seed": 1}


def test_config_is_found_inside_a_whole_run_document(tmp_path: Path) -> None:
    document = {"run_name": "x", "metadata": {"worker": {"module": "m", "config": {"seed": 2}}}}
    assert load_config_file(written(tmp_path, json.dumps(document))) == {"seed": 2}


def test_run_document_without_a_worker_config_is_an_empty_config(tmp_path: Path) -> None:
    assert load_config_file(written(tmp_path, '{"metadata": {"worker": {}}}')) == {}


def test_own_metadata_field_does_not_make_a_file_nested(tmp_path: Path) -> None:
    text = '{"metadata": {"author": "me"}}'
    assert load_config_file(written(tmp_path, text)) == {"metadata": {"author": "me"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"seed": 1', "not valid JSON"),
        ('{"lr": NaN}', "NaN is not a JSON number"),
        ('{"lr": -Infinity}', "-Infinity is not a JSON number"),
        ("[1]", "a JSON object was expected"),
        ('"text"', "a JSON object was expected"),
        ('{"metadata": {"worker": {"config": 5}}}', "metadata.worker.config"),
        ("[" * 100_000, "nested too deeply"),
        ("", "not valid JSON"),
    ],
)
def test_unusable_file_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config_file(path)
    assert words in caught.value.message
    assert str(path) in caught.value.message


def test_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json cannot be read: No such file"):
        load_config_file(tmp_path / "nowhere.json")


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config_file(tmp_path)


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("lr=3e-4", {"lr": 3e-4}),
        ("seed=5", {"seed": 5}),
        ("seed=null", {"seed": None}),
        ("name=123", {"name": "123"}),
        ("name=a=b", {"name": "a=b"}),
        ("name=", {"name": ""}),
        ("verbose=true", {"verbose": True}),
        ("verbose=True", {"verbose": True}),
        ("verbose=False", {"verbose": False}),
        ("inner.size=7", {"inner": {"size": 7}}),
        ("extras.new.deep=[1, 2]", {"extras": {"new": {"deep": [1, 2]}}}),
        ("extras.text=hello", {"extras": {"text": "hello"}}),
        ("lr=NaN", {"lr": "NaN"}),
    ],
)
def test_assignment_is_read_as_its_field_demands(assignment: str, expected: Any) -> None:
    assert apply_assignments({}, [assignment], SCHEMA) == expected


def test_later_assignments_win_and_the_file_stays_untouched() -> None:
    data = {"inner": {"size": 1}, "seed": 1}
    result = apply_assignments(data, ["inner.size=2", "inner.size=3"], SCHEMA)
    assert result == {"inner": {"size": 3}, "seed": 1}
    assert data == {"inner": {"size": 1}, "seed": 1}


@pytest.mark.parametrize("text", ["seed", "=5", ""])
def test_assignment_without_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="key=value"):
        apply_assignments({}, [text], SCHEMA)


def test_assignment_below_a_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="'seed' is not an object"):
        apply_assignments({"seed": 1}, ["seed.x=1"], SCHEMA)
