"""A config dataclass gives its schema, its checks and its values; so do files and `--set`."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Optional

import jsonschema
import pytest

from mosaic.errors import ConfigError
from mosaic.worker import build_config, config_schema, load_config_file, option
from mosaic.worker.config import apply_assignments, config_to_dict


class Device(enum.StrEnum):
    CPU = "cpu"
    GPU = "cuda"


@dataclass(frozen=True)
class Network:
    layers: tuple[int, ...] = option((64, 64), help="width of each layer")
    activation: Literal["tanh", "relu"] = "tanh"


@dataclass(frozen=True)
class SampleConfig:
    env_id: str = option(help="the environment", editor="env_id")
    lr: float = option(3e-4, help="learning rate", minimum=0, maximum=1)
    total_timesteps: int = option(1000, minimum=1)
    seed: int | None = None
    verbose: bool = False
    tags: list[str] = field(default_factory=list)
    window: tuple[int, int] = (640, 480)
    extras: Mapping[str, Any] = option(dict)
    weights: dict[str, float] = option({"a": 1.0})  # noqa: RUF009 (option makes copies)
    network: Network = Network()
    teacher: Network | None = None
    schedule: Literal["constant", "linear"] | None = None
    device: Device = Device.CPU
    algo: str = option("ppo", choices=("ppo", "dqn"))
    limit: Optional[float] = None  # noqa: UP045 (the old spelling has to work too)
    anything: Any = None
    derived: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.total_timesteps == 13:
            raise ValueError("13 steps bring bad luck")


def test_schema_says_types_defaults_and_bounds() -> None:
    schema = config_schema(SampleConfig)
    fields = schema["properties"]
    assert schema["required"] == ["env_id"]
    assert schema["additionalProperties"] is False
    assert "derived" not in fields
    assert fields["env_id"] == {
        "type": "string",
        "description": "the environment",
        "x-editor": "env_id",
    }
    assert fields["lr"] == {
        "type": "number",
        "default": 3e-4,
        "description": "learning rate",
        "minimum": 0,
        "maximum": 1,
    }
    assert fields["seed"] == {"type": ["integer", "null"], "default": None}
    assert fields["tags"] == {"type": "array", "items": {"type": "string"}, "default": []}
    assert fields["window"]["minItems"] == fields["window"]["maxItems"] == 2
    assert fields["weights"]["additionalProperties"] == {"type": "number"}
    assert fields["schedule"]["enum"] == ["constant", "linear", None]
    assert fields["device"] == {"enum": ["cpu", "cuda"], "default": "cpu"}
    assert fields["algo"]["enum"] == ["ppo", "dqn"]
    assert fields["network"]["properties"]["layers"]["default"] == [64, 64]
    assert fields["network"]["default"] == {"layers": [64, 64], "activation": "tanh"}
    assert fields["anything"] == {"default": None}


def test_schema_is_a_valid_json_schema_and_accepts_its_defaults() -> None:
    schema = config_schema(SampleConfig)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(config_to_dict(SampleConfig(env_id="x")), schema)


def test_values_get_the_annotated_types() -> None:
    config = build_config(
        SampleConfig,
        {
            "env_id": "CartPole-v1",
            "lr": 1,
            "total_timesteps": 1e6,
            "window": [1, 2],
            "network": {"layers": [32]},
            "teacher": {"activation": "relu"},
            "weights": {"b": 2},
            "device": "cuda",
            "limit": 3,
        },
    )
    assert config.lr == 1.0 and type(config.lr) is float
    assert config.total_timesteps == 1_000_000 and type(config.total_timesteps) is int
    assert config.window == (1, 2)
    assert config.network == Network(layers=(32,))
    assert config.teacher == Network(activation="relu")
    assert config.weights == {"b": 2.0}
    assert config.device is Device.GPU
    assert type(config.limit) is float


def test_defaults_are_not_shared_between_instances() -> None:
    first, second = (build_config(SampleConfig, {"env_id": "x"}) for _ in range(2))
    first.weights["c"] = 3.0
    assert second.weights == {"a": 1.0}


@pytest.mark.parametrize(
    ("data", "field_name", "words"),
    [
        ({}, "env_id", "is required"),
        ({"env_id": 5}, "env_id", "is not of type 'string'"),
        ({"env_id": "x", "lr": -1}, "lr", "less than the minimum"),
        ({"env_id": "x", "lr": "fast"}, "lr", "not of type 'number'"),
        ({"env_id": "x", "lr": float("nan")}, "lr", "not a finite number"),
        ({"env_id": "x", "total_timesteps": 1.5}, "total_timesteps", "not of type 'integer'"),
        ({"env_id": "x", "total_timesteps": True}, "total_timesteps", "not of type 'integer'"),
        ({"env_id": "x", "network": {"layers": ["a"]}}, "network.layers[0]", "integer"),
        ({"env_id": "x", "network": {"layrs": [1]}}, "network.layrs", "is not a known field"),
        ({"env_id": "x", "teacher": {"width": 1}}, "teacher.width", "is not a known field"),
        ({"env_id": "x", "schedule": "cosine"}, "schedule", "is not one of"),
        ({"env_id": "x", "window": [1]}, "window", "fewer than 2"),
        ({"env_id": "x", "total_timesteps": 13}, "", "bad luck"),
        ([], "", "a JSON object was expected"),
    ],
)
def test_bad_value_is_refused_with_the_name_of_its_field(
    data: Any, field_name: str, words: str
) -> None:
    with pytest.raises(ConfigError, match="Invalid SampleConfig") as caught:
        build_config(SampleConfig, data)
    assert caught.value.details["field"] == field_name
    assert words in caught.value.message
    assert field_name in caught.value.message


def test_misspelt_field_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        build_config(SampleConfig, {"env_id": "x", "total_timestep": 5})
    assert caught.value.message == "Invalid SampleConfig: 'total_timestep' is not a known field"
    assert caught.value.hint == "did you mean 'total_timesteps'?"


def test_own_config_error_of_the_dataclass_passes_unchanged() -> None:
    @dataclass
    class Picky:
        def __post_init__(self) -> None:
            raise ConfigError("no", field="taste")

    with pytest.raises(ConfigError) as caught:
        build_config(Picky, {})
    assert caught.value.details["field"] == "taste"


@pytest.mark.parametrize("hint", [set[int], dict[int, str], tuple[int, str], bytes])
def test_type_without_a_place_in_json_is_refused_early(hint: Any) -> None:
    unsupported = type("Unsupported", (), {"__annotations__": {"x": hint}})
    with pytest.raises(TypeError, match="x: "):
        config_schema(dataclass(unsupported))


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
