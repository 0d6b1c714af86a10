"""TensorBoardWriter: event files that TensorBoard reads, written without TensorBoard.

A sample costs the training an append to a list; a thread packs and writes once a second. A disk
that is full or hangs never stops the training: what could not be written is tried again, and what
would fill the memory meanwhile is dropped and counted.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from mosaic.contracts.tensorboard_records import (
    Sample,
    ScalarRecords,
    file_start,
    session_start,
    text_summary,
)
from mosaic.errors import ConfigError
from mosaic.logs import get_logger

FLUSH_INTERVAL_S = 1.0
CLOSE_TIMEOUT_S = 10.0
MAX_BUFFERED_SAMPLES = 200_000
MAX_UNWRITTEN_BYTES = 16 * 1024 * 1024

log = get_logger(__name__)

Item = TypeVar("Item")


class TensorBoardWriter:
    """One event file in `directory`.

    A resumed training gives `purge_from`, the first step it will log: TensorBoard then drops what
    an older file of the directory says about that step and later ones.
    """

    def __init__(
        self,
        directory: Path,
        *,
        purge_from: int | None = None,
        flush_interval_s: float = FLUSH_INTERVAL_S,
    ) -> None:
        self.dropped = 0
        self._samples: list[Sample] = []
        self._texts: list[bytes] = []
        self._records = ScalarRecords()
        self._unwritten = bytearray(file_start())
        if purge_from is not None:
            self._unwritten += session_start(purge_from)
        self._is_failing = False
        self._is_open = True
        self._writing = threading.Lock()
        self._closing = threading.Event()
        self._flush_interval_s = flush_interval_s
        self.path, self._fd = _create_event_file(directory)
        self.flush()
        self._thread = threading.Thread(target=self._keep_flushing, name="tensorboard", daemon=True)
        self._thread.start()

    def scalar(self, name: str, value: float, step: int) -> None:
        samples = self._samples
        if len(samples) < MAX_BUFFERED_SAMPLES:
            # Converted here: a tensor could hold another value by the time it is packed.
            samples.append((name, float(value), step, time.time()))
        else:
            self.dropped += 1

    def text(self, name: str, text: str, step: int = 0) -> None:
        """Markdown for the Text page, under the tag that torch's writer would give it."""
        self._texts.append(text_summary(f"{name}/text_summary", text, step))

    def hyperparameters(self, values: Mapping[str, Any]) -> None:
        """The table CleanRL's runs show under this name."""
        self.text("hyperparameters", markdown_table(values))

    def flush(self) -> None:
        with self._writing:
            if self._is_open:
                self._pack()
                self._write()

    def close(self) -> None:
        if not self._is_open:
            return
        self._closing.set()
        self._thread.join(CLOSE_TIMEOUT_S)
        is_hanging = self._thread.is_alive()
        if not is_hanging:
            self.flush()
            os.close(self._fd)
        self._is_open = False
        if is_hanging or self.dropped or self._unwritten:
            log.warning(
                "tensorboard.samples_lost",
                path=str(self.path),
                dropped=self.dropped,
                unwritten_bytes=len(self._unwritten),
            )

    def _keep_flushing(self) -> None:
        while not self._closing.wait(self._flush_interval_s):
            self.flush()

    def _pack(self) -> None:
        for text in _taken(self._texts):
            self._unwritten += text
        samples = _taken(self._samples)
        if len(self._unwritten) < MAX_UNWRITTEN_BYTES:
            self._unwritten += self._records.pack(samples)
        else:
            self.dropped += len(samples)

    def _write(self) -> None:
        try:
            while self._unwritten:
                # A record cut in two by a full disk is completed by the next write.
                del self._unwritten[: os.write(self._fd, self._unwritten)]
        except OSError as error:
            if not self._is_failing:
                log.warning("tensorboard.write_failed", path=str(self.path), error=error.strerror)
            self._is_failing = True
        else:
            self._is_failing = False


def markdown_table(values: Mapping[str, Any]) -> str:
    rows = [f"|{_cell(name)}|{_cell(value)}|" for name, value in values.items()]
    return "\n".join(["|param|value|", "|-|-|", *rows])


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _taken(items: list[Item]) -> list[Item]:
    """Empties the list of what it holds now; the training may append at any moment."""
    count = len(items)
    taken = items[:count]
    del items[:count]
    return taken


def _create_event_file(directory: Path) -> tuple[Path, int]:
    """Always a new file, even for two writers of one process within a second."""
    start = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            path = directory / f"{start}.{number}"
            with contextlib.suppress(FileExistsError):
                return path, os.open(path, flags, 0o644)
    except OSError as error:
        raise ConfigError(
            f"'tensorboard_dir': {directory} cannot be written: {error.strerror}",
            hint="choose another folder",
            field="tensorboard_dir",
        ) from error
    raise AssertionError("unreachable")
