"""Reads W&B runs from their logs on disk, finished or still growing, without a network."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.analytics.byte_budget import ByteBudget
from mosaic.analytics.growing_records import MAX_RECORD_BYTES
from mosaic.analytics.leveldb_log import LevelDbLog
from mosaic.analytics.series import Series
from mosaic.analytics.wandb_records import WandbDecoder, WandbRun
from mosaic.errors import StoreError

_LOGS = "run-*.wandb"
_RUN_FOLDERS = ("offline-run-*", "run-*")


@dataclass
class WandbNews:
    """What is new in one log."""

    series: dict[str, Series] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[StoreError] = field(default_factory=list)
    # The log was replaced or cut: what was handed out before is void.
    is_restarted: bool = False


class WandbReader:
    """One run: its `.wandb` file, or the folder that holds it.

    `run` is what is known about the run so far; `read_new` hands out its history. A log that
    cannot be read raises a StoreError that names it; a damaged part of it is one of `problems`.
    """

    def __init__(
        self, log_or_folder: Path | str, *, max_record_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        self.path = _log_in(Path(log_or_folder))
        self.has_more = False
        self._log = LevelDbLog(self.path, max_record_bytes=max_record_bytes)
        self._decoder = WandbDecoder()

    @property
    def run(self) -> WandbRun:
        return self._decoder.run

    def read_new(self, max_bytes: int | None = None) -> WandbNews:
        """What was added since the last call; nothing when there is no such file (any more).

        With `max_bytes`, about that much is read at most and `has_more` says whether to ask again.
        """
        news = WandbNews()
        budget = ByteBudget(max_bytes)
        has_more = True
        while has_more and budget.has_room():
            start = self._log.offset
            batch = self._log.next_batch()
            budget.use(self._log.offset - start)
            has_more = batch.has_more
            if batch.is_restarted:
                # A log that changes again while it is read has to wait for the next call.
                has_more = not news.is_restarted
                news = WandbNews(is_restarted=True)
                self._decoder = WandbDecoder()
            news.problems.extend(batch.problems)
            for record in batch.records:
                self._decoder.apply(record, news.series, news.skipped)
        self.has_more = budget.is_used_up
        return news


def find_logs(folder: Path | str) -> list[Path]:
    """The logs of the runs in a `wandb` folder, or in the folder around it, oldest first."""
    root = Path(folder)
    inner = root / "wandb"
    if inner.is_dir():
        root = inner
    logs = {log for pattern in _RUN_FOLDERS for log in root.glob(f"{pattern}/{_LOGS}")}
    # The folder's name holds the date: run-<date>_<time>-<id>.
    return sorted(logs, key=lambda log: (log.parent.name.removeprefix("offline-"), log.name))


def latest_log(folder: Path | str) -> Path | None:
    """The log that the link `latest-run` leads to, else that of the youngest run."""
    root = Path(folder)
    for link in (root / "latest-run", root / "wandb" / "latest-run"):
        if link.is_dir():
            return next(iter(sorted(link.resolve().glob(_LOGS))), None)
    return next(reversed(find_logs(root)), None)


def _log_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    logs = sorted(path.glob(_LOGS))
    if len(logs) != 1:
        raise StoreError(
            f"{path} holds {len(logs)} W&B logs ({_LOGS}), not one",
            hint="name the log itself",
            path=str(path),
        )
    return logs[0]
