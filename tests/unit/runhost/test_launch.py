"""A specification is taken whole and sound, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mosaic.contracts.run_files import AttemptSpec
from mosaic.runhost.launch import FIELDS, SpecError, parse_spec

SPEC = AttemptSpec(
    run_id="01HZZZZZZZZZZZZZZZZZZZZZZZ",
    attempt=2,
    run_directory="/runs/r",
    worker_name="worker",
    argv=("python", "-m", "x"),
    cwd="/runs/r",
    environment={"PATH": "/bin"},
    secrets={"KEY": "value"},
    max_duration_s=1.5,
    shm_prefixes=("mosaic.",),
)


def document(**changes: Any) -> bytes:
    return json.dumps({**SPEC.to_dict(), **changes}).encode()


def test_what_the_daemon_writes_is_what_the_host_reads() -> None:
    assert AttemptSpec.from_dict(parse_spec(document())) == SPEC


def test_table_of_fields_is_the_contract() -> None:
    assert set(FIELDS) == set(AttemptSpec._fields)


def test_fields_of_a_newer_daemon_are_left_out() -> None:
    assert AttemptSpec.from_dict(parse_spec(document(colour="red"))) == SPEC


def test_optional_fields_may_be_missing() -> None:
    required = ("run_id", "attempt", "run_directory", "worker_name", "argv", "cwd", "environment")
    whole = json.loads(document())
    spec = AttemptSpec.from_dict(
        parse_spec(json.dumps({name: whole[name] for name in required}).encode())
    )
    assert spec.grace_s == 10.0
    for name in required:
        with pytest.raises(SpecError, match=name):
            parse_spec(json.dumps({key: whole[key] for key in whole if key != name}).encode())


@pytest.mark.parametrize("cut", [0, 1, 10, 100, -2])
def test_torn_document_is_refused(cut: int) -> None:
    with pytest.raises(SpecError):
        parse_spec(document()[:cut])


@pytest.mark.parametrize(
    "changes",
    [
        {"argv": []},
        {"argv": [1]},
        {"argv": "python"},
        {"environment": {"A": 1}},
        {"secrets": None},
        {"attempt": True},
        {"attempt": -1},
        {"run_id": "../x"},
        {"run_id": ""},
        {"worker_name": "a/b"},
        {"worker_name": ""},
        {"worker_name": ".hidden"},
        {"control": "telepathy"},
        {"grace_s": -1},
        {"grace_s": float("nan")},
        {"grace_s": float("inf")},
        {"max_processes": 0},
        {"log_max_bytes": 0},
        {"stdout_events": 1},
    ],
)
def test_wrong_values_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        parse_spec(document(**changes))


@pytest.mark.parametrize("text", [b"", b"  \n", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_specification_is_refused(text: bytes) -> None:
    with pytest.raises(SpecError):
        parse_spec(text)
