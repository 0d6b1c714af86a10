"""Run records to protobuf messages and back. Lists of 10,000 pass through here: speed counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import Origin, Progress, RunRecord, Transition
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.errors import MosaicError
from mosaic.wire.generated import trainer_pb2 as pb

T = TypeVar("T")

# One attrgetter call is much cheaper than as many attribute lookups in Python.
_optional_of = attrgetter("started_at", "finished_at", "exit_code", "signal", "last_heartbeat_at")
_progress_of = attrgetter(
    *("total_steps", "total_episodes", "last_return", "mean_return"),
    *("steps_per_second", "overall_steps_per_second"),
)
# Fields that hold their default in most records, compared all at once.
_RARE = (
    *("stop_reason", "stop_requested", "stalled", "waiting"),
    *("checkpoint_uri", "metrics_digest", "quarantined_lines", "pinned", "group"),
)
_rare_of = attrgetter(*_RARE)
_RARE_DEFAULTS = _rare_of(pb.RunRecord())

_STATES: dict[str, RunState] = {state.value: state for state in RunState}
# What a newer daemon may call an origin is not one we trust: see `_summary_values`.
_ORIGINS = {origin.value: origin for origin in Origin}
_OUTCOMES: dict[str, Outcome | None] = {outcome.value: outcome for outcome in Outcome} | {"": None}


def record_to_proto(record: RunRecord) -> pb.RunRecord:
    """The whole record; details a record of a list does not have stay empty."""
    message = pb.RunRecord(
        run_id=record.run_id,
        run_name=record.run_name,
        worker=record.worker,
        state=record.state,
        outcome=record.outcome,
        attempt=record.attempt,
        priority=record.priority,
        created_at=record.created_at,
        updated_at=record.updated_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        agent_id=record.agent_id,
        worker_id=record.worker_id,
        env_id=record.env_id,
        exit_code=record.exit_code,
        cpus=record.cpus,
        memory_mb=record.memory_mb,
        revision=record.revision,
    )
    _fill_progress(message.progress, record.progress)
    if record.signal is not None:
        message.signal = record.signal
    if record.last_heartbeat_at is not None:
        message.last_heartbeat_at = record.last_heartbeat_at
    if record.failure is not None:
        message.failure.CopyFrom(failure_to_proto(record.failure))
    rare = _rare_of(record)
    if rare != _RARE_DEFAULTS:
        for name, value in zip(_RARE, rare, strict=True):
            setattr(message, name, value)
    if record.origin is not Origin.HERE:
        message.origin = record.origin
    if record.gpu_slots:
        message.gpu_slots.extend(record.gpu_slots)
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
    return _built(RunRecord, _summary_values(message))


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
    return _built(RunRecord, values)


def _summary_values(message: pb.RunRecord) -> dict[str, Any]:
    try:
        state, outcome = _STATES[message.state], _OUTCOMES[message.outcome]
    except KeyError as error:
        raise _unknown_word(error.args[0]) from None
    values: dict[str, Any] = {
        "run_id": message.run_id,
        "run_name": message.run_name,
        "worker": message.worker,
        "state": state,
        "outcome": outcome,
        "attempt": message.attempt,
        "priority": message.priority,
        "created_at": message.created_at,
        "updated_at": message.updated_at,
        "agent_id": message.agent_id,
        "worker_id": message.worker_id,
        "env_id": message.env_id,
        "progress": progress_from_proto(message.progress),
        "cpus": message.cpus,
        "memory_mb": message.memory_mb,
        "revision": message.revision,
        "paths": {},
        "capabilities": {},
        "config": {},
        "manifest": {},
    }
    # What is left out here falls back to its default, see `_built`.
    is_set = message.HasField
    started_at, finished_at, exit_code, signal, last_heartbeat_at = _optional_of(message)
    if started_at or is_set("started_at"):
        values["started_at"] = started_at
    if finished_at or is_set("finished_at"):
        values["finished_at"] = finished_at
    if exit_code or is_set("exit_code"):
        values["exit_code"] = exit_code
    if signal or is_set("signal"):
        values["signal"] = signal
    if last_heartbeat_at or is_set("last_heartbeat_at"):
        values["last_heartbeat_at"] = last_heartbeat_at
    if is_set("failure"):
        values["failure"] = failure_from_proto(message.failure)
    rare = _rare_of(message)
    if rare != _RARE_DEFAULTS:
        values.update(zip(_RARE, rare, strict=True))
    if message.origin:
        values["origin"] = _ORIGINS.get(message.origin, Origin.IMPORTED)
    if slots := message.gpu_slots:
        values["gpu_slots"] = tuple(slots)
    return values


def progress_to_proto(progress: Progress) -> pb.Progress:
    message = pb.Progress()
    _fill_progress(message, progress)
    return message


def _fill_progress(message: pb.Progress, progress: Progress) -> None:
    # Set even when zero, so that the message itself counts as present.
    message.steps = progress.steps
    message.episodes = progress.episodes
    if progress.total_steps is not None:
        message.total_steps = progress.total_steps
    if progress.total_episodes is not None:
        message.total_episodes = progress.total_episodes
    if progress.last_return is not None:
        message.last_return = progress.last_return
    if progress.mean_return is not None:
        message.mean_return = progress.mean_return
    if progress.steps_per_second is not None:
        message.steps_per_second = progress.steps_per_second
    if progress.overall_steps_per_second is not None:
        message.overall_steps_per_second = progress.overall_steps_per_second


def progress_from_proto(message: pb.Progress) -> Progress:
    total_steps, total_episodes, last_return, mean_return, speed, overall = _progress_of(message)
    values: dict[str, Any] = {"steps": message.steps, "episodes": message.episodes}
    is_set = message.HasField
    if total_steps or is_set("total_steps"):
        values["total_steps"] = total_steps
    if total_episodes or is_set("total_episodes"):
        values["total_episodes"] = total_episodes
    if last_return or is_set("last_return"):
        values["last_return"] = last_return
    if mean_return or is_set("mean_return"):
        values["mean_return"] = mean_return
    if speed or is_set("steps_per_second"):
        values["steps_per_second"] = speed
    if overall or is_set("overall_steps_per_second"):
        values["overall_steps_per_second"] = overall
    return _built(Progress, values)


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
        raise _unknown_word(message.kind) from None
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
        raise _unknown_word(message.state) from None
    return Transition(state, message.at, message.reason, message.attempt)


class Check(Protocol):
    """A pre-flight or readiness result, whichever part of the daemon made it."""

    @property
    def check(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def message(self) -> str: ...
    @property
    def fix(self) -> str: ...
    @property
    def required(self) -> bool: ...


class Worker(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def python(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def capabilities(self) -> WorkerCapabilities | None: ...
    @property
    def readiness(self) -> Sequence[Check]: ...


def preflight_to_proto(result: Check) -> pb.PreflightResult:
    return pb.PreflightResult(
        check=result.check,
        ok=result.ok,
        message=result.message,
        fix=result.fix,
        required=result.required,
    )


def worker_to_proto(worker: Worker) -> pb.Worker:
    capabilities = worker.capabilities
    return pb.Worker(
        name=worker.name,
        module=worker.module,
        python=worker.python,
        source=worker.source,
        error=worker.error,
        capabilities_json=json.dumps(capabilities.to_dict()) if capabilities else "",
        readiness=map(preflight_to_proto, worker.readiness),
    )


def _built(cls: type[T], values: dict[str, Any]) -> T:
    """A frozen dataclass from its values, without one guarded assignment per field.

    A field left out falls back to its default, which dataclasses keep on the class.
    """
    instance = object.__new__(cls)
    object.__setattr__(instance, "__dict__", values)
    return instance


def _unknown_word(word: str) -> MosaicError:
    return MosaicError(
        f"The daemon speaks of {word!r}, which this version does not know",
        hint="daemon and client differ in version: `mosaic daemon stop`; the next call renews it",
    )
