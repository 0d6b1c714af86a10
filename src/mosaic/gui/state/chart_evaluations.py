"""Which runs evaluated another one, and at which of its steps that is a point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.history import MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.state.chart_picture import Evaluations
from mosaic.gui.state.curve import numbers

# A config is read for each: of the newest so many, not of all there ever were.
MAX_CANDIDATES = 40
_STEP = re.compile(r"(?:step|global_step|ckpt)[-_=]?(\d+)")


@dataclass(frozen=True)
class Lineage:
    """What a run was made from; `parent` is empty for a run that begins anew."""

    parent: str = ""
    is_evaluation: bool = False
    step: int | None = None  # of the checkpoint; None: the parent's last


def candidates(
    shown: Iterable[RunRecord], newest_first: Iterable[RunRecord], known: Mapping[str, Lineage]
) -> list[str]:
    """Runs whose config must be read to know whether they evaluated one of those shown."""
    shown = list(shown)
    if not shown:
        return []
    oldest = min(record.run_id for record in shown)
    places = {(record.worker, record.env_id) for record in shown}
    found = []
    for record in newest_first:
        if record.run_id < oldest:
            break  # nothing can have evaluated a run before there was one
        is_likely = record.is_over and record.progress.mean_return is not None
        if (
            is_likely
            and not record.group
            and record.run_id not in known
            and (record.worker, record.env_id) in places
        ):
            found.append(record.run_id)
    return found[:MAX_CANDIDATES]


def lineage_of(record: RunRecord) -> Lineage:
    """From a whole record."""
    metadata = _mapping(record.config.get("metadata"))
    parent = _mapping(metadata.get("lineage")).get("parent_run")
    if not isinstance(parent, str):
        return Lineage()
    extras = _mapping(_mapping(_mapping(metadata.get("worker")).get("config")).get("extras"))
    is_evaluation = "eval" in str(extras.get("mode", ""))
    found = _STEP.search(str(extras.get("policy_path", "")).rpartition("/")[2])
    return Lineage(parent, is_evaluation, int(found[1]) if found else None)


def evaluations_of(
    parent: RunRecord,
    lineages: Mapping[str, Lineage],
    records: Mapping[str, RunRecord],
    own: MetricSeries | None,
) -> Evaluations | None:
    """Of runs that evaluated its checkpoints, and what the run measured itself in between."""
    points: list[tuple[float, float]] = []
    if own is not None:
        points += zip(own.last_steps, own.means, strict=True)
    for run_id, lineage in lineages.items():
        record = records.get(run_id)
        if lineage.parent == parent.run_id and lineage.is_evaluation and record is not None:
            value = record.progress.mean_return
            step = lineage.step if lineage.step is not None else parent.progress.steps
            if value is not None:
                points.append((step, value))
    if not points:
        return None
    points.sort()
    return Evaluations(numbers([x for x, _ in points]), numbers([y for _, y in points]))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
