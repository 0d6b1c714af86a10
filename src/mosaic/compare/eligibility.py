"""Which runs may be compared with each other, and which of them count. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mosaic.compare.curves import Curve, has_diverged
from mosaic.compare.groups import RunGroup
from mosaic.compare.published import task_name
from mosaic.compare.recipes import worker_settings
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.errors import RequestError

# A failed run that came this far is taken for a whole one.
_WHOLE = 0.95
# A series that ends as near as this to the end of its run counts the same steps.
_SAME_COUNT = 0.5


def environment_of(run: RunRecord) -> str:
    return run.env_id or str(worker_settings(run.config).get("env_id") or "")


def check_environments(groups: Sequence[RunGroup]) -> tuple[str, list[str]]:
    """Refuses to compare returns of different tasks; other versions of a task are a warning."""
    found: dict[str, list[str]] = {}
    for group in groups:
        for run in group.runs:
            found.setdefault(environment_of(run), []).append(run.run_name)
    known = [name for name in found if name]
    if len({task_name(name) for name in known}) > 1:
        listed = "; ".join(f"{name}: {', '.join(found[name][:3])}" for name in known[:5])
        raise RequestError(
            f"The runs are of {len(known)} environments and cannot be compared ({listed})",
            hint="compare runs of one environment",
            field="env_id",
        )
    warnings = []
    if len(known) > 1:
        warnings.append(
            f"{' and '.join(known)} are different versions of an environment: "
            "a difference may come from them alone."
        )
    if known and "" in found:
        warnings.append(f"The environment of {', '.join(found[''][:5])} is not known.")
    return " / ".join(known), warnings


def with_ends(groups: Sequence[RunGroup], curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Curves that know how far their runs came: the last episode ends a little before the run."""
    found = dict(curves)
    for group in groups:
        for run in group.runs:
            curve, steps = curves[run.run_id], float(run.progress.steps)
            # A metric may count something else than steps; then it ends where it ends.
            if curve.last_step >= _SAME_COUNT * steps:
                found[run.run_id] = replace(curve, ended_at=steps)
    return found


def reasons_to_leave_out(
    groups: Sequence[RunGroup], curves: Mapping[str, Curve], last: int
) -> dict[str, str]:
    """Runs that do not count, with the reason."""
    runs = [run for group in groups for run in group.runs]
    longest = max((curves[run.run_id].finite().last_step for run in runs), default=0.0)
    reasons: dict[str, str] = {}
    for run in runs:
        curve = curves[run.run_id]
        if curve.is_empty:
            reasons[run.run_id] = "no value" if not len(curve.steps) else "no finite value"
        elif has_diverged(curve.values[-last:]):
            reasons[run.run_id] = "diverged: its last values are not numbers"
    failed = [
        run
        for run in runs
        if run.outcome is Outcome.FAILED
        and run.run_id not in reasons
        and curves[run.run_id].last_step < _WHOLE * longest
    ]
    for run in failed:
        why = run.failure.message if run.failure else str(run.outcome)
        reasons[run.run_id] = f"failed at step {curves[run.run_id].last_step:,.0f} ({why[:120]})"
    return reasons


def left_out_warnings(groups: Sequence[RunGroup], remarks: Mapping[str, str]) -> list[str]:
    """Who is missing, since a group without its failures looks better than it is."""
    warnings = []
    for group in groups:
        left = [run for run in group.runs if run.run_id in remarks]
        if not left:
            continue
        reasons = "; ".join(f"{run.run_name}: {remarks[run.run_id]}" for run in left[:5])
        reasons += f"; and {len(left) - 5} more" if len(left) > 5 else ""
        if len(left) == len(group.runs):
            warnings.append(f"{group.label} is left out: no run of it counts ({reasons}).")
        else:
            warnings.append(
                f"{len(left)} of {len(group.runs)} runs of {group.label} not counted ({reasons}); "
                "the others may make it look better than it is."
            )
    return warnings
