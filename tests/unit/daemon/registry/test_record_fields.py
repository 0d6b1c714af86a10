"""A field of a run's record is in the message, in the table and in every conversion.

The record is made from the types of its fields, so a new field is tested without being named here.
"""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import pytest

from mosaic.contracts.run_record import Lineage, Progress, RunRecord, Transition, build_record
from mosaic.contracts.run_state import FailureReason
from mosaic.daemon.registry.rows import LISTED, record_of, row_of
from mosaic.wire.convert import record_from_proto, record_to_proto, summary_from_proto
from mosaic.wire.generated import trainer_pb2 as pb

PLAIN: dict[Any, Any] = {str: "some text", int: 7, float: 1.5, bool: True}
DETAILS = {"paths", "transitions", "stderr_tail", "capabilities", "config", "manifest"}
# Details have files of their own; why a run waits is found out anew.
NOT_STORED = DETAILS | {"waiting"}


def sample(kind: Any) -> Any:
    """A value of this type that is no default."""
    if kind in PLAIN:
        return PLAIN[kind]
    arguments = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return next(sample(each) for each in arguments if each is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        return (sample(arguments[0]),)
    if typing.get_origin(kind) is dict:
        return {"key": "value"}
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        values = {item.name: sample(hints[item.name]) for item in fields(kind)}
        return typing.cast(Any, kind)(**values)
    assert issubclass(kind, Enum), f"say what a sample of {kind} is"
    return list(kind)[-1]


RECORD: RunRecord = sample(RunRecord)


def without(record: RunRecord, names: set[str]) -> RunRecord:
    """The record with the defaults of these fields."""
    return build_record({k: v for k, v in vars(record).items() if k not in names})


@pytest.mark.parametrize(
    ("noun", "message"),
    [
        (RunRecord, pb.RunRecord),
        (Progress, pb.Progress),
        (Lineage, pb.Lineage),
        (FailureReason, pb.Failure),
        (Transition, pb.Transition),
    ],
)
def test_a_message_has_the_fields_of_its_noun(noun: Any, message: Any) -> None:
    sent = {item.name.removesuffix("_json") for item in message.DESCRIPTOR.fields}
    assert sent == {item.name for item in fields(noun)}


def test_every_field_arrives() -> None:
    message = pb.RunRecord.FromString(record_to_proto(RECORD).SerializeToString())
    assert record_from_proto(message) == RECORD
    assert summary_from_proto(message) == without(RECORD, DETAILS)


def test_every_field_is_stored() -> None:
    row = row_of(RECORD, None, "digest")
    assert record_of([row[name] for name in LISTED]) == without(RECORD, NOT_STORED)


def test_a_record_that_is_built_has_its_own_defaults() -> None:
    first, second = without(RECORD, DETAILS), without(RECORD, DETAILS)
    assert first == replace(first) == second
    assert first.paths == {} and first.paths is not second.paths
