"""WandbWriter: scalars to Weights & Biases, which can neither hang nor slow the training.

The training appends to a bounded list; a thread feeds a pipe; a process of its own, the sidecar,
talks to W&B. Whatever W&B is too slow for is dropped and counted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.manifest import WandbArtifact
from mosaic.errors import DependencyError
from mosaic.files import read_json, write_all
from mosaic.logs import get_logger

FLUSH_INTERVAL_S = 1.0
CLOSE_TIMEOUT_S = 10.0
MAX_QUEUED_SAMPLES = 20_000
SAMPLES_PER_WRITE = 500
SIDECAR = (sys.executable, "-m", "cleanrl_worker.kit.writers.wandb_sidecar")

log = get_logger(__name__)

Sample = tuple[str, float, int]  # name, value, step


@dataclass(frozen=True)
class WandbSettings:
    project: str
    entity: str | None = None
    name: str | None = None
    run_id: str | None = None  # a resumed training that gives the same id continues the W&B run
    config: Mapping[str, Any] = field(default_factory=dict)


class WandbWriter:
    """Writes below `directory/wandb`; online only when there is an API key."""

    def __init__(
        self,
        directory: Path,
        settings: WandbSettings,
        *,
        command: Sequence[str] = SIDECAR,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
    ) -> None:
        require_wandb()
        self.dropped = 0
        self._settings = settings
        self._close_timeout_s = close_timeout_s
        self._samples: list[Sample] = []
        self._is_open = True
        self._is_lost = False
        self._waking = threading.Event()
        self._closing = False
        directory = directory.absolute()
        folder = directory / "wandb"
        folder.mkdir(parents=True, exist_ok=True)
        self._log_path = folder / "sidecar.log"
        self._identity_path = folder / "sidecar.json"
        environment = sidecar_environment(os.environ, directory)
        self._mode = environment.get("WANDB_MODE", "online")
        with self._log_path.open("ab") as output:
            self._process = subprocess.Popen(
                [*command, str(os.getpid()), str(close_timeout_s)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the training, which then closes this
            )
        self._thread = threading.Thread(target=self._feed, name="wandb", daemon=True)
        self._thread.start()

    def scalar(self, name: str, value: float, step: int) -> None:
        samples = self._samples
        if len(samples) < MAX_QUEUED_SAMPLES and not self._is_lost:
            samples.append((name, float(value), step))
            return
        if not self.dropped and not self._is_lost:
            log.warning("wandb.samples_dropped", reason="W&B is slower than the training")
        self.dropped += 1

    def flush(self) -> None:
        """Send what there is soon; never waits for W&B."""
        self._waking.set()

    def close(self) -> None:
        """Waits for W&B, but not longer than `close_timeout_s`."""
        if not self._is_open:
            return
        self._is_open = False
        deadline = time.monotonic() + self._close_timeout_s
        self._closing = True
        self._waking.set()
        self._thread.join(self._close_timeout_s)
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("wandb.sidecar_killed", waited_s=self._close_timeout_s)
            self._process.kill()
            self._process.wait()
        self._thread.join()  # nobody reads its pipe any more: a write that hung has failed
        self.dropped += len(self._samples)
        if self.dropped:
            log.warning("wandb.samples_lost", dropped=self.dropped, log=str(self._log_path))

    def artifact(self) -> WandbArtifact:
        """For the run's manifest; the URL is known once the sidecar has reached W&B."""
        identity = read_json(self._identity_path) or {}
        return WandbArtifact(
            enabled=True,
            mode=self._mode,
            project=self._settings.project,
            entity=self._settings.entity or "",
            run_id=str(identity.get("run_id") or self._settings.run_id or ""),
            url=str(identity.get("url") or ""),
        )

    # ---- the thread ----------------------------------------------------------------------------

    def _feed(self) -> None:
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        try:
            first = {**asdict(self._settings), "identity_file": str(self._identity_path)}
            write_all(pipe, _line(first))
            while not self._closing:
                self._waking.wait(FLUSH_INTERVAL_S)
                self._waking.clear()
                self._send_samples(pipe)
            self._send_samples(pipe)
            # Said in words: a forked environment may hold the pipe open beyond its closing.
            write_all(pipe, _line({"finish": True}))
        except BrokenPipeError:
            self._is_lost = True
            log.warning("wandb.sidecar_lost", log=str(self._log_path))
        finally:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _send_samples(self, pipe: int) -> None:
        while chunk := self._samples[:SAMPLES_PER_WRITE]:
            write_all(pipe, b"".join(messages(chunk)))
            # Only now: what waits in front of a full pipe still takes up room in the list.
            del self._samples[: len(chunk)]


def messages(samples: Sequence[Sample]) -> Iterator[bytes]:
    """One line for all values of a step.

    A name that comes twice at one step (two episodes ended) begins a new line, as both count.
    """
    last_step = None
    values: dict[str, float] = {}
    for name, value, step in samples:
        if values and (step != last_step or name in values):
            yield _line({"step": last_step, "values": values})
            values = {}
        last_step = step
        values[name] = value
    if values:
        yield _line({"step": last_step, "values": values})


def sidecar_environment(environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Files below the run, and nothing sent anywhere unless the user gave a key or says so."""
    default_mode = {} if environment.get("WANDB_API_KEY") else {"WANDB_MODE": "offline"}
    return {
        "WANDB_ERROR_REPORTING": "false",
        **default_mode,
        **environment,
        "WANDB_DIR": str(directory),
    }


def require_wandb() -> None:
    spec = importlib.util.find_spec("wandb")
    # A folder `wandb` that an earlier run left in the working directory is no package.
    if spec is None or spec.origin is None:
        raise DependencyError(
            "'track' needs the package wandb, which is not installed",
            hint='pip install "mosaic-rl[wandb]"',
            field="track",
        )


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, default=str).encode() + b"\n"
