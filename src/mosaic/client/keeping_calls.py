"""Calls about what is kept: trash, pins, retention, and archives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, ClassVar

from mosaic.client.calls import Call
from mosaic.client.requests import new_request
from mosaic.contracts.keeping import Deletion, RetentionPolicy, RetentionResult, TrashedRun
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError, TrainerUnreachableError
from mosaic.wire.convert import record_from_proto
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.keeping import (
    deletion_from_proto,
    retention_from_proto,
    trash_from_proto,
)

# Moving, measuring and unpacking take as long as there is much.
LONG_TIMEOUT_S = 3600.0
TRANSFER_TIMEOUT_S = 86_400.0
CHUNK = 256 * 1024


def delete(run_id: str, for_good: bool) -> Call[Deletion]:
    request = new_request(pb.DeleteRunRequest, run_id=run_id, for_good=for_good)
    return Call("DeleteRun", request, deletion_from_proto, LONG_TIMEOUT_S, is_repeatable=False)


def restore(run_id: str) -> Call[RunRecord]:
    request = new_request(pb.RunRequest, run_id=run_id)
    return Call("RestoreRun", request, record_from_proto, LONG_TIMEOUT_S, is_repeatable=False)


def trash() -> Call[list[TrashedRun]]:
    return Call("ListTrash", pb.ListTrashRequest(), trash_from_proto, LONG_TIMEOUT_S)


def empty_trash(run_ids: Iterable[str]) -> Call[tuple[int, int]]:
    return Call(
        "EmptyTrash",
        new_request(pb.EmptyTrashRequest, run_ids=run_ids),
        lambda answer: (int(answer.freed_bytes), int(answer.runs)),
        LONG_TIMEOUT_S,
        is_repeatable=False,
    )


def pin(run_id: str, pinned: bool) -> Call[RunRecord]:
    return Call(
        "PinRun", new_request(pb.PinRunRequest, run_id=run_id, pinned=pinned), record_from_proto
    )


def apply_retention(policy: RetentionPolicy, dry_run: bool) -> Call[RetentionResult]:
    return Call(
        "ApplyRetention",
        new_request(pb.RetentionRequest, **asdict(policy), dry_run=dry_run),
        retention_from_proto,
        LONG_TIMEOUT_S,
        is_repeatable=dry_run,
    )


def import_run(chunks: Iterator[pb.ArchiveChunk]) -> Call[RunRecord]:
    return Call(
        "ImportRun",
        chunks,
        lambda answer: record_from_proto(answer.run),
        TRANSFER_TIMEOUT_S,
        is_repeatable=False,
    )


def opened_archive(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        said = getattr(error, "strerror", None) or error
        raise RequestError(f"{path} cannot be read: {said}", path=str(path)) from error


def chunks_of(file: BinaryIO, max_bytes: int) -> Iterator[pb.ArchiveChunk]:
    """The first says how much there is, so that a stream that is cut off is noticed."""
    total = file.seek(0, 2)
    file.seek(0)
    data = file.read(CHUNK)
    yield pb.ArchiveChunk(data=data, total_bytes=total, max_unpacked_bytes=max_bytes)
    while data := file.read(CHUNK):
        yield pb.ArchiveChunk(data=data)


class ArchiveStream:
    """Cannot be resumed: a second archive of a run need not have the same bytes."""

    method: ClassVar[str] = "ArchiveRun"
    is_endless: ClassVar[bool] = False

    def __init__(self, run_id: str) -> None:
        self._request = new_request(pb.ArchiveRunRequest, run_id=run_id)
        self._has_begun = False

    def request(self) -> pb.ArchiveRunRequest:
        if self._has_begun:
            raise TrainerUnreachableError(
                "The daemon went away while it sent the archive", hint="archive the run again"
            )
        return self._request

    def accept(self, message: pb.ArchiveChunk) -> Iterator[bytes]:
        self._has_begun = True
        yield message.data
