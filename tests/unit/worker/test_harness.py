"""worker_main: the command line, the order of events, exit codes and summaries."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.errors import ConfigError, DependencyError, WorkerError
from mosaic.testing.event_check import assert_valid_journal, parse_journal
from mosaic.worker import Run, Shortcut, option, worker_main


@dataclass
class SampleConfig:
    env_id: str = option(help="the environment")
    episodes: int = option(2, minimum=1)
    api_key: str = ""
    options: dict[str, int] = field(default_factory=dict)


def capabilities() -> WorkerCapabilities:
    return WorkerCapabilities("sample")


Train = Callable[[Run[SampleConfig]], None]


def short_training(run: Run[SampleConfig]) -> None:
    print("a library prints something")
    for episode in range(run.config.episodes):
        run.episode(
            episode_index=episode, total_reward=1.0, steps=5, terminated=True, truncated=False
        )


@pytest.fixture
def run_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, list[dict[str, Any]]]]:
    """Runs a worker as the daemon would, in this process."""
    journal = tmp_path / "events.jsonl"
    monkeypatch.setenv("MOSAIC_JOURNAL", str(journal))
    monkeypatch.setenv("MOSAIC_RUN_DIR", str(tmp_path))

    def run(
        train: Train = short_training, *arguments: str, **options: Any
    ) -> tuple[int, list[dict[str, Any]]]:
        argv = ["--set", "env_id=X-v0", *arguments]
        status = worker_main(capabilities, SampleConfig, train, argv, **options)
        events = parse_journal(journal.read_bytes())
        assert_valid_journal(events)
        return status, events

    return run


RunWorker = Callable[..., tuple[int, list[dict[str, Any]]]]


def test_describe_prints_capabilities_with_the_schema(capfd: pytest.CaptureFixture[str]) -> None:
    assert worker_main(capabilities, SampleConfig, short_training, ["--describe"]) == 0
    described = WorkerCapabilities.from_dict(json.loads(capfd.readouterr().out))
    assert described.config_schema["required"] == ["env_id"]


def test_help_lists_the_config_fields(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        worker_main(capabilities, SampleConfig, short_training, ["--help"])
    assert caught.value.code == 0
    text = capfd.readouterr().out
    assert "env_id" in text and "the environment" in text and "default 2" in text


def test_completed_run_tells_its_story_in_order(run_worker: RunWorker, tmp_path: Path) -> None:
    status, events = run_worker()
    assert status == 0
    assert [event["type"] for event in events] == [
        "worker_registered",
        "run_started",
        "episode",
        "episode",
        "run_completed",
    ]
    assert events[-1]["payload"]["episodes"] == 2
    manifest = json.loads((tmp_path / "analytics.json").read_text())
    assert (manifest["status"], manifest["attempt"]) == ("completed", 1)
    assert manifest["metadata"] == {"steps": 0}
    assert 0 < manifest["created_at"] <= manifest["updated_at"]


def test_secret_looking_config_is_masked_wherever_it_is_shown(
    run_worker: RunWorker, capfd: pytest.CaptureFixture[str]
) -> None:
    _, events = run_worker(short_training, "--set", "api_key=canary-1234", "--emit-summary")
    assert "canary-1234" not in json.dumps(events)
    summary = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert summary["config"]["api_key"] == "***"


def test_summary_is_the_last_line_of_stdout(
    run_worker: RunWorker, capfd: pytest.CaptureFixture[str]
) -> None:
    run_worker(short_training, "--emit-summary")
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "a library prints something"
    summary = json.loads(lines[-1])
    assert (summary["status"], summary["episodes"]) == ("completed", 2)
    assert summary["command"][:3] == [sys.executable, "-m", __name__]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--set", "episode=3"), "'episode' is not a known field"),
        (("--set", "episodes=0"), "'episodes': 0 is less than the minimum of 1"),
        (("--config", "/nowhere.json"), "/nowhere.json cannot be read"),
        (("--set", "episodes"), "is not of the form key=value"),
    ],
)
def test_invalid_config_ends_with_status_2_and_says_why(
    run_worker: RunWorker,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    named: str,
) -> None:
    status, events = run_worker(short_training, *arguments)
    assert status == 2
    assert [event["type"] for event in events] == ["worker_registered", "run_failed"]
    payload = events[-1]["payload"]
    assert payload["error_type"] == "ConfigError" and payload["exit_code"] == 2
    assert named in payload["error"]
    shown = capfd.readouterr().err
    assert named in shown and "Traceback" not in shown


def test_what_the_check_finds_out_is_told(
    run_worker: RunWorker, capfd: pytest.CaptureFixture[str]
) -> None:
    found = {"flags": ["--episodes=2"], "env_id": "X-v1", "api_key": "canary-1234"}
    _, events = run_worker(short_training, "--emit-summary", check=lambda config: found)
    started = events[1]["payload"]
    assert (started["flags"], started["env_id"]) == (["--episodes=2"], "X-v1")
    summary = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert summary["extras"] == {"flags": ["--episodes=2"], "env_id": "X-v1", "api_key": "***"}
    assert "canary-1234" not in json.dumps(events)


SHORTCUTS = (
    Shortcut("--episodes", "episodes", "how many"),
    Shortcut("--short", "episodes", "just one", value="1"),
    Shortcut("--options", "options", "several at once", is_object=True),
)


@pytest.mark.parametrize(
    ("arguments", "episodes"),
    [
        (("--episodes", "5"), 5),
        (("--short",), 1),
        (("--episodes", "5", "--set", "episodes=6"), 6),
    ],
)
def test_shortcuts_stand_for_set(
    run_worker: RunWorker, arguments: tuple[str, ...], episodes: int
) -> None:
    _, events = run_worker(short_training, *arguments, shortcuts=SHORTCUTS)
    assert events[-1]["payload"]["episodes"] == episodes


def test_object_of_a_shortcut_is_merged_into_the_config(
    run_worker: RunWorker, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"options": {"a": 1, "b": 2}}')
    argv = ("--config", str(file), "--options", '{"b": 3, "c": 4}')
    _, events = run_worker(short_training, *argv, shortcuts=SHORTCUTS)
    assert events[1]["payload"]["config"]["options"] == {"a": 1, "b": 3, "c": 4}


@pytest.mark.parametrize("text", ["[1]", "{", "5"])
def test_object_of_a_shortcut_must_be_one(
    run_worker: RunWorker, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    status, _ = run_worker(short_training, "--options", text, shortcuts=SHORTCUTS)
    assert status == 2
    assert f"--options {text!r} is not a JSON object" in capfd.readouterr().err


def test_check_of_the_worker_counts_like_the_schema(run_worker: RunWorker) -> None:
    def check(config: SampleConfig) -> None:
        raise ConfigError("'env_id': no such environment", hint="try Y-v0", field="env_id")

    status, events = run_worker(check=check)
    assert status == 2
    assert events[-1]["payload"]["hint"] == "try Y-v0"
    assert events[-1]["payload"]["field"] == "env_id"


@pytest.mark.parametrize(
    ("error", "status", "is_traceback_shown"),
    [
        (ValueError("boom"), 1, True),
        (WorkerError("the simulator died", hint="restart it"), 1, True),
        (DependencyError("no torch", hint="pip install torch"), 1, False),
        (ConfigError("too small"), 2, False),
        (MemoryError(), 1, True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_failure_is_typed_and_explained(
    run_worker: RunWorker,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    status: int,
    is_traceback_shown: bool,
) -> None:
    def train(run: Run[SampleConfig]) -> None:
        run.metric("x", 1.0, 0)
        raise error

    got, events = run_worker(train)
    assert got == status
    last = events[-1]
    assert last["type"] == "run_failed"
    assert last["payload"]["error_type"] == type(error).__name__
    assert last["payload"]["error"]
    assert last["payload"]["hint"] == getattr(error, "hint", "")
    assert ("Traceback" in last["payload"]["traceback"]) is is_traceback_shown
    assert ("Traceback" in capfd.readouterr().err) is is_traceback_shown


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (0, 0, "run_completed"),
        (None, 0, "run_completed"),
        (3, 3, "run_failed"),
        ("no", 1, "run_failed"),
    ],
)
def test_sys_exit_inside_the_training_is_reported(
    run_worker: RunWorker, code: Any, status: int, kind: str
) -> None:
    got, events = run_worker(lambda run: sys.exit(code))
    assert (got, events[-1]["type"]) == (status, kind)


def test_signal_cancels_and_leaves_the_handlers_as_they_were(run_worker: RunWorker) -> None:
    def train(run: Run[SampleConfig]) -> None:
        signal.raise_signal(signal.SIGTERM)
        assert run.should_stop()

    before = signal.getsignal(signal.SIGTERM)
    status, events = run_worker(train)
    assert status == 0
    assert events[-1]["type"] == "run_cancelled"
    assert events[-1]["payload"]["reason"] == "sigterm"
    assert signal.getsignal(signal.SIGTERM) is before


def test_second_interrupt_cancels_with_status_130(run_worker: RunWorker) -> None:
    def train(run: Run[SampleConfig]) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    status, events = run_worker(train)
    assert (status, events[-1]["type"]) == (130, "run_cancelled")


def test_used_up_budget_is_a_completed_run(
    run_worker: RunWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_MAX_STEPS", "3")

    def train(run: Run[SampleConfig]) -> None:
        while not run.should_stop():
            run.progress(steps=run.steps + 1)

    _, events = run_worker(train)
    assert events[-1]["type"] == "run_completed"
    assert events[-1]["payload"]["stop_reason"] == "max_steps"


def test_second_attempt_continues_the_journal(run_worker: RunWorker) -> None:
    run_worker()
    _, events = run_worker()
    assert [event["type"] for event in events].count("worker_registered") == 2


def test_alone_events_are_the_only_thing_on_stdout(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOSAIC_JOURNAL", raising=False)
    argv = ["--set", "env_id=X-v0"]
    assert worker_main(capabilities, SampleConfig, short_training, argv) == 0
    captured = capfd.readouterr()
    events = parse_journal(captured.out.encode())
    assert_valid_journal(events)
    assert {event["agent_id"] for event in events} == {"agent_0"}
    assert "a library prints something" in captured.err


def test_dry_run_runs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def train(run: Run[SampleConfig]) -> None:
        raise AssertionError("must not run")

    argv = ["--set", "env_id=X-v0", "--dry-run"]
    assert worker_main(capabilities, SampleConfig, train, argv) == 0
    text = capfd.readouterr().out
    assert "dry-run" in text and 'env_id = "X-v0"' in text
    assert worker_main(capabilities, SampleConfig, train, [*argv, "--emit-summary"]) == 0
    summary = json.loads(capfd.readouterr().out)
    assert summary["status"] == "dry-run"
    assert summary["command"][-2:] == ["--set", "env_id=X-v0"]


def test_dry_run_of_an_invalid_config_says_what_is_wrong(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert worker_main(capabilities, SampleConfig, short_training, ["--dry-run"]) == 2
    captured = capfd.readouterr()
    assert captured.err == (
        "error: Invalid SampleConfig: 'env_id' is required\nhint: env_id: the environment\n"
    )
    assert captured.out == ""


def test_unusable_journal_is_an_error_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOSAIC_JOURNAL", "/nowhere/events.jsonl")
    argv = ["--set", "env_id=X-v0"]
    assert worker_main(capabilities, SampleConfig, short_training, argv) == 1
    assert "cannot be opened" in capfd.readouterr().err
