"""A comparison from the runs of a client: what the terminal and the workbench both show."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mosaic.compare.comparison import Comparison, compare
from mosaic.compare.eligibility import check_environments, with_ends
from mosaic.compare.groups import RunGroup
from mosaic.compare.loading import History, Loader
from mosaic.compare.published import UNCHECKED
from mosaic.compare.reference import reference_checks
from mosaic.compare.report import group_labels


def build_comparison(
    history: History,
    groups: Sequence[RunGroup],
    *,
    metric: str | None = None,
    last: int | None = None,
    is_lower_better: bool = False,
    tells_unchecked: bool = False,
) -> Comparison:
    """`tells_unchecked`: also where no published value can be compared with, and why."""
    check_environments(groups)  # before anything is read
    loader = Loader(history, metric)
    loaded = loader.load([run.run_id for group in groups for run in group.runs])
    curves = with_ends(groups, loaded)
    question = loader.question(last, is_lower_better)
    comparison = compare(question, groups, curves, loader.tail)
    names = {run.run_id: run.run_name for group in groups for run in group.runs}
    warnings = (*comparison.warnings, *loader.remarks(names))
    comparison = dataclasses.replace(comparison, warnings=warnings)
    if not loader.measures_returns:
        return comparison
    checks = reference_checks(comparison, groups, curves, loader.tail, loader.kind)
    if not tells_unchecked:
        checks = tuple(check for check in checks if check.verdict != UNCHECKED)
    return dataclasses.replace(comparison, checks=checks)


def title_of(comparison: Comparison) -> str:
    labels = group_labels(comparison.groups)
    return f"{labels} on {comparison.environment}" if comparison.environment else labels
