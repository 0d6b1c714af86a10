"""Checks lines of a journal against the published event schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mosaic.contracts.run_config import load_schema
from mosaic.contracts.schema_check import violations


def event_problems(event: Any) -> list[str]:
    """What is wrong with one event; empty when it is valid."""
    schema = load_schema("event")
    found = [f"{item.path}: {item.message}" for item in violations(event, schema)]
    if found:
        return found
    for rule in schema["allOf"]:
        if not any(violations(event, rule["if"])):
            found += [f"{item.path}: {item.message}" for item in violations(event, rule["then"])]
    return found


def parse_journal(content: bytes) -> list[dict[str, Any]]:
    """The events of all complete lines."""
    return [json.loads(line, parse_constant=_refuse) for line in content.split(b"\n")[:-1]]


def assert_valid_journal(events: Iterable[dict[str, Any]]) -> None:
    for expected_seq, event in enumerate(events):
        assert event_problems(event) == [], f"{event_problems(event)} in {event}"
        assert event["seq"] == expected_seq, f"seq {expected_seq} was expected in {event}"


def _refuse(name: str) -> float:
    raise AssertionError(f"{name} is not JSON; write it as a string")
