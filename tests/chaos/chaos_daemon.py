"""A daemon to be mistreated, and the four invariants that must hold once the test is over:

no process of it anywhere, shared memory and slots as before, a sound registry, and the canary
secret that every run carries in no file.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mosaic.contracts.run_files import AttemptFiles, LiveRecord
from mosaic.errors import MosaicError, RunStateError
from mosaic.files import read_json
from mosaic.runhost.control_groups import group_name, planned_groups, remove_group
from tests.chaos.descendants import no_process_left
from tests.daemon_harness import DaemonHarness
from tests.waiting import wait_until

SLEEPER = "import time; time.sleep(600)"


class ChaosDaemon(DaemonHarness):
    def __init__(self, root: Path, **environment: str) -> None:
        super().__init__(root, **environment)
        self.canary = f"canary-{secrets.token_hex(12)}"

    def submit(self, **changes: Any) -> str:
        return super().submit(**self.with_canary(changes))

    def with_canary(self, changes: dict[str, Any]) -> dict[str, Any]:
        environment = {"WANDB_API_KEY": self.canary, **changes.get("environment", {})}
        return {**changes, "environment": environment}

    def submit_python(self, program: str, *arguments: str, **changes: Any) -> str:
        return self.submit(**{**python_run(program, *arguments), **changes})

    def attempt(self, run_id: str, number: int = 1) -> AttemptFiles:
        return self.home.run(run_id).attempt(number)

    def live(self, run_id: str, number: int = 1) -> LiveRecord:
        """Who hosts and who executes an attempt, as soon as its run host has said so."""
        path = self.attempt(run_id, number).live
        return LiveRecord.from_dict(wait_until(lambda: read_json(path), 30, str(path)))

    def output(self, run_id: str) -> str:
        logs = self.home.run(run_id).logs.glob("*.stdout.log")
        return "".join(path.read_text(errors="replace") for path in logs)

    def wait_for_output(self, run_id: str, text: str) -> str:
        wait_until(lambda: text in self.output(run_id), 30, f"{text!r} from {run_id}")
        return self.output(run_id)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Every record of this event in the daemon's log."""
        lines = self.home.daemon_log.read_text().splitlines()
        entries = [json.loads(line) for line in lines if line.startswith("{")]
        return [entry for entry in entries if entry["event"] == event]

    def mosaic(self, *arguments: str) -> list[str]:
        """The command line of `mosaic …`; run it with `environment`."""
        return [sys.executable, "-m", "mosaic.cli", *arguments]

    def end_all_runs(self) -> None:
        if self.process is None or self.process.poll() is not None:
            self.start()
        unfinished = [run.run_id for run in self.client.list_runs() if not run.is_over]
        for run_id in unfinished:
            with contextlib.suppress(RunStateError):  # it has just ended
                self.client.stop_run(run_id, grace_s=0)
        for run_id in unfinished:
            self.wait_over(run_id)

    def assert_slots_free(self) -> None:
        health = self.client.health()
        assert (health.live_runs, health.queued_runs) == (0, 0)
        assert health.cpus_free == health.cpus_total
        assert health.memory_mb_free == health.memory_mb_total

    def assert_nothing_left(self) -> None:
        super().assert_nothing_left()
        groups = [group for group in self.control_groups() if group.exists()]
        assert not groups, f"control groups left behind: {groups}"
        told = self.files_containing(self.canary.encode())
        assert not told, f"the canary secret is in {told}"

    def control_groups(self) -> list[Path]:
        """Those that the attempts of this home have or had."""
        attempts = self.home.runs.glob("*/attempts/*")
        names = [group_name(path.parents[1].name, int(path.name)) for path in attempts]
        return [Path(group) for name in names for group in planned_groups(name)]

    def remove_control_groups(self) -> None:
        """As a reboot does; for attempts that were made to look like those of an earlier boot."""
        for group in self.control_groups():
            wait_until(partial(remove_group, str(group)), 5, f"{group} to be empty")

    def secret_files(self) -> list[Path]:
        return [path for name in self.shared_memory() for path in Path("/dev/shm", name).iterdir()]


@contextmanager
def chaos_daemon(
    kind: type[ChaosDaemon] = ChaosDaemon, /, **environment: str
) -> Iterator[ChaosDaemon]:
    with (
        tempfile.TemporaryDirectory(prefix="mosaic-chaos-") as folder,
        no_process_left(),
    ):
        daemon = kind(Path(folder), **environment)
        try:
            daemon.start()
            yield daemon
            daemon.end_all_runs()
            daemon.assert_slots_free()
        finally:
            # Whatever fails here must not take the place of what failed before.
            with contextlib.suppress(AssertionError, MosaicError):
                daemon.end_all_runs()
            daemon.close()
        daemon.assert_nothing_left()


def python_run(program: str, *arguments: str) -> dict[str, Any]:
    """The cheapest worker there is: a line of Python, without `site`."""
    return {
        "entry_point": sys.executable,
        "arguments": ["-I", "-S", "-c", program, *arguments],
        "resources": {"cpus": 1, "memory_mb": 256},
    }
