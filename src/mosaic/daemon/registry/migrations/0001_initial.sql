CREATE TABLE runs (
    run_id TEXT PRIMARY KEY NOT NULL,
    client_key TEXT UNIQUE,
    run_name TEXT NOT NULL,
    worker TEXT NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    attempt INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    agent_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    env_id TEXT NOT NULL,
    failure_json TEXT,
    exit_code INTEGER,
    signal INTEGER,
    stop_reason TEXT NOT NULL,
    stop_requested INTEGER NOT NULL,
    stalled TEXT NOT NULL,
    last_heartbeat_at REAL,
    steps INTEGER NOT NULL,
    total_steps INTEGER,
    episodes INTEGER NOT NULL,
    total_episodes INTEGER,
    last_return REAL,
    mean_return REAL,
    steps_per_second REAL,
    cpus INTEGER NOT NULL,
    memory_mb INTEGER NOT NULL,
    gpu_slots TEXT NOT NULL,
    checkpoint_uri TEXT NOT NULL,
    metrics_digest TEXT NOT NULL,
    capabilities_digest TEXT NOT NULL,
    config_digest TEXT NOT NULL,
    quarantined_lines INTEGER NOT NULL,
    not_before REAL,
    slot INTEGER,
    revision INTEGER NOT NULL,
    checksum BLOB NOT NULL
);

CREATE INDEX runs_by_age ON runs (created_at, run_id);
CREATE INDEX runs_by_state ON runs (state);
CREATE INDEX runs_by_revision ON runs (revision);

CREATE TABLE transitions (
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    state TEXT NOT NULL,
    at REAL NOT NULL,
    reason TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (run_id, n)
) WITHOUT ROWID;

-- Thousands of runs share a handful of workers, so each document is kept once.
CREATE TABLE capabilities (
    digest TEXT PRIMARY KEY NOT NULL,
    document TEXT NOT NULL
);

CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    next_slot INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    checksum BLOB NOT NULL
);
