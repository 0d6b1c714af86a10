"""The reference check of each group of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mosaic.compare.comparison import Comparison, Tail
from mosaic.compare.curves import Curve
from mosaic.compare.eligibility import environment_of
from mosaic.compare.groups import RunGroup
from mosaic.compare.published import (
    TRAINING,
    UNCHECKED,
    ReferenceCheck,
    check,
    find_published,
)
from mosaic.compare.recipes import worker_settings
from mosaic.compare.statistics import estimate

# As published tables are made, whatever a comparison looks at.
_EPISODES = 100


def reference_checks(
    comparison: Comparison,
    groups: Sequence[RunGroup],
    curves: Mapping[str, Curve],
    tail: Tail,
    kind: str = TRAINING,
) -> tuple[ReferenceCheck, ...]:
    """One per group, at the step the published value is of."""
    counted = {
        group.label: [run.run_id for run in group.runs if run.final is not None]
        for group in comparison.groups
    }
    return tuple(
        _check_group(group, counted[group.label], curves, tail, kind)
        for group in groups
        if group.label in counted
    )


def _check_group(
    group: RunGroup, run_ids: Sequence[str], curves: Mapping[str, Curve], tail: Tail, kind: str
) -> ReferenceCheck:
    run = group.runs[0]
    settings = worker_settings(run.config)
    steps = min(curves[run_id].last_step for run_id in run_ids)
    algorithm = str(settings.get("algo") or "")
    published = find_published(algorithm, environment_of(run), steps, kind)
    if isinstance(published, str):
        return ReferenceCheck(group.label, UNCHECKED, f"{group.label}: {published}")
    finals = [
        values[np.isfinite(values)].mean()
        for run_id in run_ids
        if np.isfinite(values := tail(run_id, _EPISODES, float(published.steps))).any()
    ]
    if not finals:
        reason = f"{group.label}: no value up to step {published.steps:,}."
        return ReferenceCheck(group.label, UNCHECKED, reason)
    extras = settings.get("extras")
    changed = extras.get("algo_params") if isinstance(extras, Mapping) else None
    measured = estimate(np.array(finals), np.mean)
    return check(group.label, published, measured, len(finals), sorted(changed or ()))
