"""What clients send: configs of any form, keys that make repetition harmless."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mosaic.client import calls
from mosaic.client.calls import Call
from mosaic.contracts.run_config import parse_run_config
from mosaic.errors import ConfigError

CONFIG = {
    "run_name": "größer",
    "entry_point": "some",
    "arguments": [],
    "environment": {},
    "resources": {"cpus": 1, "memory_mb": 512},
    "artifacts": {},
}


def test_config_may_be_a_dict_a_parsed_config_or_json() -> None:
    for form in (CONFIG, parse_run_config(CONFIG), json.dumps(CONFIG), json.dumps(CONFIG).encode()):
        assert json.loads(calls.config_text(form)) == CONFIG


@pytest.mark.parametrize("config", [{"a": math.nan}, {"a": object()}, b"\xff"])
def test_config_that_json_cannot_say_is_refused_before_it_is_sent(config: object) -> None:
    with pytest.raises(ConfigError, match="Invalid TrainRunConfig"):
        calls.config_text(config)  # type: ignore[arg-type]


def test_each_submission_has_a_key_of_its_own() -> None:
    keys = {calls.submit(CONFIG, None, False).request.client_key for _ in range(3)}
    assert len(keys) == 3
    assert "" not in keys
    assert calls.submit(CONFIG, "mine", True).request.client_key == "mine"


def test_absent_grace_is_not_zero_grace() -> None:
    assert not calls.cancel("x", "", None).request.HasField("grace_s")
    assert calls.cancel("x", "", 0.0).request.HasField("grace_s")


def test_what_must_not_happen_twice_is_not_repeated() -> None:
    repeatable: list[Call[Any]] = [
        calls.submit(CONFIG, None, False),
        calls.get("x"),
        calls.cancel("x", "", 1.0),
    ]
    assert all(call.is_repeatable for call in repeatable)
    once: list[Call[Any]] = [
        calls.control("x", {}),
        calls.delete("x", False),
        calls.pause("x"),
        calls.unpause("x"),
    ]
    assert not any(call.is_repeatable for call in once)
