"""What a run has written for TensorBoard, and the TensorBoard that shows it. Both block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mosaic.analytics.media import MediaView
from mosaic.analytics.tensorboard.logs import (
    LogTree,
    NamedLog,
    tensorboard_command,
    tensorboard_logs,
)
from mosaic.analytics.tensorboard.reader import ScalarReader, event_files
from mosaic.analytics.tensorboard.scalars import RunScalars
from mosaic.analytics.tensorboard.server import TensorBoardServer
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError
from mosaic.front.human import amount, count, decimal, size
from mosaic.front.references import LocalRun, local_run
from mosaic.gui.tabs.model import Column, Row

# One look reads no more than this; the next one continues from there.
LOOK_BYTES = 32_000_000
_MOST_PROBLEMS = 3
TAG_COLUMNS = (
    Column("Tag", is_wide=True),
    Column("Points", is_number=True),
    Column("Last value", is_number=True),
)


@dataclass
class _Tag:
    points: int = 0
    step: int = 0
    value: float = 0.0


@dataclass(frozen=True)
class LogFacts:
    folders: tuple[Path, ...]
    files: int
    bytes: int
    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    command: str
    has_more: bool
    media: MediaView = field(default_factory=MediaView)

    @property
    def summary(self) -> str:
        found = f"{amount(self.files, 'event file')}, {size(self.bytes)}"
        tags = amount(len(self.rows), "tag")
        return f"{found}, {tags}" + (" so far (still reading)" if self.has_more else "")


class LogReader:
    """The event files of one run; each `read` adds what was written since."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._readers: dict[Path, ScalarReader] = {}
        self._tags: dict[str, _Tag] = {}
        self._problems: list[str] = []

    def read(self) -> LogFacts:
        run = local_run(self._record)
        logs = _logs_of(run)
        has_more = False
        media = MediaView()
        for log in logs:
            reader = self._readers.setdefault(
                log.folder, ScalarReader(log.folder, wants_media=True)
            )
            for name, news in reader.read_new(LOOK_BYTES).items():
                self._take("" if name == "." else f"{name}/", news)
            has_more = has_more or reader.has_more
            media |= reader.media()
        sizes = [size for log in logs for size in _event_file_sizes(log.folder)]
        return LogFacts(
            tuple(log.folder for log in logs),
            len(sizes),
            sum(sizes),
            tuple(
                Row(
                    tag,
                    (tag, count(one.points), decimal(one.value)),
                    help=f"{tag}: last at step {count(one.step)}",
                )
                for tag, one in sorted(self._tags.items())
            ),
            tuple(self._problems[:_MOST_PROBLEMS]),
            tensorboard_command(logs) if logs else "",
            has_more,
            media,
        )

    def _take(self, prefix: str, news: RunScalars) -> None:
        if news.is_restarted:
            self._tags = {tag: one for tag, one in self._tags.items() if not tag.startswith(prefix)}
        self._problems += [problem.message for problem in news.problems]
        for tag, series in news.series.items():
            if len(series):
                one = self._tags.setdefault(prefix + tag, _Tag())
                one.points += len(series)
                one.step, one.value = series.steps[-1], series.values[-1]


class BoardState(StrEnum):
    OFF = "off"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"


class Board:
    """One TensorBoard at a time, on this machine only. `start` blocks; the rest does not, much."""

    def __init__(
        self, make_server: Callable[[LogTree], TensorBoardServer] = TensorBoardServer
    ) -> None:
        self._make_server = make_server
        self._lock = threading.Lock()
        self._server: TensorBoardServer | None = None
        self._is_closed = False

    @property
    def is_running(self) -> bool:
        server = self._server
        return server is not None and server.is_running

    def start(self, record: RunRecord) -> str:
        """The address; whatever was shown before ends. For a thread of its own."""
        run = local_run(record)
        logs = _logs_of(run)
        if not logs:
            raise RequestError(
                f"{record.run_name} has no event files",
                hint="they appear when the training has logged something",
            )
        self.stop()
        tree = LogTree()
        for log in logs:
            tree.add(log.name, log.folder)
        server = self._make_server(tree)
        with self._lock:
            if self._is_closed:
                tree.remove()
                raise RequestError("The window is closed")
            self._server = server
        try:
            return server.start()
        finally:
            if self._is_closed:
                server.stop()

    def stop(self) -> None:
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.stop()

    def close(self) -> None:
        """For good. One that is just starting ends in the thread that starts it."""
        self._is_closed = True
        with self._lock:
            server = self._server
        if server is not None and server.url:
            self.stop()
        elif server is not None:
            server.ask_to_end()


def _logs_of(run: LocalRun) -> list[NamedLog]:
    return tensorboard_logs(
        run.record.run_name,
        run.directory,
        run.manifest,
        is_over=run.record.is_over,
        may_leave=run.may_leave,
    )


def _event_file_sizes(folder: Path) -> list[int]:
    found = []
    for path in event_files(folder):
        try:
            found.append(path.stat().st_size)
        except OSError:
            continue
    return found
