"""Trash and retention to protobuf messages and back."""

from __future__ import annotations

from mosaic.contracts.keeping import (
    Deletion,
    RetentionChoice,
    RetentionPolicy,
    RetentionResult,
    TrashedRun,
)
from mosaic.wire.generated import trainer_pb2 as pb

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
    )


def trash_from_proto(message: pb.ListTrashResponse) -> list[TrashedRun]:
    return [
        TrashedRun(run.run_id, run.run_name, run.deleted_at, run.bytes, run.reason)
        for run in message.runs
    ]


def deletion_from_proto(message: pb.DeleteRunResponse) -> Deletion:
    return Deletion(message.freed_bytes, message.is_in_trash)
