"""Rows of the registry and the records they stand for."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.contracts.run_record import Origin, Progress, RunRecord, Transition
from mosaic.contracts.run_state import FailureReason, Outcome, RunState
from mosaic.daemon.registry.columns import (
    MAX_FAILURE_TEXT,
    RUN_COLUMNS,
    TRANSITION_COLUMNS,
    storable_text,
)
from mosaic.daemon.registry.row_checksum import SqlValue, row_checksum

# What a list shows, in the order `record_of` unpacks it.
LIST_COLUMNS = (
    "run_id, run_name, worker, state, outcome, attempt, priority, created_at, updated_at,"
    " started_at, finished_at, agent_id, worker_id, env_id, failure_json, exit_code, signal,"
    " stop_reason, stop_requested, stalled, last_heartbeat_at, steps, total_steps, episodes,"
    " total_episodes, last_return, mean_return, steps_per_second, cpus, memory_mb, gpu_slots,"
    " checkpoint_uri, metrics_digest, quarantined_lines, revision, pinned, group_name,"
    " origin, overall_steps_per_second"
)
LISTED = tuple(LIST_COLUMNS.replace(" ", "").split(","))
PROGRESS_COLUMNS = (
    "steps",
    "total_steps",
    "episodes",
    "total_episodes",
    "last_return",
    "mean_return",
    "steps_per_second",
    "overall_steps_per_second",
)
_STATES = {state.value: state for state in RunState}
_OUTCOMES: dict[str | None, Outcome | None] = {outcome.value: outcome for outcome in Outcome}
_OUTCOMES[None] = None
_ORIGINS = {origin.value: origin for origin in Origin}
_NO_PROGRESS = Progress()
_NO_VALUES = (0, None, 0, None, None, None, None, None)

RunRow = dict[str, SqlValue]


def storable(column: str, value: Any) -> SqlValue:
    return RUN_COLUMNS[column].storable(value)


def columns_of(changes: Mapping[str, Any]) -> RunRow:
    """Fields of a RunRecord (and the registry's own columns) as columns of the table."""
    row: RunRow = {}
    for name, value in changes.items():
        if name == "progress":
            for column in PROGRESS_COLUMNS:
                row[column] = storable(column, getattr(value, column))
        elif name == "failure":
            row["failure_json"] = None if value is None else _failure_text(value)
        elif name == "gpu_slots":
            row["gpu_slots"] = ",".join(str(int(slot)) for slot in value)
        elif name == "group":  # a word of SQL, so the column has another name
            row["group_name"] = storable("group_name", value)
        elif name in RUN_COLUMNS:
            row[name] = storable(name, value)
        else:
            raise TypeError(f"a run has no field {name!r} that the registry stores")
    return row


def row_of(record: RunRecord, client_key: str | None, config_digest: str) -> RunRow:
    """A complete row; `capabilities` are stored apart."""
    own = {"client_key": client_key, "config_digest": config_digest, "capabilities_digest": ""}
    own_names = {*PROGRESS_COLUMNS, "failure_json", "group_name"}
    names = {*RUN_COLUMNS, "progress", "failure", "group"} - own_names
    fields = {name: getattr(record, name, None) for name in names}
    row = columns_of({**fields, **own})
    return {column: row[column] for column in RUN_COLUMNS}


def record_of(values: Sequence[Any]) -> RunRecord:
    """A record from the columns of LIST_COLUMNS; lists of 10,000 runs go through here."""
    (
        run_id, run_name, worker, state, outcome, attempt, priority, created_at, updated_at,
        started_at, finished_at, agent_id, worker_id, env_id, failure, exit_code, signal,
        stop_reason, stop_requested, stalled, last_heartbeat_at, steps, total_steps, episodes,
        total_episodes, last_return, mean_return, rate, cpus, memory_mb, gpu_slots,
        checkpoint_uri, metrics_digest, quarantined_lines, revision, pinned, group,
        origin, overall_rate,
    ) = values  # fmt: skip
    progress = (
        steps, total_steps, episodes, total_episodes, last_return, mean_return, rate, overall_rate,
    )  # fmt: skip
    # Fields left out fall back to their defaults, which a dataclass keeps on the class.
    fields = dict(
        run_id=run_id,
        run_name=run_name,
        worker=worker,
        state=_STATES[state],
        outcome=_OUTCOMES[outcome],
        attempt=attempt,
        priority=priority,
        created_at=created_at,
        updated_at=updated_at,
        started_at=started_at,
        finished_at=finished_at,
        agent_id=agent_id,
        worker_id=worker_id,
        env_id=env_id,
        failure=None if failure is None else failure_of_text(failure),
        exit_code=exit_code,
        signal=signal,
        stop_reason=stop_reason,
        stop_requested=bool(stop_requested),
        stalled=stalled,
        last_heartbeat_at=last_heartbeat_at,
        progress=Progress(*progress) if progress != _NO_VALUES else _NO_PROGRESS,
        cpus=cpus,
        memory_mb=memory_mb,
        gpu_slots=_slots_of(gpu_slots) if gpu_slots else (),
        checkpoint_uri=checkpoint_uri,
        metrics_digest=metrics_digest,
        quarantined_lines=quarantined_lines,
        revision=revision,
        pinned=bool(pinned),
        group=group,
        origin=_ORIGINS[origin],
        paths={},
        capabilities={},
        config={},
        manifest={},
    )
    record = object.__new__(RunRecord)
    # Half the time of a frozen dataclass's __init__, which guards every single assignment.
    object.__setattr__(record, "__dict__", fields)
    return record


@functools.lru_cache(maxsize=1024)
def failure_of_text(text: str) -> FailureReason:
    return FailureReason.from_dict(json.loads(text))


def _failure_text(failure: FailureReason) -> str:
    fields = failure.to_dict()
    for name in ("exit_code", "signal"):
        fields[name] = storable(name, fields[name])
    return json.dumps(
        {
            key: storable_text(item)[:MAX_FAILURE_TEXT] if isinstance(item, str) else item
            for key, item in fields.items()
        }
    )


def _slots_of(text: str) -> tuple[int, ...]:
    return tuple(int(slot) for slot in text.split(","))


def transition_of(values: Sequence[Any]) -> Transition:
    """From the columns state, at, reason, attempt."""
    state, at, reason, attempt = values
    return Transition(_STATES[state], at, reason, attempt)


def transition_row(run_id: str, n: int, transition: Transition) -> tuple[SqlValue | bytes, ...]:
    told = (run_id, n, transition.state, transition.at, transition.reason, transition.attempt)
    columns = TRANSITION_COLUMNS.values()
    values = [column.storable(value) for column, value in zip(columns, told, strict=True)]
    return (*values, row_checksum(values))


def capabilities_document(capabilities: Mapping[str, Any]) -> tuple[str, str]:
    """(digest, text) of a capabilities document; the digest is also its checksum."""
    text = storable_text(json.dumps(capabilities, sort_keys=True, default=str))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), text
