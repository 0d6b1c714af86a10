"""Run records to protobuf messages and back. Lists of 10,000 pass through here: speed counts."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any, TypeVar

from mosaic.contracts.run_record import Progress, RunRecord, Transition
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.errors import MosaicError
from mosaic.wire.generated import trainer_pb2 as pb

T = TypeVar("T")

# Fields nearly every record has; fields that usually hold their default; fields that may be None.
_USUAL = (
    "run_id run_name worker state outcome attempt priority created_at updated_at "
    "agent_id worker_id env_id cpus memory_mb revision"
).split()
_RARE = (
    "stop_reason stop_requested stalled waiting checkpoint_uri metrics_digest quarantined_lines"
).split()
_OPTIONAL = "started_at finished_at exit_code signal last_heartbeat_at".split()
_PROGRESS_OPTIONAL = (
    "total_steps total_episodes last_return mean_return steps_per_second"
).split()

_usual_of = attrgetter(*_USUAL)
_rare_of = attrgetter(*_RARE)
_optional_of = attrgetter(*_OPTIONAL)
_progress_optional_of = attrgetter(*_PROGRESS_OPTIONAL)
_plain_of = attrgetter(*_USUAL, *_RARE)

_PLAIN = (*_USUAL, *_RARE)
_RARE_DEFAULTS = _rare_of(pb.RunRecord())
_STATES: dict[str, RunState] = {state.value: state for state in RunState}
_OUTCOMES: dict[str, Outcome | None] = {outcome.value: outcome for outcome in Outcome} | {"": None}


def record_to_proto(record: RunRecord) -> pb.RunRecord:
    """The whole record; `paths`, `transitions` and the like are empty in records of lists."""
    # Leaving out what proto3 would not transmit anyway makes the constructor twice as fast.
    message = pb.RunRecord(
        **{name: value for name, value in zip(_PLAIN, _plain_of(record), strict=True) if value}
    )
    for name, value in zip(_OPTIONAL, _optional_of(record), strict=True):
        if value is not None:
            setattr(message, name, value)
    progress, target = record.progress, message.progress
    target.steps = progress.steps
    target.episodes = progress.episodes
    for name, value in zip(_PROGRESS_OPTIONAL, _progress_optional_of(progress), strict=True):
        if value is not None:
            setattr(target, name, value)
    if record.gpu_slots:
        message.gpu_slots.extend(record.gpu_slots)
    if record.failure:
        message.failure.CopyFrom(failure_to_proto(record.failure))
    if record.paths:
        message.paths.update(record.paths)
    if record.transitions:
        message.transitions.extend(map(transition_to_proto, record.transitions))
    if record.stderr_tail:
        message.stderr_tail.extend(record.stderr_tail)
    if record.capabilities:
        message.capabilities_json = json.dumps(record.capabilities)
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
    return _built(RunRecord, values)


def _summary_values(message: pb.RunRecord) -> dict[str, Any]:
    values = dict(zip(_USUAL, _usual_of(message), strict=True))
    try:
        values["state"] = _STATES[values["state"]]
        values["outcome"] = _OUTCOMES[values["outcome"]]
    except KeyError as error:
        raise _unknown_word(error.args[0]) from None
    is_set = message.HasField
    for name, value in zip(_OPTIONAL, _optional_of(message), strict=True):
        if value or is_set(name):
            values[name] = value
    rare = _rare_of(message)
    if rare != _RARE_DEFAULTS:
        values.update(zip(_RARE, rare, strict=True))
    if slots := message.gpu_slots:
        values["gpu_slots"] = tuple(slots)
    if is_set("failure"):
        values["failure"] = failure_from_proto(message.failure)
    values["progress"] = progress_from_proto(message.progress)
    values["paths"] = {}
    values["capabilities"] = {}
    return values


def progress_to_proto(progress: Progress) -> pb.Progress:
    return pb.Progress(**{k: v for k, v in vars(progress).items() if v is not None})


def progress_from_proto(message: pb.Progress) -> Progress:
    values: dict[str, Any] = {"steps": message.steps, "episodes": message.episodes}
    for name, value in zip(_PROGRESS_OPTIONAL, _progress_optional_of(message), strict=True):
        if value or message.HasField(name):
            values[name] = value
    return _built(Progress, values)


def failure_to_proto(failure: FailureReason) -> pb.Failure:
    return pb.Failure(**{k: v for k, v in failure.to_dict().items() if v is not None})


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
    return Transition(_STATES[message.state], message.at, message.reason, message.attempt)


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
        hint="daemon and client are of different versions; run `mosaic daemon stop` to renew it",
    )
