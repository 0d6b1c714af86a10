"""Everything a comparison says, from groups of runs and their curves. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mosaic.compare.curves import (
    SMOOTHING,
    Curve,
    Floats,
    common_range,
    matrix,
    mean_over_range,
    step_grid,
)
from mosaic.compare.groups import (
    ConfigDifference,
    RunGroup,
    check_environments,
    differences,
    equalities,
    left_out_warnings,
    reasons_to_leave_out,
    seed_of,
)
from mosaic.compare.published import ReferenceCheck
from mosaic.compare.statistics import (
    CONFIDENCE,
    RESAMPLES,
    Band,
    Summary,
    band,
    estimate_text,
    seeds_text,
    summarize,
)
from mosaic.compare.verdicts import PairVerdict, compare_pairs
from mosaic.contracts.metrics import mean_of
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError

# A range that is shorter than the longest run by less than this is not worth a remark.
_WORTH_SAYING = 0.98

_MANY_PAIRS = (
    "; p-values are corrected for the number of pairs (Benjamini-Hochberg): of the differences "
    "told, at most one in twenty is expected to be none."
)
_MOST_NAMES = 5

# The last values of a run up to a step: (run id, how many, last step).
Tail = Callable[[str, int, float], Floats]


@dataclass(frozen=True)
class Question:
    """What is asked of the runs."""

    metric: str
    last: int
    is_lower_better: bool = False
    # What one value is, in the words of the report: "episode" or "value".
    unit: str = "episode"


@dataclass(frozen=True)
class RunRow:
    run_id: str
    run_name: str
    seed: int | None
    outcome: str
    steps: float
    points: int
    final: float | None  # None: the run does not count
    remark: str = ""


@dataclass(frozen=True)
class GroupResult:
    label: str
    runs: tuple[RunRow, ...]
    final: Summary
    area: Summary
    curve: Band
    seed_curves: Floats = field(repr=False)

    @property
    def seeds(self) -> int:
        return len(self.final.seeds)


@dataclass(frozen=True)
class Comparison:
    question: Question
    environment: str
    grid: Floats
    groups: tuple[GroupResult, ...]
    pairs: tuple[PairVerdict, ...]
    differences: tuple[ConfigDifference, ...]
    equalities: tuple[ConfigDifference, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    checks: tuple[ReferenceCheck, ...] = ()

    @property
    def best(self) -> GroupResult:
        sign = -1 if self.question.is_lower_better else 1
        return max(self.groups, key=lambda group: sign * group.final.iqm.value)

    def headlines(self) -> tuple[str, ...]:
        """The sentences to read first: all pairs of a few groups, else the best one's."""
        if len(self.groups) == 1:
            return (self._of_single_group(self.groups[0]),)
        if len(self.groups) <= 3:
            return tuple(pair.sentence for pair in self.pairs)
        best = self.best.label
        told = [p.second for p in self.pairs if p.first == best and p.is_told_apart]
        mixed = [
            p.second if p.first == best else p.first
            for p in self.pairs
            if best in (p.first, p.second) and not p.is_told_apart
        ]
        lines = [f"{best} has the best final performance of {len(self.groups)} groups."]
        if told:
            lines.append(f"It is better than {_listed(told)}.")
        if mixed:
            lines.append(f"It cannot be told apart from {_listed(mixed)}.")
        return tuple(lines)

    def _of_single_group(self, group: GroupResult) -> str:
        text = (
            f"{group.label} ends at {estimate_text(group.final.iqm)}: "
            f"IQM over {seeds_text(group.seeds)} "
            f"of the last {self.question.last} {self.question.unit}s."
        )
        return text if group.seeds > 1 else f"{text} One seed says nothing about the next."

    def to_dict(self) -> dict[str, Any]:
        """The shape of `mosaic compare --json`."""
        data = plain(asdict(self))
        data["headlines"] = list(self.headlines())
        data["best"] = self.best.label
        return dict(data)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def plain(value: Any) -> Any:
    """Arrays as lists, so that the rest is what JSON knows."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def compare(
    question: Question, groups: Sequence[RunGroup], curves: Mapping[str, Curve], tail: Tail
) -> Comparison:
    environment, warnings = check_environments(groups)
    warnings += [note for group in groups for note in group.notes]
    remarks = reasons_to_leave_out(groups, curves, question.last)
    counted = [
        (group, [curves[run.run_id] for run in group.runs if run.run_id not in remarks])
        for group in groups
    ]
    warnings += left_out_warnings(groups, remarks)
    present = [(group, kept) for group, kept in counted if kept]
    if not present:
        raise RequestError(
            f"None of the runs has values of {question.metric} that can be compared",
            hint="`mosaic compare RUN --metric NAME` takes another metric",
            reasons=remarks,
        )
    names = {run.run_id: run.run_name for group in groups for run in group.runs}
    begin, end = common_range([curve for _, kept in present for curve in kept], names)
    warnings += _range_warnings(present, end)
    grid = step_grid(begin, end)
    results = tuple(
        _group_result(question, group, kept, remarks, curves, grid, tail) for group, kept in present
    )
    configs = [[run.config for run in group.runs if run.config] for group, _ in present]
    return Comparison(
        question=question,
        environment=environment,
        grid=grid,
        groups=results,
        pairs=tuple(
            compare_pairs(
                [(result.label, np.array(result.final.seeds)) for result in results],
                question.is_lower_better,
            )
        ),
        differences=tuple(differences(configs)),
        equalities=tuple(equalities(configs)),
        warnings=tuple(warnings),
        notes=creation_settings(question, begin, end, len(results)),
    )


def _range_warnings(present: Sequence[tuple[RunGroup, list[Curve]]], end: float) -> list[str]:
    warnings = []
    running = [run.run_name for group, _ in present for run in group.runs if not run.is_over]
    if running:
        listed = ", ".join(running[:5]) + (" and others" if len(running) > 5 else "")
        warnings.append(f"Not over yet, taken as far as they are: {listed}.")
    curves = [curve for _, kept in present for curve in kept]
    longest = max(curve.last_step for curve in curves)
    if end < _WORTH_SAYING * longest:
        names = {run.run_id: run.run_name for group, _ in present for run in group.runs}
        shortest = min(curves, key=lambda curve: curve.last_step)
        warnings.append(
            f"Cut to {end:,.0f} steps, where {names[shortest.run_id]} ends; "
            f"the longest run has {longest:,.0f}."
        )
    return warnings


def _group_result(
    question: Question,
    group: RunGroup,
    kept: Sequence[Curve],
    remarks: Mapping[str, str],
    curves: Mapping[str, Curve],
    grid: Floats,
    tail: Tail,
) -> GroupResult:
    rows = matrix(kept, grid)
    finals = {}
    for curve, row in zip(kept, rows, strict=True):
        values = tail(curve.run_id, question.last, float(grid[-1]))
        mean = mean_of(values.tolist())
        finals[curve.run_id] = float(row[-1]) if mean is None else mean
    return GroupResult(
        label=group.label,
        runs=tuple(_run_row(run, curves[run.run_id], finals, remarks) for run in group.runs),
        final=summarize(np.array([finals[curve.run_id] for curve in kept])),
        area=summarize(mean_over_range(rows, grid)),
        curve=band(rows),
        seed_curves=rows,
    )


def _run_row(
    run: RunRecord, curve: Curve, finals: Mapping[str, float], remarks: Mapping[str, str]
) -> RunRow:
    return RunRow(
        run_id=run.run_id,
        run_name=run.run_name,
        seed=seed_of(run.config),
        outcome=str(run.outcome) if run.outcome else "not over",
        steps=curve.last_step,
        points=curve.points,
        final=finals.get(run.run_id),
        remark=remarks.get(run.run_id, ""),
    )


def creation_settings(question: Question, begin: float, end: float, groups: int) -> tuple[str, ...]:
    percent = f"{CONFIDENCE:.0%}"
    notes = [
        f"Final performance of a seed: the mean of its last {question.last} {question.unit}s "
        f"up to step {end:,.0f}. Area: the mean height of its curve from step {begin:,.0f} on.",
        f"Curves: a running mean over the last {SMOOTHING:.0%} of the steps, then the "
        "interquartile mean (IQM) over seeds at each step. With fewer than four "
        "seeds the IQM is the mean.",
        f"Intervals: {percent} percentile bootstrap over the seeds of each group "
        f"({RESAMPLES:,} resamples, fixed random seed). With a handful of seeds they are too "
        "narrow rather than too wide.",
    ]
    if groups > 1:
        notes.append(
            "P(improvement): the share of pairs of seeds in which the first group is ahead (the "
            "Mann-Whitney statistic). Told apart: p ≤ 0.05 in an exact Mann-Whitney test, or in "
            "Welch's t-test where there are too few seeds for ranks to tell anything"
            + (_MANY_PAIRS if groups > 2 else ".")
        )
    return tuple(notes)
