-- Which run's checkpoint a run came from. Null until somebody has looked: see fill_in_lineage.
ALTER TABLE runs ADD COLUMN parent_run TEXT;
ALTER TABLE runs ADD COLUMN lineage_kind TEXT;
ALTER TABLE runs ADD COLUMN lineage_step INTEGER;

UPDATE runs SET checksum = row_checksum(
    run_id, client_key, run_name, worker, state, outcome, attempt, priority, created_at,
    updated_at, started_at, finished_at, agent_id, worker_id, env_id, failure_json, exit_code,
    signal, stop_reason, stop_requested, stalled, last_heartbeat_at, steps, total_steps, episodes,
    total_episodes, last_return, mean_return, steps_per_second, cpus, memory_mb, gpu_slots,
    checkpoint_uri, metrics_digest, capabilities_digest, config_digest, quarantined_lines,
    not_before, slot, revision, pinned, group_name, origin, overall_steps_per_second, parent_run,
    lineage_kind, lineage_step
);
