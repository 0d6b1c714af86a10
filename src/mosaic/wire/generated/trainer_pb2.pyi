from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitRunRequest(_message.Message):
    __slots__ = ("config_json", "client_key", "dry_run", "consent", "install", "most_install_bytes")
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    CLIENT_KEY_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    INSTALL_FIELD_NUMBER: _ClassVar[int]
    MOST_INSTALL_BYTES_FIELD_NUMBER: _ClassVar[int]
    config_json: str
    client_key: str
    dry_run: bool
    consent: str
    install: bool
    most_install_bytes: int
    def __init__(self, config_json: _Optional[str] = ..., client_key: _Optional[str] = ..., dry_run: _Optional[bool] = ..., consent: _Optional[str] = ..., install: _Optional[bool] = ..., most_install_bytes: _Optional[int] = ...) -> None: ...

class SubmitRunResponse(_message.Message):
    __slots__ = ("run_id", "created", "digest", "command", "preflight", "consent_lines", "missing")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    PREFLIGHT_FIELD_NUMBER: _ClassVar[int]
    CONSENT_LINES_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    created: bool
    digest: str
    command: _containers.RepeatedScalarFieldContainer[str]
    preflight: _containers.RepeatedCompositeFieldContainer[PreflightResult]
    consent_lines: _containers.RepeatedScalarFieldContainer[str]
    missing: _containers.RepeatedCompositeFieldContainer[Venv]
    def __init__(self, run_id: _Optional[str] = ..., created: _Optional[bool] = ..., digest: _Optional[str] = ..., command: _Optional[_Iterable[str]] = ..., preflight: _Optional[_Iterable[_Union[PreflightResult, _Mapping]]] = ..., consent_lines: _Optional[_Iterable[str]] = ..., missing: _Optional[_Iterable[_Union[Venv, _Mapping]]] = ...) -> None: ...

class PreflightResult(_message.Message):
    __slots__ = ("check", "ok", "message", "fix", "required")
    CHECK_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIX_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    check: str
    ok: bool
    message: str
    fix: str
    required: bool
    def __init__(self, check: _Optional[str] = ..., ok: _Optional[bool] = ..., message: _Optional[str] = ..., fix: _Optional[str] = ..., required: _Optional[bool] = ...) -> None: ...

class ListSettingsRequest(_message.Message):
    __slots__ = ("run_ids",)
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListSettingsResponse(_message.Message):
    __slots__ = ("settings_json",)
    class SettingsJsonEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    settings_json: _containers.ScalarMap[str, str]
    def __init__(self, settings_json: _Optional[_Mapping[str, str]] = ...) -> None: ...

class LabelRunRequest(_message.Message):
    __slots__ = ("run_id", "name", "add_tags", "remove_tags", "note")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADD_TAGS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_TAGS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    name: str
    add_tags: _containers.RepeatedScalarFieldContainer[str]
    remove_tags: _containers.RepeatedScalarFieldContainer[str]
    note: str
    def __init__(self, run_id: _Optional[str] = ..., name: _Optional[str] = ..., add_tags: _Optional[_Iterable[str]] = ..., remove_tags: _Optional[_Iterable[str]] = ..., note: _Optional[str] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class CancelRunRequest(_message.Message):
    __slots__ = ("run_id", "reason", "grace_s")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    GRACE_S_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    reason: str
    grace_s: float
    def __init__(self, run_id: _Optional[str] = ..., reason: _Optional[str] = ..., grace_s: _Optional[float] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("states", "outcomes", "contains", "limit")
    STATES_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[str]
    outcomes: _containers.RepeatedScalarFieldContainer[str]
    contains: str
    limit: int
    def __init__(self, states: _Optional[_Iterable[str]] = ..., outcomes: _Optional[_Iterable[str]] = ..., contains: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "total")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[RunRecord]
    total: int
    def __init__(self, runs: _Optional[_Iterable[_Union[RunRecord, _Mapping]]] = ..., total: _Optional[int] = ...) -> None: ...

class WatchRunsRequest(_message.Message):
    __slots__ = ("run_ids", "after_revision")
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    after_revision: int
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., after_revision: _Optional[int] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("steps", "total_steps", "episodes", "total_episodes", "last_return", "mean_return", "steps_per_second", "overall_steps_per_second")
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_EPISODES_FIELD_NUMBER: _ClassVar[int]
    LAST_RETURN_FIELD_NUMBER: _ClassVar[int]
    MEAN_RETURN_FIELD_NUMBER: _ClassVar[int]
    STEPS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    OVERALL_STEPS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    steps: int
    total_steps: int
    episodes: int
    total_episodes: int
    last_return: float
    mean_return: float
    steps_per_second: float
    overall_steps_per_second: float
    def __init__(self, steps: _Optional[int] = ..., total_steps: _Optional[int] = ..., episodes: _Optional[int] = ..., total_episodes: _Optional[int] = ..., last_return: _Optional[float] = ..., mean_return: _Optional[float] = ..., steps_per_second: _Optional[float] = ..., overall_steps_per_second: _Optional[float] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("kind", "message", "hint", "exit_code", "signal", "error_type")
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    message: str
    hint: str
    exit_code: int
    signal: int
    error_type: str
    def __init__(self, kind: _Optional[str] = ..., message: _Optional[str] = ..., hint: _Optional[str] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., error_type: _Optional[str] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("state", "at", "reason", "attempt")
    STATE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    state: str
    at: float
    reason: str
    attempt: int
    def __init__(self, state: _Optional[str] = ..., at: _Optional[float] = ..., reason: _Optional[str] = ..., attempt: _Optional[int] = ...) -> None: ...

class Lineage(_message.Message):
    __slots__ = ("parent_run", "kind", "step")
    PARENT_RUN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    parent_run: str
    kind: str
    step: int
    def __init__(self, parent_run: _Optional[str] = ..., kind: _Optional[str] = ..., step: _Optional[int] = ...) -> None: ...

class RunRecord(_message.Message):
    __slots__ = ("run_id", "run_name", "worker", "state", "outcome", "attempt", "priority", "created_at", "updated_at", "started_at", "finished_at", "agent_id", "worker_id", "env_id", "failure", "exit_code", "signal", "stop_reason", "stop_requested", "stalled", "waiting", "last_heartbeat_at", "progress", "cpus", "memory_mb", "gpu_slots", "checkpoint_uri", "metrics_digest", "quarantined_lines", "revision", "pinned", "group", "origin", "lineage", "tags", "note", "paths", "transitions", "stderr_tail", "capabilities_json", "config_json", "manifest_json")
    class PathsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_NAME_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    STOP_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    STALLED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_AT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    GPU_SLOTS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_URI_FIELD_NUMBER: _ClassVar[int]
    METRICS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_LINES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    STDERR_TAIL_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_JSON_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    run_name: str
    worker: str
    state: str
    outcome: str
    attempt: int
    priority: int
    created_at: float
    updated_at: float
    started_at: float
    finished_at: float
    agent_id: str
    worker_id: str
    env_id: str
    failure: Failure
    exit_code: int
    signal: int
    stop_reason: str
    stop_requested: bool
    stalled: str
    waiting: str
    last_heartbeat_at: float
    progress: Progress
    cpus: int
    memory_mb: int
    gpu_slots: _containers.RepeatedScalarFieldContainer[int]
    checkpoint_uri: str
    metrics_digest: str
    quarantined_lines: int
    revision: int
    pinned: bool
    group: str
    origin: str
    lineage: Lineage
    tags: _containers.RepeatedScalarFieldContainer[str]
    note: str
    paths: _containers.ScalarMap[str, str]
    transitions: _containers.RepeatedCompositeFieldContainer[Transition]
    stderr_tail: _containers.RepeatedScalarFieldContainer[str]
    capabilities_json: str
    config_json: str
    manifest_json: str
    def __init__(self, run_id: _Optional[str] = ..., run_name: _Optional[str] = ..., worker: _Optional[str] = ..., state: _Optional[str] = ..., outcome: _Optional[str] = ..., attempt: _Optional[int] = ..., priority: _Optional[int] = ..., created_at: _Optional[float] = ..., updated_at: _Optional[float] = ..., started_at: _Optional[float] = ..., finished_at: _Optional[float] = ..., agent_id: _Optional[str] = ..., worker_id: _Optional[str] = ..., env_id: _Optional[str] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., stop_reason: _Optional[str] = ..., stop_requested: _Optional[bool] = ..., stalled: _Optional[str] = ..., waiting: _Optional[str] = ..., last_heartbeat_at: _Optional[float] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., cpus: _Optional[int] = ..., memory_mb: _Optional[int] = ..., gpu_slots: _Optional[_Iterable[int]] = ..., checkpoint_uri: _Optional[str] = ..., metrics_digest: _Optional[str] = ..., quarantined_lines: _Optional[int] = ..., revision: _Optional[int] = ..., pinned: _Optional[bool] = ..., group: _Optional[str] = ..., origin: _Optional[str] = ..., lineage: _Optional[_Union[Lineage, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., note: _Optional[str] = ..., paths: _Optional[_Mapping[str, str]] = ..., transitions: _Optional[_Iterable[_Union[Transition, _Mapping]]] = ..., stderr_tail: _Optional[_Iterable[str]] = ..., capabilities_json: _Optional[str] = ..., config_json: _Optional[str] = ..., manifest_json: _Optional[str] = ...) -> None: ...

class StreamLogRequest(_message.Message):
    __slots__ = ("run_id", "stream", "tail_lines", "follow", "after")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    stream: str
    tail_lines: int
    follow: bool
    after: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., stream: _Optional[str] = ..., tail_lines: _Optional[int] = ..., follow: _Optional[bool] = ..., after: _Optional[_Iterable[str]] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("stream", "data", "cursor")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    stream: str
    data: bytes
    cursor: str
    def __init__(self, stream: _Optional[str] = ..., data: _Optional[bytes] = ..., cursor: _Optional[str] = ...) -> None: ...

class StreamEventsRequest(_message.Message):
    __slots__ = ("run_id", "cursor", "types", "follow")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    cursor: int
    types: _containers.RepeatedScalarFieldContainer[str]
    follow: bool
    def __init__(self, run_id: _Optional[str] = ..., cursor: _Optional[int] = ..., types: _Optional[_Iterable[str]] = ..., follow: _Optional[bool] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ("events", "next_cursor")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedScalarFieldContainer[bytes]
    next_cursor: int
    def __init__(self, events: _Optional[_Iterable[bytes]] = ..., next_cursor: _Optional[int] = ...) -> None: ...

class RecentMetricsRequest(_message.Message):
    __slots__ = ("run_id", "count", "names")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    count: int
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., count: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class MetricPoint(_message.Message):
    __slots__ = ("name", "value", "step", "timestamp", "seq")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    step: int
    timestamp: float
    seq: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., step: _Optional[int] = ..., timestamp: _Optional[float] = ..., seq: _Optional[int] = ...) -> None: ...

class RecentMetricsResponse(_message.Message):
    __slots__ = ("points",)
    POINTS_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[MetricPoint]
    def __init__(self, points: _Optional[_Iterable[_Union[MetricPoint, _Mapping]]] = ...) -> None: ...

class RegisterWorkerRequest(_message.Message):
    __slots__ = ("run_id", "attempt", "attempt_token", "schema_version", "protocol", "capabilities_json", "worker_id")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_JSON_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    attempt_token: str
    schema_version: int
    protocol: str
    capabilities_json: str
    worker_id: str
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., attempt_token: _Optional[str] = ..., schema_version: _Optional[int] = ..., protocol: _Optional[str] = ..., capabilities_json: _Optional[str] = ..., worker_id: _Optional[str] = ...) -> None: ...

class RegisterWorkerResponse(_message.Message):
    __slots__ = ("accepted_schema_version", "session_token", "journal_offset")
    ACCEPTED_SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_OFFSET_FIELD_NUMBER: _ClassVar[int]
    accepted_schema_version: int
    session_token: str
    journal_offset: int
    def __init__(self, accepted_schema_version: _Optional[int] = ..., session_token: _Optional[str] = ..., journal_offset: _Optional[int] = ...) -> None: ...

class PublishEventsRequest(_message.Message):
    __slots__ = ("run_id", "session_token", "offset", "chunk")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    session_token: str
    offset: int
    chunk: bytes
    def __init__(self, run_id: _Optional[str] = ..., session_token: _Optional[str] = ..., offset: _Optional[int] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class PublishEventsAck(_message.Message):
    __slots__ = ("next_offset",)
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    next_offset: int
    def __init__(self, next_offset: _Optional[int] = ...) -> None: ...

class ControlRequest(_message.Message):
    __slots__ = ("run_id", "command_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    command_json: str
    def __init__(self, run_id: _Optional[str] = ..., command_json: _Optional[str] = ...) -> None: ...

class ControlResponse(_message.Message):
    __slots__ = ("reply_json",)
    REPLY_JSON_FIELD_NUMBER: _ClassVar[int]
    reply_json: str
    def __init__(self, reply_json: _Optional[str] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ("refresh",)
    REFRESH_FIELD_NUMBER: _ClassVar[int]
    refresh: bool
    def __init__(self, refresh: _Optional[bool] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ("name", "module", "python", "source", "error", "capabilities_json", "readiness")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    PYTHON_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_JSON_FIELD_NUMBER: _ClassVar[int]
    READINESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    module: str
    python: str
    source: str
    error: str
    capabilities_json: str
    readiness: _containers.RepeatedCompositeFieldContainer[PreflightResult]
    def __init__(self, name: _Optional[str] = ..., module: _Optional[str] = ..., python: _Optional[str] = ..., source: _Optional[str] = ..., error: _Optional[str] = ..., capabilities_json: _Optional[str] = ..., readiness: _Optional[_Iterable[_Union[PreflightResult, _Mapping]]] = ...) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ("workers",)
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[Worker]
    def __init__(self, workers: _Optional[_Iterable[_Union[Worker, _Mapping]]] = ...) -> None: ...

class GetHealthRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HealthResponse(_message.Message):
    __slots__ = ("healthy", "pid", "started_at", "version", "home", "addresses", "live_runs", "queued_runs", "alarms", "rss_mb", "cpus_total", "cpus_free", "memory_mb_total", "memory_mb_free", "gpus_total", "gpus_free", "containment")
    HEALTHY_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    LIVE_RUNS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_RUNS_FIELD_NUMBER: _ClassVar[int]
    ALARMS_FIELD_NUMBER: _ClassVar[int]
    RSS_MB_FIELD_NUMBER: _ClassVar[int]
    CPUS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    CPUS_FREE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FREE_FIELD_NUMBER: _ClassVar[int]
    GPUS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    GPUS_FREE_FIELD_NUMBER: _ClassVar[int]
    CONTAINMENT_FIELD_NUMBER: _ClassVar[int]
    healthy: bool
    pid: int
    started_at: float
    version: str
    home: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    live_runs: int
    queued_runs: int
    alarms: _containers.RepeatedScalarFieldContainer[str]
    rss_mb: float
    cpus_total: int
    cpus_free: int
    memory_mb_total: int
    memory_mb_free: int
    gpus_total: int
    gpus_free: int
    containment: str
    def __init__(self, healthy: _Optional[bool] = ..., pid: _Optional[int] = ..., started_at: _Optional[float] = ..., version: _Optional[str] = ..., home: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., live_runs: _Optional[int] = ..., queued_runs: _Optional[int] = ..., alarms: _Optional[_Iterable[str]] = ..., rss_mb: _Optional[float] = ..., cpus_total: _Optional[int] = ..., cpus_free: _Optional[int] = ..., memory_mb_total: _Optional[int] = ..., memory_mb_free: _Optional[int] = ..., gpus_total: _Optional[int] = ..., gpus_free: _Optional[int] = ..., containment: _Optional[str] = ...) -> None: ...

class DeleteRunRequest(_message.Message):
    __slots__ = ("run_id", "for_good")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FOR_GOOD_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    for_good: bool
    def __init__(self, run_id: _Optional[str] = ..., for_good: _Optional[bool] = ...) -> None: ...

class DeleteRunResponse(_message.Message):
    __slots__ = ("freed_bytes", "is_in_trash")
    FREED_BYTES_FIELD_NUMBER: _ClassVar[int]
    IS_IN_TRASH_FIELD_NUMBER: _ClassVar[int]
    freed_bytes: int
    is_in_trash: bool
    def __init__(self, freed_bytes: _Optional[int] = ..., is_in_trash: _Optional[bool] = ...) -> None: ...

class ListTrashRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TrashedRun(_message.Message):
    __slots__ = ("run_id", "run_name", "deleted_at", "bytes", "reason", "goes_at")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_NAME_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    GOES_AT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    run_name: str
    deleted_at: float
    bytes: int
    reason: str
    goes_at: float
    def __init__(self, run_id: _Optional[str] = ..., run_name: _Optional[str] = ..., deleted_at: _Optional[float] = ..., bytes: _Optional[int] = ..., reason: _Optional[str] = ..., goes_at: _Optional[float] = ...) -> None: ...

class ListTrashResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[TrashedRun]
    def __init__(self, runs: _Optional[_Iterable[_Union[TrashedRun, _Mapping]]] = ...) -> None: ...

class EmptyTrashRequest(_message.Message):
    __slots__ = ("run_ids",)
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class EmptyTrashResponse(_message.Message):
    __slots__ = ("freed_bytes", "runs")
    FREED_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    freed_bytes: int
    runs: int
    def __init__(self, freed_bytes: _Optional[int] = ..., runs: _Optional[int] = ...) -> None: ...

class PinRunRequest(_message.Message):
    __slots__ = ("run_id", "pinned")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    pinned: bool
    def __init__(self, run_id: _Optional[str] = ..., pinned: _Optional[bool] = ...) -> None: ...

class RetentionRequest(_message.Message):
    __slots__ = ("max_age_days", "max_total_bytes", "keep_last", "keep_best", "dry_run")
    MAX_AGE_DAYS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    KEEP_LAST_FIELD_NUMBER: _ClassVar[int]
    KEEP_BEST_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    max_age_days: float
    max_total_bytes: int
    keep_last: int
    keep_best: int
    dry_run: bool
    def __init__(self, max_age_days: _Optional[float] = ..., max_total_bytes: _Optional[int] = ..., keep_last: _Optional[int] = ..., keep_best: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class RetentionChoice(_message.Message):
    __slots__ = ("run_id", "run_name", "bytes", "reason", "finished_at")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_NAME_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    run_name: str
    bytes: int
    reason: str
    finished_at: float
    def __init__(self, run_id: _Optional[str] = ..., run_name: _Optional[str] = ..., bytes: _Optional[int] = ..., reason: _Optional[str] = ..., finished_at: _Optional[float] = ...) -> None: ...

class RetentionResponse(_message.Message):
    __slots__ = ("deleted", "kept", "kept_bytes")
    DELETED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    KEPT_BYTES_FIELD_NUMBER: _ClassVar[int]
    deleted: _containers.RepeatedCompositeFieldContainer[RetentionChoice]
    kept: int
    kept_bytes: int
    def __init__(self, deleted: _Optional[_Iterable[_Union[RetentionChoice, _Mapping]]] = ..., kept: _Optional[int] = ..., kept_bytes: _Optional[int] = ...) -> None: ...

class ArchiveRunRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class ArchiveChunk(_message.Message):
    __slots__ = ("data", "total_bytes", "max_unpacked_bytes")
    DATA_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_UNPACKED_BYTES_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    total_bytes: int
    max_unpacked_bytes: int
    def __init__(self, data: _Optional[bytes] = ..., total_bytes: _Optional[int] = ..., max_unpacked_bytes: _Optional[int] = ...) -> None: ...

class ImportRunResponse(_message.Message):
    __slots__ = ("run", "files", "bytes")
    RUN_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    run: RunRecord
    files: int
    bytes: int
    def __init__(self, run: _Optional[_Union[RunRecord, _Mapping]] = ..., files: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("run_ids", "types", "cursors", "credits", "lossless")
    class CursorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    CREDITS_FIELD_NUMBER: _ClassVar[int]
    LOSSLESS_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    types: _containers.RepeatedScalarFieldContainer[str]
    cursors: _containers.ScalarMap[str, int]
    credits: int
    lossless: bool
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., types: _Optional[_Iterable[str]] = ..., cursors: _Optional[_Mapping[str, int]] = ..., credits: _Optional[int] = ..., lossless: _Optional[bool] = ...) -> None: ...

class BusMessage(_message.Message):
    __slots__ = ("run_id", "events", "next_cursor", "control")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    events: _containers.RepeatedScalarFieldContainer[bytes]
    next_cursor: int
    control: BusControl
    def __init__(self, run_id: _Optional[str] = ..., events: _Optional[_Iterable[bytes]] = ..., next_cursor: _Optional[int] = ..., control: _Optional[_Union[BusControl, _Mapping]] = ...) -> None: ...

class BusControl(_message.Message):
    __slots__ = ("kind", "coalesced", "from_cursor")
    class CoalescedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    COALESCED_FIELD_NUMBER: _ClassVar[int]
    FROM_CURSOR_FIELD_NUMBER: _ClassVar[int]
    kind: str
    coalesced: _containers.ScalarMap[str, int]
    from_cursor: int
    def __init__(self, kind: _Optional[str] = ..., coalesced: _Optional[_Mapping[str, int]] = ..., from_cursor: _Optional[int] = ...) -> None: ...

class MetricInfo(_message.Message):
    __slots__ = ("name", "points", "first_step", "last_step", "last_value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    points: int
    first_step: int
    last_step: int
    last_value: float
    def __init__(self, name: _Optional[str] = ..., points: _Optional[int] = ..., first_step: _Optional[int] = ..., last_step: _Optional[int] = ..., last_value: _Optional[float] = ...) -> None: ...

class ListMetricsResponse(_message.Message):
    __slots__ = ("metrics",)
    METRICS_FIELD_NUMBER: _ClassVar[int]
    metrics: _containers.RepeatedCompositeFieldContainer[MetricInfo]
    def __init__(self, metrics: _Optional[_Iterable[_Union[MetricInfo, _Mapping]]] = ...) -> None: ...

class QuerySeriesRequest(_message.Message):
    __slots__ = ("run_ids", "names", "first_step", "last_step", "buckets", "after_cursor", "limit")
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    names: _containers.RepeatedScalarFieldContainer[str]
    first_step: int
    last_step: int
    buckets: int
    after_cursor: int
    limit: int
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., names: _Optional[_Iterable[str]] = ..., first_step: _Optional[int] = ..., last_step: _Optional[int] = ..., buckets: _Optional[int] = ..., after_cursor: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class Series(_message.Message):
    __slots__ = ("run_id", "name", "first_steps", "last_steps", "means", "lows", "highs", "counts", "timestamps", "points", "next_cursor")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEPS_FIELD_NUMBER: _ClassVar[int]
    LAST_STEPS_FIELD_NUMBER: _ClassVar[int]
    MEANS_FIELD_NUMBER: _ClassVar[int]
    LOWS_FIELD_NUMBER: _ClassVar[int]
    HIGHS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMPS_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    name: str
    first_steps: _containers.RepeatedScalarFieldContainer[int]
    last_steps: _containers.RepeatedScalarFieldContainer[int]
    means: _containers.RepeatedScalarFieldContainer[float]
    lows: _containers.RepeatedScalarFieldContainer[float]
    highs: _containers.RepeatedScalarFieldContainer[float]
    counts: _containers.RepeatedScalarFieldContainer[int]
    timestamps: _containers.RepeatedScalarFieldContainer[float]
    points: int
    next_cursor: int
    def __init__(self, run_id: _Optional[str] = ..., name: _Optional[str] = ..., first_steps: _Optional[_Iterable[int]] = ..., last_steps: _Optional[_Iterable[int]] = ..., means: _Optional[_Iterable[float]] = ..., lows: _Optional[_Iterable[float]] = ..., highs: _Optional[_Iterable[float]] = ..., counts: _Optional[_Iterable[int]] = ..., timestamps: _Optional[_Iterable[float]] = ..., points: _Optional[int] = ..., next_cursor: _Optional[int] = ...) -> None: ...

class QuerySeriesResponse(_message.Message):
    __slots__ = ("series",)
    SERIES_FIELD_NUMBER: _ClassVar[int]
    series: _containers.RepeatedCompositeFieldContainer[Series]
    def __init__(self, series: _Optional[_Iterable[_Union[Series, _Mapping]]] = ...) -> None: ...

class EpisodeRow(_message.Message):
    __slots__ = ("cursor", "seq", "timestamp", "agent_id", "worker_id", "episode_index", "total_reward", "steps", "terminated", "truncated", "episode_seed", "metadata_json")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_INDEX_FIELD_NUMBER: _ClassVar[int]
    TOTAL_REWARD_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    EPISODE_SEED_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    cursor: int
    seq: int
    timestamp: float
    agent_id: str
    worker_id: str
    episode_index: int
    total_reward: float
    steps: int
    terminated: bool
    truncated: bool
    episode_seed: str
    metadata_json: str
    def __init__(self, cursor: _Optional[int] = ..., seq: _Optional[int] = ..., timestamp: _Optional[float] = ..., agent_id: _Optional[str] = ..., worker_id: _Optional[str] = ..., episode_index: _Optional[int] = ..., total_reward: _Optional[float] = ..., steps: _Optional[int] = ..., terminated: _Optional[bool] = ..., truncated: _Optional[bool] = ..., episode_seed: _Optional[str] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class ListEpisodesRequest(_message.Message):
    __slots__ = ("run_id", "limit", "after_cursor", "order", "episode_index")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    EPISODE_INDEX_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    limit: int
    after_cursor: int
    order: str
    episode_index: int
    def __init__(self, run_id: _Optional[str] = ..., limit: _Optional[int] = ..., after_cursor: _Optional[int] = ..., order: _Optional[str] = ..., episode_index: _Optional[int] = ...) -> None: ...

class ListEpisodesResponse(_message.Message):
    __slots__ = ("episodes", "next_cursor", "total")
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    episodes: _containers.RepeatedCompositeFieldContainer[EpisodeRow]
    next_cursor: int
    total: int
    def __init__(self, episodes: _Optional[_Iterable[_Union[EpisodeRow, _Mapping]]] = ..., next_cursor: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class StepRow(_message.Message):
    __slots__ = ("cursor", "seq", "timestamp", "agent_id", "worker_id", "episode_index", "step_index", "action_json", "observation_json", "reward", "terminated", "truncated", "episode_seed", "render_hint_json", "info_json")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_INDEX_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    ACTION_JSON_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_JSON_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    EPISODE_SEED_FIELD_NUMBER: _ClassVar[int]
    RENDER_HINT_JSON_FIELD_NUMBER: _ClassVar[int]
    INFO_JSON_FIELD_NUMBER: _ClassVar[int]
    cursor: int
    seq: int
    timestamp: float
    agent_id: str
    worker_id: str
    episode_index: int
    step_index: int
    action_json: str
    observation_json: str
    reward: float
    terminated: bool
    truncated: bool
    episode_seed: str
    render_hint_json: str
    info_json: str
    def __init__(self, cursor: _Optional[int] = ..., seq: _Optional[int] = ..., timestamp: _Optional[float] = ..., agent_id: _Optional[str] = ..., worker_id: _Optional[str] = ..., episode_index: _Optional[int] = ..., step_index: _Optional[int] = ..., action_json: _Optional[str] = ..., observation_json: _Optional[str] = ..., reward: _Optional[float] = ..., terminated: _Optional[bool] = ..., truncated: _Optional[bool] = ..., episode_seed: _Optional[str] = ..., render_hint_json: _Optional[str] = ..., info_json: _Optional[str] = ...) -> None: ...

class ListStepsRequest(_message.Message):
    __slots__ = ("run_id", "episode_index", "attempt", "after_cursor", "limit")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    episode_index: int
    attempt: int
    after_cursor: int
    limit: int
    def __init__(self, run_id: _Optional[str] = ..., episode_index: _Optional[int] = ..., attempt: _Optional[int] = ..., after_cursor: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListStepsResponse(_message.Message):
    __slots__ = ("steps", "next_cursor")
    STEPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[StepRow]
    next_cursor: int
    def __init__(self, steps: _Optional[_Iterable[_Union[StepRow, _Mapping]]] = ..., next_cursor: _Optional[int] = ...) -> None: ...

class GetRecordingRequest(_message.Message):
    __slots__ = ("run_id", "episode_index", "attempt", "consent")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    episode_index: int
    attempt: int
    consent: str
    def __init__(self, run_id: _Optional[str] = ..., episode_index: _Optional[int] = ..., attempt: _Optional[int] = ..., consent: _Optional[str] = ...) -> None: ...

class EpisodeRecording(_message.Message):
    __slots__ = ("episode", "attempt", "env_id", "maker", "python", "settings_json", "start_json", "start_state", "lead", "action_dtype", "action_shape", "actions", "rewards", "actions_json", "problem", "clips", "path", "consent_lines", "values")
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    MAKER_FIELD_NUMBER: _ClassVar[int]
    PYTHON_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    START_JSON_FIELD_NUMBER: _ClassVar[int]
    START_STATE_FIELD_NUMBER: _ClassVar[int]
    LEAD_FIELD_NUMBER: _ClassVar[int]
    ACTION_DTYPE_FIELD_NUMBER: _ClassVar[int]
    ACTION_SHAPE_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_JSON_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    CLIPS_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CONSENT_LINES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    episode: EpisodeRow
    attempt: int
    env_id: str
    maker: str
    python: str
    settings_json: str
    start_json: str
    start_state: bytes
    lead: int
    action_dtype: str
    action_shape: _containers.RepeatedScalarFieldContainer[int]
    actions: bytes
    rewards: bytes
    actions_json: str
    problem: str
    clips: _containers.RepeatedScalarFieldContainer[str]
    path: _containers.RepeatedScalarFieldContainer[str]
    consent_lines: _containers.RepeatedScalarFieldContainer[str]
    values: bytes
    def __init__(self, episode: _Optional[_Union[EpisodeRow, _Mapping]] = ..., attempt: _Optional[int] = ..., env_id: _Optional[str] = ..., maker: _Optional[str] = ..., python: _Optional[str] = ..., settings_json: _Optional[str] = ..., start_json: _Optional[str] = ..., start_state: _Optional[bytes] = ..., lead: _Optional[int] = ..., action_dtype: _Optional[str] = ..., action_shape: _Optional[_Iterable[int]] = ..., actions: _Optional[bytes] = ..., rewards: _Optional[bytes] = ..., actions_json: _Optional[str] = ..., problem: _Optional[str] = ..., clips: _Optional[_Iterable[str]] = ..., path: _Optional[_Iterable[str]] = ..., consent_lines: _Optional[_Iterable[str]] = ..., values: _Optional[bytes] = ...) -> None: ...

class SearchLogsRequest(_message.Message):
    __slots__ = ("run_ids", "text", "is_regex", "ignore_case", "stream", "limit")
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_REGEX_FIELD_NUMBER: _ClassVar[int]
    IGNORE_CASE_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    text: str
    is_regex: bool
    ignore_case: bool
    stream: str
    limit: int
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ..., is_regex: _Optional[bool] = ..., ignore_case: _Optional[bool] = ..., stream: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class LogMatch(_message.Message):
    __slots__ = ("run_id", "stream", "line_number", "line")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    LINE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    stream: str
    line_number: int
    line: str
    def __init__(self, run_id: _Optional[str] = ..., stream: _Optional[str] = ..., line_number: _Optional[int] = ..., line: _Optional[str] = ...) -> None: ...

class ListBundlesRequest(_message.Message):
    __slots__ = ("names", "accelerator")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    ACCELERATOR_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    accelerator: str
    def __init__(self, names: _Optional[_Iterable[str]] = ..., accelerator: _Optional[str] = ...) -> None: ...

class ListBundlesResponse(_message.Message):
    __slots__ = ("venvs", "problems")
    VENVS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    venvs: _containers.RepeatedCompositeFieldContainer[Venv]
    problems: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, venvs: _Optional[_Iterable[_Union[Venv, _Mapping]]] = ..., problems: _Optional[_Iterable[str]] = ...) -> None: ...

class Venv(_message.Message):
    __slots__ = ("name", "title", "about", "state", "accelerator", "python", "lock_hash", "path", "fetch_bytes", "disk_bytes", "shared_bytes", "installed_at", "used_at", "problem", "hint", "progress", "note")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ACCELERATOR_FIELD_NUMBER: _ClassVar[int]
    PYTHON_FIELD_NUMBER: _ClassVar[int]
    LOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    FETCH_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHARED_BYTES_FIELD_NUMBER: _ClassVar[int]
    INSTALLED_AT_FIELD_NUMBER: _ClassVar[int]
    USED_AT_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    about: str
    state: str
    accelerator: str
    python: str
    lock_hash: str
    path: str
    fetch_bytes: int
    disk_bytes: int
    shared_bytes: int
    installed_at: float
    used_at: float
    problem: str
    hint: str
    progress: InstallProgress
    note: str
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., about: _Optional[str] = ..., state: _Optional[str] = ..., accelerator: _Optional[str] = ..., python: _Optional[str] = ..., lock_hash: _Optional[str] = ..., path: _Optional[str] = ..., fetch_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., shared_bytes: _Optional[int] = ..., installed_at: _Optional[float] = ..., used_at: _Optional[float] = ..., problem: _Optional[str] = ..., hint: _Optional[str] = ..., progress: _Optional[_Union[InstallProgress, _Mapping]] = ..., note: _Optional[str] = ...) -> None: ...

class InstallBundleRequest(_message.Message):
    __slots__ = ("name", "accelerator", "from_folder", "most_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACCELERATOR_FIELD_NUMBER: _ClassVar[int]
    FROM_FOLDER_FIELD_NUMBER: _ClassVar[int]
    MOST_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    accelerator: str
    from_folder: str
    most_bytes: int
    def __init__(self, name: _Optional[str] = ..., accelerator: _Optional[str] = ..., from_folder: _Optional[str] = ..., most_bytes: _Optional[int] = ...) -> None: ...

class InstallProgress(_message.Message):
    __slots__ = ("phase", "item", "done_bytes", "total_bytes", "fraction", "message", "hint")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    DONE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    phase: str
    item: str
    done_bytes: int
    total_bytes: int
    fraction: float
    message: str
    hint: str
    def __init__(self, phase: _Optional[str] = ..., item: _Optional[str] = ..., done_bytes: _Optional[int] = ..., total_bytes: _Optional[int] = ..., fraction: _Optional[float] = ..., message: _Optional[str] = ..., hint: _Optional[str] = ...) -> None: ...

class BundleRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CancelInstallResponse(_message.Message):
    __slots__ = ("was_installing",)
    WAS_INSTALLING_FIELD_NUMBER: _ClassVar[int]
    was_installing: bool
    def __init__(self, was_installing: _Optional[bool] = ...) -> None: ...

class PruneBundlesRequest(_message.Message):
    __slots__ = ("dry_run",)
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    dry_run: bool
    def __init__(self, dry_run: _Optional[bool] = ...) -> None: ...

class PackBundleRequest(_message.Message):
    __slots__ = ("install", "folder")
    INSTALL_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    install: InstallBundleRequest
    folder: str
    def __init__(self, install: _Optional[_Union[InstallBundleRequest, _Mapping]] = ..., folder: _Optional[str] = ...) -> None: ...
