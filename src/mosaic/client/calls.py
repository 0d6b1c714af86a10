"""Every call a client can make: the request, how to read the answer, whether it may be repeated."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mosaic.client.requests import new_request
from mosaic.contracts.events import MetricPoint
from mosaic.contracts.run_config import TrainRunConfig, check_size, check_values
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import ConfigError
from mosaic.wire.answers import Health, Submission, WorkerInfo, metric_points
from mosaic.wire.convert import record_from_proto, summary_from_proto
from mosaic.wire.generated import trainer_pb2 as pb

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
    config: RunConfig, client_key: str | None, dry_run: bool, consent: str | None = None
) -> Call[Submission]:
    # The key makes a repeated submit find the run of the first one.
    key = client_key if client_key is not None else uuid.uuid4().hex
    request = new_request(
        pb.SubmitRunRequest,
        config_json=config_text(config),
        client_key=key,
        dry_run=dry_run,
        consent=consent,
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


def cancel(run_id: str, reason: str, grace_s: float | None) -> Call[RunRecord]:
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
        lambda answer: [WorkerInfo.from_proto(worker) for worker in answer.workers],
        timeout_s=WORKERS_TIMEOUT_S,
    )


def health() -> Call[Health]:
    return Call("GetHealth", pb.GetHealthRequest(), Health.from_proto)
