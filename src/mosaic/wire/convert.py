"""Run records, workers, checks, trash and retention to protobuf messages and back.

Lists of 10,000 pass through here: speed counts.
"""

from __future__ import annotations

import json
from dataclasses import fields
from operator import attrgetter
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.keeping import (
    Deletion,
    RetentionChoice,
    RetentionPolicy,
    RetentionResult,
    TrashedRun,
)
from mosaic.contracts.run_record import (
    Lineage,
    LineageKind,
    Origin,
    Progress,
    RunRecord,
    Transition,
    build_record,
)
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import MosaicError
from mosaic.wire.generated import trainer_pb2 as pb

# Fields that are the same value in record and message, as the contract in trainer.proto lists them.
# One attrgetter call for all of them is much cheaper than as many attribute lookups in Python.
_OWN_FIELDS = {item.name for item in fields(RunRecord)}
_VALUES = [
    item
    for item in pb.RunRecord.DESCRIPTOR.fields
    if item.name in _OWN_FIELDS and item.message_type is None and not item.is_repeated
]
_SENT = tuple(item.name for item in _VALUES)
_sent_of = attrgetter(*_SENT)
_ALWAYS = tuple(item.name for item in _VALUES if not item.has_presence)
_always_of = attrgetter(*_ALWAYS)
_OPTIONAL = tuple(item.name for item in _VALUES if item.has_presence)
_optional_of = attrgetter(*_OPTIONAL)
_PROGRESS = tuple(item.name for item in fields(Progress))
_progress_of = attrgetter(*_PROGRESS)
_OPTIONAL_PROGRESS = tuple(item.name for item in pb.Progress.DESCRIPTOR.fields if item.has_presence)
_optional_progress_of = attrgetter(*_OPTIONAL_PROGRESS)

_STATES: dict[str, RunState] = {state.value: state for state in RunState}
# What a newer daemon may call an origin is not one we trust: see `_summary_values`.
# An older daemon does not tell one.
_ORIGINS = {origin.value: origin for origin in Origin} | {"": Origin.HERE}
_KINDS = {kind.value: kind for kind in LineageKind}
_OUTCOMES: dict[str, Outcome | None] = {outcome.value: outcome for outcome in Outcome} | {"": None}


def record_to_proto(record: RunRecord) -> pb.RunRecord:
    """The whole record; details a record of a list does not have stay empty."""
    # What is None is left out by protobuf itself.
    message = pb.RunRecord(
        **dict(zip(_SENT, _sent_of(record), strict=True)),
        progress=dict(zip(_PROGRESS, _progress_of(record.progress), strict=True)),
    )
    if record.failure is not None:
        message.failure.CopyFrom(failure_to_proto(record.failure))
    if record.lineage is not None:
        message.lineage.CopyFrom(pb.Lineage(**record.lineage.to_dict()))
    if record.gpu_slots:
        message.gpu_slots.extend(record.gpu_slots)
    if record.tags:
        message.tags.extend(record.tags)
    if record.paths:
        message.paths.update(record.paths)
    if record.transitions:
        message.transitions.extend(map(transition_to_proto, record.transitions))
    if record.stderr_tail:
        message.stderr_tail.extend(record.stderr_tail)
    if record.capabilities:
        message.capabilities_json = json.dumps(record.capabilities)
    if record.config:
        message.config_json = json.dumps(record.config)
    if record.manifest:
        message.manifest_json = json.dumps(record.manifest)
    return message


def summary_from_proto(message: pb.RunRecord) -> RunRecord:
    """A record of a list or a watch, which carry no details."""
    return build_record(_summary_values(message))


def record_from_proto(message: pb.RunRecord) -> RunRecord:
    values = _summary_values(message)
    values["paths"] = dict(message.paths)
    values["transitions"] = tuple(map(transition_from_proto, message.transitions))
    values["stderr_tail"] = tuple(message.stderr_tail)
    if message.capabilities_json:
        values["capabilities"] = json.loads(message.capabilities_json)
    if message.config_json:
        values["config"] = json.loads(message.config_json)
    if message.manifest_json:
        values["manifest"] = json.loads(message.manifest_json)
    return build_record(values)


def _summary_values(message: pb.RunRecord) -> dict[str, Any]:
    # What is left out here falls back to its default, see `build_record`.
    values: dict[str, Any] = dict(zip(_ALWAYS, _always_of(message), strict=True))
    try:
        values["state"] = _STATES[message.state]
        values["outcome"] = _OUTCOMES[message.outcome]
    except KeyError as error:
        raise unknown_word(error.args[0]) from None
    values["origin"] = _ORIGINS.get(message.origin, Origin.IMPORTED)
    is_set = message.HasField
    for name, value in zip(_OPTIONAL, _optional_of(message), strict=True):
        if value or is_set(name):
            values[name] = value
    values["progress"] = progress_from_proto(message.progress)
    if is_set("failure"):
        values["failure"] = failure_from_proto(message.failure)
    if is_set("lineage"):
        values["lineage"] = _lineage_from_proto(message.lineage)
    if slots := message.gpu_slots:
        values["gpu_slots"] = tuple(slots)
    if tags := message.tags:
        values["tags"] = tuple(tags)
    return values


def _lineage_from_proto(message: pb.Lineage) -> Lineage | None:
    """None for a kind that only a newer daemon knows: it is a remark, nothing depends on it."""
    kind = _KINDS.get(message.kind)
    step = message.step if message.HasField("step") else None
    return None if kind is None else Lineage(message.parent_run, kind, step)


def progress_to_proto(progress: Progress) -> pb.Progress:
    return pb.Progress(**dict(zip(_PROGRESS, _progress_of(progress), strict=True)))


def progress_from_proto(message: pb.Progress) -> Progress:
    # By name, which is faster; a test knows when one is missing.
    values: dict[str, Any] = {"steps": message.steps, "episodes": message.episodes}
    is_set = message.HasField
    for name, value in zip(_OPTIONAL_PROGRESS, _optional_progress_of(message), strict=True):
        if value or is_set(name):
            values[name] = value
    # As `build_record` does it; Progress has plain defaults only.
    progress = object.__new__(Progress)
    object.__setattr__(progress, "__dict__", values)
    return progress


def failure_to_proto(failure: FailureReason) -> pb.Failure:
    return pb.Failure(
        kind=failure.kind,
        message=failure.message,
        hint=failure.hint,
        exit_code=failure.exit_code,
        signal=failure.signal,
        error_type=failure.error_type,
    )


def failure_from_proto(message: pb.Failure) -> FailureReason:
    try:
        kind = FailureKind(message.kind)
    except ValueError:
        raise unknown_word(message.kind) from None
    return FailureReason(
        kind,
        message.message,
        message.hint,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        signal=message.signal if message.HasField("signal") else None,
        error_type=message.error_type if message.HasField("error_type") else None,
    )


def transition_to_proto(transition: Transition) -> pb.Transition:
    return pb.Transition(
        state=transition.state,
        at=transition.at,
        reason=transition.reason,
        attempt=transition.attempt,
    )


def transition_from_proto(message: pb.Transition) -> Transition:
    try:
        state = _STATES[message.state]
    except KeyError:
        raise unknown_word(message.state) from None
    return Transition(state, message.at, message.reason, message.attempt)


def check_to_proto(result: CheckResult) -> pb.PreflightResult:
    return pb.PreflightResult(
        check=result.check,
        ok=result.ok,
        message=result.message,
        fix=result.fix,
        required=result.required,
    )


def check_from_proto(message: pb.PreflightResult) -> CheckResult:
    return CheckResult(message.check, message.ok, message.message, message.fix, message.required)


def worker_to_proto(worker: WorkerInfo) -> pb.Worker:
    capabilities = worker.capabilities
    return pb.Worker(
        name=worker.name,
        module=worker.module,
        python=worker.python,
        source=worker.source,
        error=worker.error,
        capabilities_json=json.dumps(capabilities.to_dict()) if capabilities else "",
        readiness=map(check_to_proto, worker.readiness),
    )


def worker_from_proto(message: pb.Worker) -> WorkerInfo:
    text = message.capabilities_json
    return WorkerInfo(
        message.name,
        message.module,
        message.python,
        message.source,
        message.error,
        WorkerCapabilities.from_dict(json.loads(text)) if text else None,
        tuple(map(check_from_proto, message.readiness)),
    )


def unknown_word(word: str) -> MosaicError:
    return MosaicError(
        f"The daemon speaks of {word!r}, which this version does not know",
        hint="daemon and client differ in version: `mosaic daemon stop`; the next call renews it",
    )


_RULES = ("max_age_days", "max_total_bytes", "keep_last", "keep_best")


def policy_from_proto(message: pb.RetentionRequest) -> RetentionPolicy:
    given = {name: getattr(message, name) for name in _RULES if message.HasField(name)}
    return RetentionPolicy(**given)


def retention_to_proto(result: RetentionResult) -> pb.RetentionResponse:
    return pb.RetentionResponse(
        deleted=[
            pb.RetentionChoice(
                run_id=choice.run_id,
                run_name=choice.run_name,
                bytes=choice.bytes,
                reason=choice.reason,
                finished_at=choice.finished_at,
            )
            for choice in result.deleted
        ],
        kept=result.kept,
        kept_bytes=result.kept_bytes,
    )


def retention_from_proto(message: pb.RetentionResponse) -> RetentionResult:
    choices = tuple(
        RetentionChoice(item.run_id, item.run_name, item.bytes, item.reason, item.finished_at)
        for item in message.deleted
    )
    return RetentionResult(choices, message.kept, message.kept_bytes)


def trashed_run_to_proto(run: TrashedRun) -> pb.TrashedRun:
    return pb.TrashedRun(
        run_id=run.run_id,
        run_name=run.run_name,
        deleted_at=run.deleted_at,
        bytes=run.bytes,
        reason=run.reason,
        goes_at=run.goes_at,
    )


def trash_from_proto(message: pb.ListTrashResponse) -> list[TrashedRun]:
    return [
        TrashedRun(
            run.run_id,
            run.run_name,
            run.deleted_at,
            run.bytes,
            run.reason,
            run.goes_at if run.HasField("goes_at") else None,
        )
        for run in message.runs
    ]


def deletion_from_proto(message: pb.DeleteRunResponse) -> Deletion:
    return Deletion(message.freed_bytes, message.is_in_trash)
