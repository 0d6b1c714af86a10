"""Secrets that must not leak, callers that must not get in (faults 20 and 27)."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from pathlib import Path

import pytest

from mosaic.errors import ConfigError
from tests.chaos.announced_workers import announce_workers, emitting, printing
from tests.chaos.chaos_daemon import chaos_daemon
from tests.chaos.figures import record
from tests.daemon_harness import MISBEHAVING, run_document
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos


class CommandLineWatch:
    """Looks at the command lines of all processes, and the environment of run hosts, all the time.

    While it runs, a worker's own environment holds its secrets: that is how it gets them.
    """

    def __init__(self, needle: bytes) -> None:
        self._needle = needle
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.looks = 0
        self.found: list[str] = []

    def __enter__(self) -> CommandLineWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(0.02):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    self._look_at(entry)
            self.looks += 1

    def _look_at(self, process: Path) -> None:
        try:
            command = (process / "cmdline").read_bytes()
            if b"runhost/__main__.py" in command or b"mosaic.daemon" in command:
                command += (process / "environ").read_bytes()
        except OSError:
            return  # it is gone
        if self._needle in command:
            self.found.append(command.replace(b"\0", b" ").decode(errors="replace"))


def leaking_runs(variable: str) -> list[dict[str, object]]:
    """Every kind of worker, each telling its secret in every way it has, and crashing with it."""
    return [
        emitting(steps=10, leaked_variable=variable),
        printing("prints_secret", variable),
        {"entry_point": "python", "arguments": ["-m", f"{MISBEHAVING}.prints_secret", variable]},
    ]


@pytest.mark.parametrize("variable", ["WANDB_API_KEY", "MY_LICENCE"])
def test_secret_reaches_the_worker_and_nothing_else(variable: str) -> None:
    # A quote and a backslash: it looks different wherever it stands in JSON.
    value = f'sk-"{secrets.token_hex(12)}\\{secrets.token_hex(4)}'
    retry = {"max_attempts": 3, "backoff_seconds": 0.5}
    with chaos_daemon(MOSAIC_SECRET_ENV="MY_LICENCE") as daemon:
        announce_workers(daemon.home)
        with CommandLineWatch(value.encode()) as watch:
            runs = [
                daemon.submit(environment={variable: value}, retry=retry, **changes)
                for changes in leaking_runs(variable)
            ]
            for run_id in runs:
                wait_until(lambda run_id=run_id: daemon.client.get_run(run_id).attempt, 20, run_id)
            daemon.kill()
            daemon.start()
            records = [daemon.wait_over(run_id, timeout_s=60) for run_id in runs]
        for item in records:
            # A launch that the kill of the daemon undid before the worker was started is no fault.
            faults = [step for step in item.transitions if step.state == "FAULT"]
            assert (len(faults), item.outcome) == (3, "failed")
        assert not watch.found
        digest = hashlib.sha256(value.encode()).hexdigest()
        outputs = daemon.home.run(runs[0]).directory / "outputs"
        assert {path.read_text() for path in outputs.glob("received-*")} == {digest}
        for item in records:
            text = str(daemon.client.get_run(item.run_id).to_dict())
            assert not spellings_in(value, text.encode()), text
        with pytest.raises(ConfigError) as refused:
            daemon.client.start_run(run_document(config={"api_key": value}))
        assert value not in str(refused.value.to_dict())
        daemon.stop()
        searched = assert_nowhere(value, [daemon.home.root, daemon.home.runtime, Path("/dev/shm")])
        daemon.start()
        record(
            "20",
            f"{variable} printed, journalled and raised by {len(runs)} workers in 3 attempts each, "
            f"daemon killed in between: 0 hits in {searched} files and {watch.looks} looks at all "
            "command lines; the worker received it",
        )


def spellings_in(value: str, content: bytes) -> list[bytes]:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    # Half of it would be half a leak: the part in front of the backslash counts, too.
    pieces = {value, escaped, repr(value)[1:-1], value.partition("\\")[0][4:]}
    return [piece.encode() for piece in pieces if piece.encode() in content]


def assert_nowhere(value: str, folders: list[Path]) -> int:
    """Returns how many files were searched."""
    searched = 0
    for folder in folders:
        for path in folder.rglob("*") if folder.exists() else ():
            if path.is_file() and not path.is_symlink():
                assert not spellings_in(value, path.read_bytes()), f"a secret is in {path}"
                searched += 1
            assert not spellings_in(value, os.fsencode(path.name))
    return searched
