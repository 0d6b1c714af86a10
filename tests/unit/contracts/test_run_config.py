"""TrainRunConfig: what is accepted is honoured, what cannot be is refused by name."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import jsonschema
import pytest

from mosaic.contracts.run_config import (
    MAX_CONFIG_BYTES,
    load_schema,
    parse_run_config,
    parse_run_config_json,
)
from mosaic.errors import ConfigError
from tests.hostile_strings import TRAVERSALS

VALID: dict[str, Any] = {
    "run_name": "first",
    "entry_point": "some_worker",
    "arguments": [],
    "environment": {},
    "resources": {"cpus": 1, "memory_mb": 256, "gpus": {"requested": 0, "mandatory": False}},
    "artifacts": {"output_prefix": "outputs", "persist_logs": True, "keep_checkpoints": True},
    "metadata": {
        "worker": {
            "module": "some_worker.cli",
            "arguments": ["--x"],
            "worker_id": "w1",
            "agent_id": "a1",
            "config": {"env_id": "CartPole-v1"},
        },
        "ui": {"anything": [1, 2]},
        "artifacts": {"tensorboard": {"enabled": True, "relative_path": "tensorboard"}},
    },
    "schedule": {"max_duration_seconds": 10, "max_steps": 100},
    "priority": 5,
}


def with_value(path: str, value: Any, base: dict[str, Any] = VALID) -> dict[str, Any]:
    document = copy.deepcopy(base)
    *parents, last = path.split(".")
    target: Any = document
    for name in parents:
        target = target[name]
    target[last] = value
    return document


def test_a_full_document_is_parsed_and_kept_whole() -> None:
    config = parse_run_config(VALID)
    assert config.worker.module == "some_worker.cli"
    assert config.schedule.max_steps == 100
    assert config.priority == 5
    assert config.raw == VALID


def test_defaults_fill_an_empty_artifacts_block() -> None:
    config = parse_run_config({**VALID, "artifacts": {}})
    assert config.artifacts.output_prefix == "outputs"
    assert config.artifacts.persist_logs is True


@pytest.mark.parametrize(
    "name", ["run_name", "entry_point", "arguments", "environment", "resources", "artifacts"]
)
def test_a_missing_field_is_named_in_the_familiar_sentence(name: str) -> None:
    document = {key: value for key, value in VALID.items() if key != name}
    with pytest.raises(ConfigError) as caught:
        parse_run_config(document)
    assert str(caught.value) == f"Invalid TrainRunConfig: '{name}' is a required property"
    assert name in caught.value.hint


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("run_name", ""),
        ("run_name", "x" * 121),
        ("run_name", 7),
        ("entry_point", "not a name!"),
        ("arguments", "--x"),
        ("arguments", [1]),
        ("environment", {"A": 1}),
        ("environment", {"bad name": "x"}),
        ("environment", {"MOSAIC_RUN_ID": "x"}),
        ("resources.cpus", 0),
        ("resources.cpus", "2"),
        ("resources.cpus", True),
        ("resources.cpus", 1.5),
        ("resources.memory_mb", 255),
        ("resources.gpus.requested", 9),
        ("resources.gpus.requested", -1),
        ("resources.gpus.mandatory", "yes"),
        ("resources.disk", 3),
        ("artifacts.output_prefix", "../x"),
        ("artifacts.keep", True),
        ("metadata.worker.module", "os; rm -rf"),
        ("metadata.worker.modul", "typo"),
        ("metadata.worker.script", "relative.py"),
        ("metadata.worker.worker_id", "../w"),
        ("metadata.worker.config", []),
        ("metadata.artifacts.tensorboard.relative_path", "/abs"),
        ("schedule.max_steps", 0),
        ("schedule.max_duration_seconds", math.nan),
        ("schedule.max_hours", 1),
        ("priority", 101),
        ("priority", "high"),
        ("colour", "blue"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(path: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_run_config(with_value(path, value))
    field = caught.value.details["field"]
    assert field.startswith(path.rsplit(".", 1)[0]) or path.startswith(field), field


PATH_FIELDS = ["artifacts.output_prefix", "metadata.artifacts.tensorboard.relative_path"]
NAME_FIELDS = [
    "entry_point",
    "metadata.worker.module",
    "metadata.worker.script",
    "metadata.worker.worker_id",
    "metadata.worker.agent_id",
]


@pytest.mark.parametrize("field", PATH_FIELDS + NAME_FIELDS)
@pytest.mark.parametrize("text", TRAVERSALS)
def test_no_hostile_string_passes_for_a_path_or_a_name(field: str, text: str) -> None:
    is_interpreter = field == "entry_point" and text.startswith("/") and ".." not in text
    if is_interpreter and "\x00" not in text and len(text) < 4096:
        return  # an absolute path is a legal entry point; pre-flight checks that it is Python
    with pytest.raises(ConfigError):
        parse_run_config(with_value(field, text))


@pytest.mark.parametrize("text", [t for t in TRAVERSALS if ".." in t or "/" in t or "\\" in t])
def test_a_run_name_cannot_look_like_a_path(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_run_config({**VALID, "run_name": text})


@pytest.mark.parametrize("name", ["PPO on CartPole", "läuft 😀", "lr=3e-4, seed 1", "a.b"])
def test_ordinary_labels_are_welcome(name: str) -> None:
    assert parse_run_config({**VALID, "run_name": name}).run_name == name


@pytest.mark.parametrize(
    "document",
    [
        with_value("metadata.worker.config", {"extras": {"wandb_api_key": "k"}}),
        with_value("metadata.worker.config", {"list": [{"password": "k"}]}),
        with_value("metadata.ui", {"hf_token": "k"}),
        with_value("arguments", ["--api-key=abc"]),
        with_value("arguments", ["--wandb-api-key", "abc"]),
        with_value("metadata.worker.arguments", ["--password=x"]),
        with_value("metadata.worker.config", {"command": ["python", "x.py", "--api-key", "abc"]}),
        with_value("metadata.worker.config", {"command": ["env", "GITHUB_TOKEN=abc", "python"]}),
    ],
)
def test_a_secret_outside_the_environment_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="looks like a secret"):
        parse_run_config_json(json.dumps(document))
    # A run that was accepted when the rules were different is still one.
    assert parse_run_config(document).run_name == "first"


@pytest.mark.parametrize("name", ["max_tokens", "token_count", "key_dim", "num_keys", "author"])
def test_innocent_names_are_not_taken_for_secrets(name: str) -> None:
    parse_run_config_json(json.dumps(with_value("metadata.worker.config", {name: "64"})))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arguments", ["--storage", "postgres://me:hunter2@db/study"]),
        ("arguments", ["--storage=postgres://me:hunter2@db/study"]),
        ("metadata.worker.arguments", ["redis://:pw@cache"]),
        ("metadata.worker.config", {"deep": [{"storage": "mysql://a:b@c/d"}]}),
        ("metadata.ui", {"note": "clone https://me:pw@host/repo first"}),
    ],
)
def test_a_url_with_a_password_is_refused_by_name_and_without_the_password(
    field: str, value: Any
) -> None:
    with pytest.raises(ConfigError, match="holds a URL with a password") as caught:
        parse_run_config_json(json.dumps(with_value(field, value)))
    assert field in caught.value.details["field"]
    assert "environment" in caught.value.hint
    assert not any(word in str(caught.value.to_dict()) for word in ("hunter2", ":pw", ":b@"))


def test_names_can_be_declared_plain_unless_they_look_secret() -> None:
    document = with_value("metadata.plain_environment", ["DATA_DIR"])
    assert parse_run_config_json(json.dumps(document)).raw == document
    with pytest.raises(ConfigError, match="names DB_PASSWORD, which looks like a secret"):
        parse_run_config_json(
            json.dumps(with_value("metadata.plain_environment", ["DATA_DIR", "DB_PASSWORD"]))
        )
    for wrong in ("DATA_DIR", ["no name"], [1], ["A"] * 257):
        with pytest.raises(ConfigError, match="plain_environment"):
            parse_run_config(with_value("metadata.plain_environment", wrong))


def test_a_document_over_the_size_limit_is_refused() -> None:
    document = json.dumps({**VALID, "metadata": {"ui": {"x": "y" * 10_000_000}}})
    assert len(document) > MAX_CONFIG_BYTES
    with pytest.raises(ConfigError, match="bytes; the limit is"):
        parse_run_config_json(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2",
        "null",
        "[]",
        '"text"',
        '{"priority": NaN}',
        "[" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '{"run_name": "\\ud800"}',
    ],
)
def test_broken_documents_get_a_clear_error(text: str) -> None:
    with pytest.raises(ConfigError, match="Invalid TrainRunConfig"):
        parse_run_config_json(text)


def test_bytes_that_are_not_utf8_get_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="not valid JSON"):
        parse_run_config_json(b'{"run_name": "\xff\xfe"}')


def test_a_lone_surrogate_is_refused() -> None:
    text = json.dumps({**VALID, "run_name": "a\ud800b"})
    with pytest.raises(ConfigError):
        parse_run_config_json(text)


def test_the_published_schema_is_a_valid_schema_and_accepts_the_example() -> None:
    schema = load_schema("train_run_config")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(VALID, schema)
