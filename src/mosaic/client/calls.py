"""Every call a client can make: the request, how to read the answer, whether it may be repeated.

What the wire cannot carry is refused at once, by the name of the field. Long answers are asked for
in parts.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from mosaic.contracts.bundles import Accelerator, VenvInfo
from mosaic.contracts.events import EpisodeSummary, MetricPoint, TrainingStep
from mosaic.contracts.keeping import Deletion, RetentionPolicy, RetentionResult, TrashedRun
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_config import TrainRunConfig, check_size, check_values
from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_settings import Setting
from mosaic.contracts.schema_check import shortened
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import ConfigError, RequestError
from mosaic.wire.answers import Health, Submission, metric_points
from mosaic.wire.bundles import venv_from_proto
from mosaic.wire.convert import (
    deletion_from_proto,
    record_from_proto,
    retention_from_proto,
    summary_from_proto,
    trash_from_proto,
    worker_from_proto,
)
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.history import (
    episode_from_proto,
    info_from_proto,
    recording_from_proto,
    series_from_proto,
    step_from_proto,
)

T = TypeVar("T")
RunConfig = TrainRunConfig | dict[str, Any] | str | bytes

CALL_TIMEOUT_S = 60.0
# Looking at workers starts their interpreters.
WORKERS_TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    request: Any
    decode: Callable[[Any], T]
    timeout_s: float = CALL_TIMEOUT_S
    # Whether a second delivery, after a lost connection, does what one would have done.
    is_repeatable: bool = True


def submit(
    config: RunConfig,
    client_key: str | None,
    dry_run: bool,
    consent: str | None = None,
    install: bool = False,
    most_install_bytes: int | None = None,
) -> Call[Submission]:
    # The key makes a repeated submit find the run of the first one.
    key = client_key if client_key is not None else uuid.uuid4().hex
    request = new_request(
        pb.SubmitRunRequest,
        config_json=config_text(config),
        client_key=key,
        dry_run=dry_run,
        consent=consent,
        install=install,
        most_install_bytes=most_install_bytes,
    )
    return Call("SubmitRun", request, Submission.from_proto)


def config_text(config: RunConfig) -> str:
    try:
        if isinstance(config, bytes):
            text = config.decode()
        elif isinstance(config, str):
            text = config
        else:
            data = config.raw if isinstance(config, TrainRunConfig) else config
            check_values(data)  # says where the NaN is; the encoder would not
            text = json.dumps(data, allow_nan=False)
    except RecursionError:
        raise ConfigError(
            "Invalid TrainRunConfig: the document is nested too deeply", hint="flatten it"
        ) from None
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"Invalid TrainRunConfig: {error}", hint="a config holds only what JSON can say"
        ) from error
    check_size(text)
    return text


def stop(run_id: str, reason: str, grace_s: float | None) -> Call[RunRecord]:
    request = new_request(pb.CancelRunRequest, run_id=run_id, reason=reason, grace_s=grace_s)
    return Call("CancelRun", request, record_from_proto)


def pause(run_id: str) -> Call[RunRecord]:
    return Call(
        "PauseRun",
        new_request(pb.RunRequest, run_id=run_id),
        record_from_proto,
        is_repeatable=False,
    )


def unpause(run_id: str) -> Call[RunRecord]:
    return Call(
        "ResumeRun",
        new_request(pb.RunRequest, run_id=run_id),
        record_from_proto,
        is_repeatable=False,
    )


def get(run_id: str) -> Call[RunRecord]:
    return Call("GetRun", new_request(pb.RunRequest, run_id=run_id), record_from_proto)


def list_runs(
    states: Iterable[str], outcomes: Iterable[str], contains: str, limit: int
) -> Call[list[RunRecord]]:
    request = new_request(
        pb.ListRunsRequest, states=states, outcomes=outcomes, contains=contains, limit=limit
    )
    return Call(
        "ListRuns", request, lambda answer: [summary_from_proto(run) for run in answer.runs]
    )


def recent_metrics(run_id: str, count: int, names: Iterable[str]) -> Call[list[MetricPoint]]:
    request = new_request(pb.RecentMetricsRequest, run_id=run_id, count=count, names=names)
    return Call("RecentMetrics", request, lambda answer: metric_points(run_id, answer))


def control(run_id: str, command: dict[str, Any]) -> Call[dict[str, Any]]:
    try:
        command_json = json.dumps(command)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"This command cannot be sent: {error}",
            hint="it holds only what JSON can say",
            field="command",
        ) from error
    request = new_request(pb.ControlRequest, run_id=run_id, command_json=command_json)
    return Call(
        "Control", request, lambda answer: dict(json.loads(answer.reply_json)), is_repeatable=False
    )


def workers(refresh: bool) -> Call[list[WorkerInfo]]:
    request = new_request(pb.ListWorkersRequest, refresh=refresh)
    return Call(
        "ListWorkers",
        request,
        lambda answer: [worker_from_proto(worker) for worker in answer.workers],
        timeout_s=WORKERS_TIMEOUT_S,
    )


def health() -> Call[Health]:
    return Call("GetHealth", pb.GetHealthRequest(), Health.from_proto)


Names = str | Iterable[str]

# Buckets, or series of points, in one answer; the daemon allows more.
ROWS_PER_CALL = 100_000
SERIES_PER_CALL = 500


class Page(NamedTuple, Generic[T]):
    rows: list[T]
    next_cursor: int


class SeriesRange(NamedTuple):
    first_step: int | None = None
    last_step: int | None = None
    buckets: int = 0


def metrics(run_id: str) -> Call[list[MetricInfo]]:
    return Call(
        "ListMetrics",
        new_request(pb.RunRequest, run_id=run_id),
        lambda answer: [info_from_proto(info) for info in answer.metrics],
    )


def series(
    run_ids: Sequence[str], names: Sequence[str], wanted: SeriesRange, after_cursor: int = 0
) -> Call[list[MetricSeries]]:
    request = new_request(
        pb.QuerySeriesRequest,
        run_ids=run_ids,
        names=names,
        after_cursor=after_cursor,
        **wanted._asdict(),
    )
    return Call(
        "QuerySeries",
        request,
        lambda answer: [series_from_proto(found) for found in answer.series],
    )


def series_parts(
    run_ids: Names, names: Names, wanted: SeriesRange
) -> Iterator[Call[list[MetricSeries]]]:
    """Calls whose answers, one after the other, are all series of all runs, run by run."""
    runs, chosen = _listed(run_ids), _listed(names)
    if wanted.buckets < 0:
        raise RequestError(f"buckets is {wanted.buckets}; it must be 0 or more", field="buckets")
    most = max(1, min(SERIES_PER_CALL, ROWS_PER_CALL // max(1, wanted.buckets)))
    runs_at_once = max(1, most // max(1, len(chosen)))
    for some_runs in _sliced(runs, runs_at_once):
        for some_names in _sliced(chosen, most):
            yield series(some_runs, some_names, wanted)


def more_of(page: MetricSeries, wanted: SeriesRange) -> Call[list[MetricSeries]]:
    return series([page.run_id], [page.name], wanted, page.next_cursor)


def joined(pages: Sequence[MetricSeries]) -> MetricSeries:
    """Pages of the same points, put together."""
    if len(pages) == 1:
        return pages[0]

    def column(name: str) -> Any:
        return tuple(itertools.chain.from_iterable(getattr(page, name) for page in pages))

    return MetricSeries(
        run_id=pages[0].run_id,
        name=pages[0].name,
        first_steps=column("first_steps"),
        last_steps=column("last_steps"),
        means=column("means"),
        lows=column("lows"),
        highs=column("highs"),
        counts=column("counts"),
        timestamps=column("timestamps"),
        points=pages[-1].points,
    )


def episodes(
    run_id: str, order: str, limit: int, after_cursor: int, episode_index: int | None = None
) -> Call[Page[EpisodeSummary]]:
    request = new_request(
        pb.ListEpisodesRequest,
        run_id=run_id,
        limit=limit,
        after_cursor=after_cursor,
        order=order,
        episode_index=episode_index,
    )
    return Call(
        "ListEpisodes",
        request,
        lambda answer: Page(
            [episode_from_proto(run_id, row) for row in answer.episodes], answer.next_cursor
        ),
    )


def only_episode(run_id: str, index: int, found: Page[EpisodeSummary]) -> EpisodeSummary:
    if not found.rows:
        raise RequestError(
            f"The run has no finished episode {index}",
            hint=f"`mosaic show {run_id}` says how many there are",
            field="index",
        )
    return found.rows[0]


def steps(
    run_id: str, episode_index: int | None, attempt: int | None, after_cursor: int
) -> Call[Page[TrainingStep]]:
    request = new_request(
        pb.ListStepsRequest,
        run_id=run_id,
        episode_index=episode_index,
        attempt=attempt,
        after_cursor=after_cursor,
    )
    return Call(
        "ListSteps",
        request,
        lambda answer: Page(
            [step_from_proto(run_id, row) for row in answer.steps], answer.next_cursor
        ),
    )


def _listed(text: Names) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def _sliced(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items) or 1, size):
        yield items[start : start + size]


def all_series(
    run_ids: Names, names: Names, wanted: SeriesRange
) -> Generator[Call[list[MetricSeries]], list[MetricSeries], list[MetricSeries]]:
    """Yields one call after another, takes its answer, and returns whole series.

    A client makes the calls in its own way; what to ask next is decided here for all of them.
    """
    found = []
    for part in series_parts(run_ids, names, wanted):
        for page in (yield part):
            pages = [page]
            while pages[-1].next_cursor:
                (more,) = yield more_of(pages[-1], wanted)
                pages.append(more)
            found.append(joined(pages))
    return found


def episode_pages(
    run_id: str, limit: int, order: str
) -> Generator[Call[Page[EpisodeSummary]], Page[EpisodeSummary], None]:
    """Yields the call for each page, and takes the page; limit 0 means all episodes."""
    cursor = given = 0
    while True:
        left = limit - given if limit else 0
        page = yield episodes(run_id, order, left, cursor)
        cursor, given = page.next_cursor, given + len(page.rows)
        if not cursor or (limit and given >= limit):
            return


def step_pages(
    run_id: str, episode_index: int | None, attempt: int | None
) -> Generator[Call[Page[TrainingStep]], Page[TrainingStep], None]:
    """Yields the call for each page, and takes the page."""
    cursor = 0
    while True:
        page = yield steps(run_id, episode_index, attempt, cursor)
        cursor = page.next_cursor
        if not cursor:
            return


def following_call(
    pages: Generator[Call[Page[T]], Page[T], None], page: Page[T]
) -> Call[Page[T]] | None:
    """The call for the page after this one; None when this was the last."""
    try:
        return pages.send(page)
    except StopIteration:
        return None


# Moving, measuring and unpacking take time in proportion to the data.
LONG_TIMEOUT_S = 3600.0
TRANSFER_TIMEOUT_S = 86_400.0


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


MOST_SETTINGS_AT_ONCE = 1000


def settings(run_ids: Iterable[str]) -> list[Call[dict[str, dict[str, Setting]]]]:
    """A call for each thousand of them."""
    wanted = list(run_ids)
    return [
        Call(
            "ListSettings",
            new_request(
                pb.ListSettingsRequest, run_ids=wanted[first : first + MOST_SETTINGS_AT_ONCE]
            ),
            lambda answer: {run: json.loads(text) for run, text in answer.settings_json.items()},
        )
        for first in range(0, len(wanted), MOST_SETTINGS_AT_ONCE)
    ]


def label(run_id: str, change: LabelChange) -> Call[RunRecord]:
    fields = {name: value for name, value in asdict(change).items() if value is not None}
    return Call(
        "LabelRun", new_request(pb.LabelRunRequest, run_id=run_id, **fields), record_from_proto
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


def get_recording(
    run_id: str, episode_index: int, attempt: int | None, consent: str = ""
) -> Call[EpisodeRecording]:
    request = new_request(
        pb.GetRecordingRequest,
        run_id=run_id,
        episode_index=episode_index,
        attempt=attempt,
        consent=consent,
    )
    return Call("GetRecording", request, lambda answer: recording_from_proto(run_id, answer))


def bundles(names: Names = (), accelerator: Accelerator | None = None) -> Call[list[VenvInfo]]:
    request = new_request(
        pb.ListBundlesRequest,
        names=[names] if isinstance(names, str) else list(names),
        accelerator="" if accelerator is None else accelerator.value,
    )
    return Call("ListBundles", request, _venvs, LONG_TIMEOUT_S)


def bundle_problems() -> Call[list[str]]:
    request = pb.ListBundlesRequest()
    return Call("ListBundles", request, lambda answer: list(answer.problems), LONG_TIMEOUT_S)


def cancel_install(name: str) -> Call[bool]:
    return Call(
        "CancelInstall",
        new_request(pb.BundleRequest, name=name),
        lambda answer: bool(answer.was_installing),
        is_repeatable=False,
    )


def remove_bundle(name: str) -> Call[list[VenvInfo]]:
    request = new_request(pb.BundleRequest, name=name)
    return Call("RemoveBundle", request, _venvs, LONG_TIMEOUT_S, is_repeatable=False)


def prune_bundles(dry_run: bool = False) -> Call[list[VenvInfo]]:
    request = new_request(pb.PruneBundlesRequest, dry_run=dry_run)
    return Call("PruneBundles", request, _venvs, LONG_TIMEOUT_S, is_repeatable=dry_run)


def verify_bundle(name: str) -> Call[VenvInfo]:
    request = new_request(pb.BundleRequest, name=name)
    return Call("VerifyBundle", request, venv_from_proto, LONG_TIMEOUT_S)


def _venvs(answer: pb.ListBundlesResponse) -> list[VenvInfo]:
    return [venv_from_proto(venv) for venv in answer.venvs]


M = TypeVar("M", bound=Message)

_INTEGERS = {
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
}
_WORDS = {
    FieldDescriptor.CPPTYPE_STRING: "text, whole characters of Unicode",
    FieldDescriptor.CPPTYPE_DOUBLE: "an ordinary number",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
}


def new_request(kind: type[M], **fields: Any) -> M:
    """Of this kind of message; ConfigError when a value is none that its field can hold."""
    # An iterator would be used up by the first try.
    given = {name: list(value) if _is_repeated(value) else value for name, value in fields.items()}
    try:
        return kind(**given)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refusal(kind, given) from error


def _is_repeated(value: Any) -> bool:
    """Whether it stands for several values, as a list does."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _refusal(kind: type[Message], fields: Mapping[str, Any]) -> ConfigError:
    for name, value in fields.items():
        try:
            kind(**{name: value})
        except (TypeError, ValueError, OverflowError):
            return ConfigError(
                f"{name} is {shortened(value)}; it must be {_wanted(kind, name)}", field=name
            )
    raise AssertionError("each field alone is accepted")


def _wanted(kind: type[Message], name: str) -> str:
    field = kind.DESCRIPTOR.fields_by_name[name]
    if field.message_type is not None:
        return "a mapping of text and whole numbers"
    if field.cpp_type in _INTEGERS:
        least, most = _INTEGERS[field.cpp_type]
        return f"a whole number from {least:,} to {most:,}"
    return _WORDS.get(field.cpp_type, "something else")
