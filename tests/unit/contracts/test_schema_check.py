"""Our small checker gives the same verdicts as the jsonschema package."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.contracts.run_config import load_schema
from mosaic.contracts.schema_check import violations

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.floats(-1e6, 1e6, allow_nan=False)
    | st.text(max_size=8),
    lambda child: (
        st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=6), child, max_size=3)
    ),
    max_leaves=8,
)
SCHEMAS = st.sampled_from(
    [
        {"type": "integer", "minimum": 1, "maximum": 10},
        {"type": ["number", "null"], "exclusiveMinimum": 0},
        {"type": "string", "minLength": 1, "maxLength": 4, "pattern": "^[a-z]+$"},
        {"enum": ["a", 1, None]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}},
            "additionalProperties": False,
        },
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]},
    ]
)


@settings(max_examples=400)
@given(JSON, SCHEMAS)
def test_same_verdict_as_jsonschema(value: Any, schema: dict[str, Any]) -> None:
    ours = not list(violations(value, schema))
    theirs = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert ours == theirs


NEAR_VALID = st.fixed_dictionaries(
    {
        "run_name": st.text(max_size=3) | st.just("x"),
        "entry_point": st.just("w"),
        "arguments": st.just([]) | JSON,
        "environment": st.just({}) | JSON,
        "resources": st.just({"cpus": 1, "memory_mb": 300}) | JSON,
        "artifacts": st.just({}) | JSON,
    },
    optional={"metadata": JSON, "schedule": JSON, "priority": JSON, "extra": JSON},
)


@settings(max_examples=400)
@given(NEAR_VALID)
def test_same_verdict_on_run_configs(document: dict[str, Any]) -> None:
    schema = load_schema("train_run_config")
    ours = not list(violations(document, schema))
    theirs = jsonschema.Draft202012Validator(schema).is_valid(document)
    assert ours == theirs


def test_a_trailing_newline_does_not_slip_through_a_pattern() -> None:
    assert list(violations("abc\n", {"type": "string", "pattern": "^[a-z]+$"}))


def test_paths_name_the_nested_field() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
    }
    (found,) = violations({"a": [1, "x"]}, schema)
    assert found.path == "a[1]"
