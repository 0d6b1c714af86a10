"""TrainRunConfig: what a caller submits. Parsing refuses whatever could not be honoured."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from mosaic.contracts.hostile_text import label_problem, relative_path_problem
from mosaic.contracts.schema_check import shortened, violations
from mosaic.contracts.secret_text import url_passwords
from mosaic.contracts.secrets import (
    fields_with_passwords,
    is_secret_name,
    secret_fields,
    secret_word,
)
from mosaic.errors import ConfigError
from mosaic.foreign.files import MAX_DOCUMENT_BYTES

MAX_CONFIG_BYTES = MAX_DOCUMENT_BYTES
MAX_DEPTH = 64
# Seeds have up to 128 bits; what is far longer, Python itself refuses to read and to write.
MAX_DIGITS = 1000
_MAX_INTEGER = 10**MAX_DIGITS
RESERVED_PREFIX = "MOSAIC_"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


@functools.cache
def load_schema(name: str) -> dict[str, Any]:
    """A JSON Schema published with the package, e.g. `load_schema("train_run_config")`."""
    file = resources.files("mosaic.contracts") / "schemas" / f"{name}.schema.json"
    schema: dict[str, Any] = json.loads(file.read_text())
    return schema


@dataclass(frozen=True)
class GpuRequest:
    requested: int = 0
    mandatory: bool = False


@dataclass(frozen=True)
class Resources:
    cpus: int
    memory_mb: int | None = None  # the limit; None: as much as there is
    gpus: GpuRequest = GpuRequest()
    # Of a run without a limit: what the queue sets aside. None: what its worker says it needs.
    expected_memory_mb: int | None = None


@dataclass(frozen=True)
class Artifacts:
    output_prefix: str = "outputs"
    persist_logs: bool = True
    keep_checkpoints: bool = True


@dataclass(frozen=True)
class WorkerSpec:
    module: str | None = None
    script: str | None = None
    arguments: tuple[str, ...] = ()
    worker_id: str | None = None
    agent_id: str | None = None
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    max_duration_seconds: int | None = None
    max_steps: int | None = None


@dataclass(frozen=True)
class Retry:
    max_attempts: int = 1
    backoff_seconds: float = 1.0


@dataclass(frozen=True)
class TrainRunConfig:
    run_name: str
    entry_point: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    resources: Resources
    artifacts: Artifacts
    worker: WorkerSpec = WorkerSpec()
    schedule: Schedule = Schedule()
    retry: Retry = Retry()
    priority: int = 0
    # A label that runs share which differ only in their seed; empty for a run by itself.
    group: str = ""
    # Exactly what was submitted, so that nothing is dropped on the way to disk.
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


def parse_run_config_json(text: str | bytes) -> TrainRunConfig:
    """Parse a submitted document; refuses what is too large, too deep or not strict JSON."""
    check_size(text)
    try:
        data = json.loads(text, parse_constant=_refuse_constant, parse_int=_parse_integer)
    except RecursionError:
        raise _invalid("the document is nested too deeply", hint="flatten it") from None
    except ValueError as error:
        raise _invalid(f"not valid JSON: {error}", hint="check quotes and commas") from None
    config = parse_run_config(data)
    _refuse_secrets(config)
    return config


def check_size(text: str | bytes) -> None:
    """For clients, too: what is far too large would not even reach the daemon."""
    if len(text) > MAX_CONFIG_BYTES:
        raise _invalid(
            f"the document has {len(text):,} bytes; the limit is {MAX_CONFIG_BYTES:,}",
            hint="put large data in a file and name the file in the worker's config",
        )


def parse_run_config(data: Any) -> TrainRunConfig:
    """Also of a run that was accepted long ago, by rules that were different then."""
    if _depth_exceeds(data, MAX_DEPTH):
        raise _invalid("the document is nested too deeply", hint=f"at most {MAX_DEPTH} levels")
    check_values(data)
    for violation in violations(data, load_schema("train_run_config")):
        where = f" (at '{violation.path}')" if violation.path else ""
        raise _invalid(violation.message + where, field=violation.path, hint=violation.hint)
    metadata = data.get("metadata", {})
    worker = metadata.get("worker", {})
    config = TrainRunConfig(
        run_name=data["run_name"],
        entry_point=data["entry_point"],
        arguments=tuple(data["arguments"]),
        environment=dict(data["environment"]),
        resources=Resources(
            **_whole({k: v for k, v in data["resources"].items() if k != "gpus"}),
            gpus=GpuRequest(**_whole(data["resources"].get("gpus", {}))),
        ),
        artifacts=Artifacts(**data["artifacts"]),
        worker=WorkerSpec(**{**worker, "arguments": tuple(worker.get("arguments", ()))}),
        schedule=Schedule(**_whole(data.get("schedule", {}))),
        retry=Retry(**_whole(data.get("retry", {}))),
        priority=int(data.get("priority", 0)),
        group=metadata.get("group", ""),
        raw=data,
    )
    _check_meaning(config, metadata)
    return config


def _whole(numbers: dict[str, Any]) -> dict[str, Any]:
    """JSON may write a whole number as 2.0."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in numbers.items()
    }


def _check_meaning(config: TrainRunConfig, metadata: dict[str, Any]) -> None:
    """Rules a schema cannot say."""
    if problem := label_problem(config.run_name):
        raise _invalid(f"run_name {problem}", field="run_name", hint="use a plain label")
    if config.group and (problem := label_problem(config.group)):
        raise _invalid(
            f"metadata.group {problem}", field="metadata.group", hint="use a plain label"
        )
    if problem := relative_path_problem(config.artifacts.output_prefix):
        raise _invalid(
            f"artifacts.output_prefix {problem}",
            field="artifacts.output_prefix",
            hint="for example 'outputs' or 'outputs/first'",
        )
    _check_entry_point(config.entry_point)
    for name in config.environment:
        if name.startswith(RESERVED_PREFIX):
            raise _invalid(
                f"environment.{name} is reserved for MOSAIC itself",
                field=f"environment.{name}",
                hint=f"choose a name that does not start with {RESERVED_PREFIX}",
            )
    _check_worker(config.worker)
    _check_artifact_paths(metadata.get("artifacts", {}), "metadata.artifacts")


def _refuse_secrets(config: TrainRunConfig) -> None:
    """Only variables are kept apart from what is stored; everything else must be fit to be seen."""
    metadata = config.raw.get("metadata", {})
    for where in secret_fields(metadata, "metadata"):
        raise _invalid(
            f"{where} looks like a secret, and configs are stored",
            field=where,
            hint="put it in 'environment' (for example WANDB_API_KEY); it reaches the worker only",
        )
    for where in fields_with_passwords(metadata, "metadata"):
        raise _url_with_password(where)
    for where, values in (
        ("arguments", config.arguments),
        *_lists_of_words(metadata, "metadata"),
    ):
        for index, text in enumerate(values):
            if url_passwords(text):
                raise _url_with_password(f"{where}[{index}]")
        place = secret_word(values)
        if place is not None:
            raise _invalid(
                f"{where}[{place}] looks like a secret, and arguments are visible to all",
                field=f"{where}[{place}]",
                hint="put it in 'environment'",
            )
    for name in metadata.get("plain_environment", ()):
        if is_secret_name(name):
            raise _invalid(
                f"metadata.plain_environment names {name}, which looks like a secret",
                field="metadata.plain_environment",
                hint="leave it out: its value then reaches the worker and is stored nowhere",
            )


def _lists_of_words(value: Any, where: str) -> Iterator[tuple[str, Sequence[str]]]:
    """With their dotted paths: a worker's arguments, and the command of another program."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _lists_of_words(item, f"{where}.{name}")
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield where, value


def _url_with_password(where: str) -> ConfigError:
    return _invalid(
        f"{where} holds a URL with a password, and configs are stored",
        field=where,
        hint="put the URL in 'environment' and let the worker read it there",
    )


def _check_entry_point(text: str) -> None:
    path = PurePosixPath(text)
    is_interpreter = path.is_absolute() and ".." not in path.parts
    if not (is_interpreter or _NAME.fullmatch(text)):
        raise _invalid(
            f"entry_point {text[:80]!r} is neither a worker, a module nor an absolute path",
            field="entry_point",
            hint="name a worker (see `mosaic workers`), a Python module, or an absolute "
            "path of a Python interpreter",
        )


def _check_worker(worker: WorkerSpec) -> None:
    if worker.module and worker.script:
        raise _invalid(
            "metadata.worker has both 'module' and 'script'",
            field="metadata.worker",
            hint="keep one of the two",
        )
    if worker.script is not None:
        path = PurePosixPath(worker.script)
        if not path.is_absolute() or ".." in path.parts or path.suffix != ".py":
            raise _invalid(
                "metadata.worker.script must be the absolute path of a .py file",
                field="metadata.worker.script",
                hint="write the full path, without '..'",
            )


def _check_artifact_paths(value: Any, where: str) -> None:
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "relative_path" and isinstance(item, str):
            if problem := relative_path_problem(item):
                raise _invalid(f"{where}.{key} {problem}", field=f"{where}.{key}")
        else:
            _check_artifact_paths(item, f"{where}.{key}")


def check_values(value: Any, where: str = "") -> None:
    """Refuses what could not be stored or passed on, wherever it stands.

    NUL bytes, lone surrogates, NaN, and numbers beyond all bounds.
    """
    if isinstance(value, str):
        if problem := _text_problem(value):
            raise _invalid(f"{where or 'a string'} {problem}", field=where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _invalid(
            f"{where} is not a finite number",
            field=where,
            hint=f"NaN is not JSON, and a number has at most {MAX_DIGITS} digits",
        )
    elif isinstance(value, int) and not -_MAX_INTEGER < value < _MAX_INTEGER:
        raise _invalid(f"{where} has more than {MAX_DIGITS} digits", field=where)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and (problem := _text_problem(key)):
                raise _invalid(
                    f"the name {shortened(key)} in {where or 'the document'} {problem}", field=where
                )
            check_values(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_values(item, f"{where}[{index}]")


def _text_problem(text: str) -> str:
    if "\x00" in text:
        return "holds a NUL character"
    if any("\ud800" <= c <= "\udfff" for c in text):
        return "is not valid Unicode"
    return ""


def _depth_exceeds(value: Any, limit: int) -> bool:
    """Iterative, so that a hostile document cannot exhaust the stack."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _parse_integer(text: str) -> float:
    """Too many digits become an infinite float, for whose field `check_values` has a sentence."""
    return int(text) if len(text) <= MAX_DIGITS else float(text)


def _refuse_constant(name: str) -> float:
    raise _invalid(f"{name} is not valid JSON", hint="write a finite number or null")


def _invalid(message: str, *, field: str = "", hint: str = "") -> ConfigError:
    return ConfigError(f"Invalid TrainRunConfig: {message}", hint=hint, field=field)
