"""What a run has logged for W&B, read from its own files without network or account."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.analytics.media import MediaView
from mosaic.analytics.wandb.reader import WandbReader, is_offline, wandb_logs
from mosaic.analytics.wandb.records import WandbRun
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import amount, count, decimal, moment
from mosaic.front.references import local_run
from mosaic.gui.tabs.model import Column, Row, object_in
from mosaic.worker.summary import masked

LOOK_BYTES = 32_000_000
VALUE_COLUMNS = (Column("Name", is_wide=True), Column("Value", is_number=True))
HISTORY_COLUMNS = (
    Column("Name", is_wide=True),
    Column("Points", is_number=True),
    Column("Last value", is_number=True),
)
_MOST_PROBLEMS = 3


@dataclass
class _Curve:
    points: int = 0
    step: int = 0
    value: float = math.nan


@dataclass(frozen=True)
class WandbFacts:
    facts: tuple[tuple[str, str, str], ...]
    url: str  # that a browser may open, or empty
    summary: tuple[Row, ...]
    config: tuple[Row, ...]
    history: tuple[Row, ...]
    problems: tuple[str, ...]
    offline_folders: tuple[Path, ...]  # what can be synced
    has_more: bool
    media: MediaView = field(default_factory=MediaView)


class WandbLogReader:
    """The logs of one run; each `read` adds what was written since. Blocks: for a thread."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._reader: WandbReader | None = None
        self._curves: dict[str, _Curve] = {}
        self._problems: list[str] = []

    def read(self) -> WandbFacts | None:
        """None where there is no log yet."""
        run = local_run(self._record)
        logs = wandb_logs(run.directory, run.manifest, may_leave=run.may_leave)
        if not logs:
            return None
        if self._reader is None or self._reader.path != logs[-1]:
            self._reader, self._curves, self._problems = WandbReader(logs[-1]), {}, []
        news = self._reader.read_new(LOOK_BYTES)
        if news.is_restarted:
            self._curves = {}
        self._problems += [problem.message for problem in news.problems]
        for name, series in news.series.items():
            if len(series):
                curve = self._curves.setdefault(name, _Curve())
                curve.points += len(series)
                curve.step, curve.value = series.steps[-1], series.values[-1]
        logged = self._reader.run
        url = run.manifest.wandb.url
        offline = tuple(log.parent for log in logs if is_offline(log))
        return WandbFacts(
            tuple(_facts(self._record, logged, logs, url)),
            web_link(url),
            _values(masked(logged.summary)),
            _values(masked(logged.config)),
            tuple(
                Row(
                    name,
                    (name, count(one.points), decimal(one.value)),
                    help=f"{name}: last at step {count(one.step)}",
                )
                for name, one in sorted(self._curves.items())
            ),
            tuple(self._problems[:_MOST_PROBLEMS]),
            offline,
            self._reader.has_more,
            self._reader.media(),
        )


def facts_of_manifest(record: RunRecord) -> tuple[tuple[str, str, str], ...]:
    """What the manifest alone says, for a run whose log is not there yet."""
    said = object_in(record.manifest, "wandb")
    names = (("Mode", "mode"), ("Project", "project"), ("Entity", "entity"), ("Run", "run_id"))
    return tuple((title, str(said[name]), "") for title, name in names if said.get(name))


def web_link(text: str) -> str:
    """The address if it is one of the web, else nothing: a desktop opens programs and files, too,
    and the manifest of a run may come from anywhere."""
    is_web = text.startswith(("https://", "http://")) and text.isprintable() and " " not in text
    return text if is_web else ""


def advice(facts: WandbFacts) -> str:
    """What to do with it."""
    if facts.url:
        return "The run is on the W&B server."
    if facts.offline_folders:
        return (
            "The run was logged offline: everything is on this disk. Sync uploads it; that needs "
            "an account and a network."
        )
    return "The run logs online; its link appears when W&B has answered."


def _facts(
    record: RunRecord, logged: WandbRun, logs: list[Path], url: str
) -> list[tuple[str, str, str]]:
    said = object_in(record.manifest, "wandb")
    mode = "offline" if is_offline(logs[-1]) else "online"
    lines = (
        ("Mode", mode),
        ("Project", logged.project or str(said.get("project") or "")),
        ("Entity", logged.entity or str(said.get("entity") or "") or "your default one"),
        ("Name", logged.name or logged.run_id or record.run_name),
        ("Link", url),
        ("Started", "" if logged.started_at is None else moment(logged.started_at)),
        ("Ended", "" if logged.exit_code is None else f"exit code {logged.exit_code}"),
        ("Tags", ", ".join(logged.tags)),
        ("Logs", f"{amount(len(logs), 'log')}, the newest shown" if len(logs) > 1 else ""),
        ("Folder", str(logs[-1].parent)),
    )
    return [(name, value, "") for name, value in lines if value]


def _values(values: Mapping[str, Any], prefix: str = "") -> tuple[Row, ...]:
    """What W&B adds by itself, with an underscore, comes last."""
    rows: list[Row] = []
    for name in sorted(values, key=lambda name: (name.startswith("_"), name)):
        value = values[name]
        full = f"{prefix}{name}"
        if isinstance(value, dict):
            rows += _values(value, f"{full}.")
        else:
            shown = decimal(value) if isinstance(value, float) else str(value)
            rows.append(Row(full, (full, shown)))
    return tuple(rows)
