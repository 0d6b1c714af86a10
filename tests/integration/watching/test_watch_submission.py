"""What `mosaic watch` refuses, shows and asks before anything runs."""

from __future__ import annotations

import json

from tests.integration.watching.watch_harness import Watcher


def test_what_cannot_run_is_refused_before_there_is_a_run(mosaic: Watcher) -> None:
    mosaic.script("train.py", "")
    before = len(mosaic.daemon.client.list_runs(limit=0))
    error = mosaic.call("--", "no-such-program-7", status=2).stderr
    assert "there is no program 'no-such-program-7'" in error
    error = mosaic.call("--", "python3", "trian.py", status=2).stderr
    assert "did you mean train.py?" in error
    error = mosaic.call("--cwd", "nowhere", "--", "true", status=2).stderr
    assert "'cwd'" in error
    assert "COMMAND is missing" in mosaic.call("--name", "x", status=2).stderr
    assert len(mosaic.daemon.client.list_runs(limit=0)) == before


def test_a_program_that_is_gone_when_the_run_starts_fails_by_name(mosaic: Watcher) -> None:
    document = {
        "run_name": "late",
        "entry_point": "script",
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 1, "memory_mb": 512},
        "artifacts": {},
        "metadata": {"worker": {"config": {"command": ["./gone"], "cwd": str(mosaic.folder)}}},
    }
    run_id = mosaic.daemon.client.start_run(document)
    record = mosaic.daemon.wait_over(run_id)
    assert record.exit_code == 2
    assert record.failure is not None
    assert f"'command': the program {mosaic.folder}/gone does not exist" in record.failure.message


def limit_mb(mosaic: Watcher, run_id: str) -> int | None:
    """What the run host was told."""
    attempt = mosaic.daemon.home.run(run_id).attempt(1)
    limit: int | None = json.loads(attempt.exit.read_text())["memory_limit_mb"]
    return limit


def test_a_script_has_no_memory_limit_that_nobody_asked_for(mosaic: Watcher) -> None:
    free = mosaic.record("--", "true")
    assert limit_mb(mosaic, free.run_id) is None
    shown = mosaic.call(free.run_id, command="show").stdout
    assert "no limit, 2,048 MB set aside" in shown
    held = mosaic.record("--memory-mb", "700", "--", "true")
    assert limit_mb(mosaic, held.run_id) == 700
    shown = mosaic.call(held.run_id, command="show").stdout
    assert "700 MB" in shown and "no limit" not in shown


def test_a_config_file_without_a_memory_limit_has_none(mosaic: Watcher) -> None:
    document = {
        "run_name": "without a limit",
        "entry_point": "script",
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 1},
        "artifacts": {},
        "metadata": {"worker": {"config": {"command": ["true"], "cwd": "/"}}},
    }
    (mosaic.folder / "run.json").write_text(json.dumps(document))
    run_id = mosaic.call("run.json", "--yes", command="submit").stdout.strip()
    assert mosaic.daemon.wait_over(run_id).outcome == "succeeded"
    assert limit_mb(mosaic, run_id) is None
    assert mosaic.daemon.client.get_run(run_id).memory_mb == 2048


def test_a_dry_run_shows_the_command_and_starts_nothing(mosaic: Watcher) -> None:
    before = len(mosaic.daemon.client.list_runs(limit=0))
    done = mosaic.call("--dry-run", "--", "bash", "-c", "echo hi")
    assert "-c 'echo hi'" in done.stderr
    assert "mosaic.watch.cli" in done.stdout
    assert len(mosaic.daemon.client.list_runs(limit=0)) == before


def test_a_config_file_that_starts_a_script_needs_consent(mosaic: Watcher) -> None:
    document = {
        "run_name": "from a file",
        "entry_point": "script",
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 1, "memory_mb": 512},
        "artifacts": {},
        "metadata": {"worker": {"config": {"command": ["echo", "a b"], "cwd": "/"}}},
    }
    (mosaic.folder / "run.json").write_text(json.dumps(document))
    error = mosaic.call("run.json", status=5, command="submit").stderr
    assert "command: echo 'a b'" in error
    assert "--yes" in error
    run_id = mosaic.call("run.json", "--yes", command="submit").stdout.strip()
    assert mosaic.daemon.wait_over(run_id).outcome == "succeeded"
    assert mosaic.log(run_id, "stdout") == "a b\n"
