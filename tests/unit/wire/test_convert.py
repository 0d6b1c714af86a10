"""Run records survive the trip through protobuf, whole and at speed."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_record import (
    Lineage,
    LineageKind,
    Origin,
    Progress,
    RunRecord,
    Transition,
)
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import MosaicError
from mosaic.wire.answers import Health
from mosaic.wire.convert import (
    failure_from_proto,
    failure_to_proto,
    progress_from_proto,
    progress_to_proto,
    record_from_proto,
    record_to_proto,
    summary_from_proto,
    transition_from_proto,
    transition_to_proto,
    worker_from_proto,
    worker_to_proto,
)
from mosaic.wire.generated import trainer_pb2 as pb

BARE = RunRecord(
    run_id="01HZZZZZZZZZZZZZZZZZZZZZZZ",
    run_name="bare",
    worker="some",
    state=RunState.INIT,
    outcome=None,
    attempt=0,
    priority=0,
    created_at=0.0,
    updated_at=0.0,
)
FULL = RunRecord(
    run_id="01HZZZZZZZZZZZZZZZZZZZZZZZ",
    run_name="größer 名",
    worker="some",
    state=RunState.TERM,
    outcome=Outcome.FAILED,
    attempt=3,
    priority=-7,
    created_at=1.5,
    updated_at=2.5,
    started_at=0.0,
    finished_at=3.5,
    agent_id="agent",
    worker_id="w",
    env_id="CartPole-v1",
    failure=FailureReason(FailureKind.SIGNAL, "killed", "look", None, 9, "OSError"),
    exit_code=0,
    signal=9,
    stop_reason="max_steps",
    stop_requested=True,
    stalled="no heartbeat",
    waiting="for a CPU",
    last_heartbeat_at=0.0,
    progress=Progress(1, 0, 2, 0, -1.5, 0.0, math.inf),
    cpus=4,
    memory_mb=1024,
    gpu_slots=(0, 3),
    checkpoint_uri="file:x",
    metrics_digest="abc",
    pinned=True,
    tags=("baseline", "größer"),
    note="two\nlines",
    group="ppo-CartPole",
    origin=Origin.IMPORTED,
    lineage=Lineage("01HZZZZZZZZZZZZZZZZZZZZZZY", LineageKind.EVALUATED, 4096),
    config={"run_name": "full"},
    manifest={"run_id": "x"},
    quarantined_lines=5,
    revision=2**40,
    paths={"journal": "/x/events.jsonl"},
    transitions=(Transition(RunState.INIT, 1.0, "submitted", 1),),
    stderr_tail=("Traceback", ""),
    capabilities={"worker_type": "some", "nested": {"a": [1, None]}},
)


def over_the_wire(message: pb.RunRecord) -> pb.RunRecord:
    return pb.RunRecord.FromString(message.SerializeToString())


@pytest.mark.parametrize("record", [BARE, FULL], ids=["bare", "full"])
def test_record_arrives_as_it_was_sent(record: RunRecord) -> None:
    arrived = record_from_proto(over_the_wire(record_to_proto(record)))
    assert arrived == record
    assert arrived.to_dict() == record.to_dict()
    assert replace(arrived, revision=1).revision == 1


def test_full_example_leaves_no_field_at_its_default() -> None:
    for field in fields(RunRecord):
        assert getattr(FULL, field.name) != getattr(BARE, field.name) or field.name in (
            "run_id",
            "worker",
        ), f"extend the example with {field.name}"


def test_summary_leaves_out_the_details_only() -> None:
    arrived = summary_from_proto(over_the_wire(record_to_proto(FULL)))
    assert arrived == replace(
        FULL,
        paths={},
        transitions=(),
        stderr_tail=(),
        capabilities={},
        config={},
        manifest={},
    )


def test_absent_is_told_from_zero() -> None:
    zero = replace(BARE, exit_code=0, signal=0, started_at=0.0, progress=Progress(total_steps=0))
    arrived = summary_from_proto(over_the_wire(record_to_proto(zero)))
    assert (arrived.exit_code, arrived.signal, arrived.started_at) == (0, 0, 0.0)
    assert arrived.finished_at is None
    assert arrived.progress == Progress(total_steps=0)


counts = st.none() | st.integers(0, 2**63)
numbers = st.none() | st.floats(allow_nan=False)


@given(
    st.builds(
        Progress,
        steps=st.integers(0, 2**63),
        total_steps=counts,
        episodes=st.integers(0, 2**63),
        total_episodes=counts,
        last_return=numbers,
        mean_return=numbers,
        steps_per_second=numbers,
    )
)
def test_any_progress_arrives(progress: Progress) -> None:
    assert progress_from_proto(progress_to_proto(progress)) == progress


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_of_failure_arrives(kind: FailureKind) -> None:
    failure = FailureReason(kind, "message", "hint", exit_code=0)
    assert failure_from_proto(failure_to_proto(failure)) == failure


@pytest.mark.parametrize("state", list(RunState))
def test_every_transition_arrives(state: RunState) -> None:
    transition = Transition(state, 12.25, "because", 2)
    assert transition_from_proto(transition_to_proto(transition)) == transition


@pytest.mark.parametrize(
    "changes", [{"state": "NEW"}, {"outcome": "new"}, {"failure": pb.Failure(kind="new")}]
)
def test_word_of_a_newer_daemon_is_a_clear_error(changes: dict[str, object]) -> None:
    message = record_to_proto(BARE)
    message.MergeFrom(pb.RunRecord(**changes))  # type: ignore[arg-type]
    with pytest.raises(MosaicError, match="does not know") as caught:
        record_from_proto(message)
    assert "version" in caught.value.hint


def test_worker_arrives_with_capabilities_and_readiness() -> None:
    capabilities = WorkerCapabilities(
        "some",
        env_families=("classic",),
        readiness_checks=(ReadinessCheck("torch", "import:torch", "pip install torch"),),
        config_schema={"properties": {"seed": {"type": "integer"}}},
    )
    missing = CheckResult("torch", False, "not found", "pip install torch", True)
    found = WorkerInfo("some", "some.cli", "/p", "entry point", "", capabilities, (missing,))
    arrived = worker_from_proto(worker_to_proto(found))
    assert arrived == found
    assert arrived.missing == missing and not arrived.is_ready
    assert worker_from_proto(worker_to_proto(replace(found, readiness=()))).is_ready


def test_health_takes_every_field_of_the_message() -> None:
    names = {field.name for field in pb.HealthResponse.DESCRIPTOR.fields}
    assert set(Health.__dataclass_fields__) == names
    assert Health.from_proto(pb.HealthResponse(alarms=["disk full"])).alarms == ("disk full",)
