"""The contract every worker must fulfil, as tests to inherit.

class TestMyWorker(WorkerContract):
    module = "my_worker"
    tiny_config = {"seed": 1, "episodes": 2}
    long_config = {"seed": 1, "episodes": 1_000_000_000}
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mosaic.contracts import worker_environment as variables
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import EventType
from mosaic.contracts.schema_check import violations
from mosaic.files import atomic_write_json
from mosaic.testing.event_check import assert_valid_journal, parse_journal
from mosaic.testing.worker_process import RUN_ID, WorkerProcess, clean_environment, poll

SAMPLES = ("step", "episode", "metric")


class WorkerContract:
    """Subclass it as `Test…` and set the first two attributes, better the first four.

    Tests that need a `long_config` or a `crashing_config` are skipped without one.
    """

    # The package; its program is `<module>.cli`.
    module: ClassVar[str]
    # Ends by itself within seconds.
    tiny_config: ClassVar[dict[str, Any]]
    # Would run for minutes if nobody stopped it.
    long_config: ClassVar[dict[str, Any] | None] = None
    # Valid, but makes the training function raise.
    crashing_config: ClassVar[dict[str, Any] | None] = None
    python: ClassVar[str] = sys.executable
    # Further variables of the worker's processes.
    environment: ClassVar[Mapping[str, str]] = {}
    # Metrics that measure the machine and so differ between two equal runs.
    varying_metrics: ClassVar[frozenset[str]] = frozenset({"charts/SPS"})
    timeout_s: ClassVar[float] = 60.0
    stop_timeout_s: ClassVar[float] = 10.0

    def test_describes_itself(self, tmp_path: Path) -> None:
        capabilities = self.describe(tmp_path)
        assert capabilities.worker_type
        schema = capabilities.config_schema
        assert schema.get("type") == "object"
        assert schema.get("additionalProperties") is False, "typing errors would go unnoticed"
        assert [item.message for item in violations(self.tiny_config, schema)] == []

    def test_describing_itself_needs_no_heavy_import(self, tmp_path: Path) -> None:
        command = [self.python, "-X", "importtime", "-m", f"{self.module}.cli", "--describe"]
        done = self.call(command, tmp_path)
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert not imported & {"torch", "numpy", "gymnasium", "jax", "tensorflow"}

    def test_dry_run_checks_everything_and_writes_nothing(self, tmp_path: Path) -> None:
        config_file = tmp_path / "config.json"
        atomic_write_json(config_file, self.tiny_config)
        folder = tmp_path / "empty"
        folder.mkdir()
        arguments = ("--config", str(config_file), "--dry-run", "--emit-summary")
        done = self.call([self.python, "-m", f"{self.module}.cli", *arguments], folder)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["status"] == "dry-run"
        assert summary["command"][1:3] == ["-m", f"{self.module}.cli"]
        assert "--dry-run" not in summary["command"]
        assert set(self.tiny_config) <= set(summary["config"])
        assert list(folder.iterdir()) == []

    def test_unknown_field_is_refused_by_name(self, tmp_path: Path) -> None:
        with self.start(tmp_path, {**self.tiny_config, "no_such_field": 1}) as worker:
            assert worker.wait(self.timeout_s) == 2
            assert "no_such_field" in worker.stderr
            assert [event["type"] for event in worker.events()] == [
                EventType.WORKER_REGISTERED,
                EventType.RUN_FAILED,
            ]
            payload = worker.events()[-1]["payload"]
            assert payload["error_type"] == "ConfigError"
            assert "no_such_field" in payload["error"]

    def test_small_run_tells_its_whole_story(self, tmp_path: Path) -> None:
        with self.start(tmp_path, self.tiny_config) as worker:
            assert worker.wait(self.timeout_s) == 0, worker.stderr
            events = worker.events()
        assert_valid_journal(events)
        kinds = [event["type"] for event in events]
        assert kinds[:2] == [EventType.WORKER_REGISTERED, EventType.RUN_STARTED]
        assert kinds[-1] == EventType.RUN_COMPLETED
        assert set(kinds) & set(SAMPLES), "a run has to report steps, episodes or metrics"
        assert events[0]["run_id"] == RUN_ID
        assert "config_schema" not in events[0]["capabilities"]
        assert (worker.run_directory / "analytics.json").is_file()

    def test_config_inside_a_whole_run_document_is_found(self, tmp_path: Path) -> None:
        document = {"run_name": "nested", "metadata": {"worker": {"config": self.tiny_config}}}
        with self.start(tmp_path, document) as worker:
            assert worker.wait(self.timeout_s) == 0, worker.stderr

    def test_runs_alone_with_its_events_on_stdout(self, tmp_path: Path) -> None:
        config_file = tmp_path / "config.json"
        atomic_write_json(config_file, self.tiny_config)
        folder = tmp_path / "empty"
        folder.mkdir()
        command = [self.python, "-m", f"{self.module}.cli", "--config", str(config_file)]
        done = self.call(command, folder)
        assert done.returncode == 0, done.stderr
        events = parse_journal(done.stdout.encode())
        assert_valid_journal(events)
        assert events[-1]["type"] == EventType.RUN_COMPLETED
        assert len({event["run_id"] for event in events}) == 1
        assert list(folder.iterdir()) == []

    def test_stops_when_told_on_stdin(self, tmp_path: Path) -> None:
        with self.start_long(tmp_path) as worker:
            worker.send({"command": "stop", "reason": "user_cancel"})
            assert worker.wait(self.stop_timeout_s) == 0, worker.stderr
            events = worker.events()
        assert_valid_journal(events)
        assert events[-1]["type"] == EventType.RUN_CANCELLED
        assert events[-1]["payload"]["reason"] == "user_cancel"

    def test_stops_on_sigterm(self, tmp_path: Path) -> None:
        with self.start_long(tmp_path) as worker:
            worker.process.send_signal(signal.SIGTERM)
            assert worker.wait(self.stop_timeout_s) == 0, worker.stderr
            events = worker.events()
        assert_valid_journal(events)
        assert events[-1]["type"] == EventType.RUN_CANCELLED

    def test_stops_after_its_step_budget_as_completed(self, tmp_path: Path) -> None:
        with self.start_long(tmp_path, {variables.MAX_STEPS: "50"}, is_waiting=False) as worker:
            assert worker.wait(self.timeout_s) == 0, worker.stderr
            last = worker.events()[-1]
        assert last["type"] == EventType.RUN_COMPLETED
        assert last["payload"]["stop_reason"] == "max_steps"
        assert last["payload"]["steps"] >= 50

    def test_pauses_and_resumes(self, tmp_path: Path) -> None:
        if not self.describe(tmp_path).supports_pause_resume:
            pytest.skip("this worker does not pause")
        with self.start_long(tmp_path) as worker:
            worker.send({"command": "pause"})
            paused = worker.wait_for(EventType.RUN_PAUSED, self.stop_timeout_s)
            worker.send({"command": "resume"})
            resumed = worker.wait_for(EventType.RUN_RESUMED, self.stop_timeout_s)
            between = [
                event["type"]
                for event in worker.events()
                if paused["seq"] < event["seq"] < resumed["seq"]
            ]
            assert not set(between) & set(SAMPLES), "something went on while the run was paused"
            worker.send({"command": "stop"})
            assert worker.wait(self.stop_timeout_s) == 0, worker.stderr

    def test_stops_while_paused(self, tmp_path: Path) -> None:
        if not self.describe(tmp_path).supports_pause_resume:
            pytest.skip("this worker does not pause")
        with self.start_long(tmp_path) as worker:
            worker.send({"command": "pause"})
            worker.wait_for(EventType.RUN_PAUSED, self.stop_timeout_s)
            worker.process.send_signal(signal.SIGTERM)
            assert worker.wait(self.stop_timeout_s) == 0, worker.stderr
            assert worker.events()[-1]["type"] == EventType.RUN_CANCELLED

    def test_same_config_gives_the_same_events(self, tmp_path: Path) -> None:
        stories = []
        for name in ("first", "second"):
            with self.start(tmp_path / name, self.tiny_config) as worker:
                assert worker.wait(self.timeout_s) == 0, worker.stderr
                stories.append(self.comparable(worker.events()))
        assert stories[0] == stories[1]

    def test_survives_a_reader_of_its_stdout_who_leaves(self, tmp_path: Path) -> None:
        config_file = tmp_path / "config.json"
        atomic_write_json(config_file, self.tiny_config)
        with (
            (tmp_path / "stderr.txt").open("xb") as stderr,
            subprocess.Popen(
                [self.python, "-m", f"{self.module}.cli", "--config", str(config_file)],
                cwd=tmp_path,
                env=clean_environment(self.environment),
                stdout=subprocess.PIPE,
                stderr=stderr,
            ) as process,
        ):
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["type"] == EventType.WORKER_REGISTERED
            process.stdout.close()
            assert process.wait(self.timeout_s) == 0, (tmp_path / "stderr.txt").read_text()

    def test_reports_its_own_crash(self, tmp_path: Path) -> None:
        if self.crashing_config is None:
            pytest.skip("set crashing_config to test this")
        with self.start(tmp_path, self.crashing_config) as worker:
            assert worker.wait(self.timeout_s) == 1
            assert "Traceback" in worker.stderr
            last = worker.events()[-1]
        assert last["type"] == EventType.RUN_FAILED
        assert last["payload"]["error_type"]
        assert last["payload"]["exit_code"] == 1
        assert "Traceback" in last["payload"]["traceback"]

    def test_sends_heartbeats(self, tmp_path: Path) -> None:
        with self.start_long(tmp_path, {variables.HEARTBEAT_S: "0.1"}) as worker:
            beat = worker.wait_for(EventType.HEARTBEAT, self.stop_timeout_s, count=3)
            assert {"steps", "episodes", "rss_mb", "steps_per_second"} <= set(beat["payload"])

    def start(
        self, folder: Path, config: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> WorkerProcess:
        told = {**self.environment, **(environment or {})}
        return WorkerProcess(self.module, folder, config, python=self.python, environment=told)

    def start_long(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        is_waiting: bool = True,
    ) -> WorkerProcess:
        """The long run, already reporting."""
        if self.long_config is None:
            pytest.skip("set long_config to test this")
        worker = self.start(folder, self.long_config, environment)
        try:
            if is_waiting:
                poll(lambda: _has_sample(worker), self.timeout_s, "the first sample")
        except BaseException:
            worker.__exit__(None, None, None)
            raise
        return worker

    def call(self, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=folder,
            env=clean_environment(self.environment),
            capture_output=True,
            text=True,
            timeout=self.timeout_s,
            check=False,
        )

    def describe(self, folder: Path) -> WorkerCapabilities:
        done = self.call([self.python, "-m", f"{self.module}.cli", "--describe"], folder)
        assert done.returncode == 0, done.stderr
        return WorkerCapabilities.from_dict(json.loads(done.stdout))

    def comparable(self, events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The samples without what may differ between two equal runs."""
        return [
            {key: value for key, value in event.items() if key not in ("seq", "timestamp")}
            for event in events
            if event["type"] in SAMPLES and event.get("name") not in self.varying_metrics
        ]


def _has_sample(worker: WorkerProcess) -> bool:
    assert worker.process.poll() is None, f"ended too early: {worker.stderr}"
    return any(event["type"] in SAMPLES for event in worker.events())
