"""The checkpoints a person can choose from, newest first."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.front.human import age, decimal
from mosaic.gui.state.runs_state import RunsState

_MOST = 200  # nobody scrolls further; the Checkpoints tab has them all


class PolicyChoice(NamedTuple):
    run_id: str
    text: str
    detail: str
    env_id: str


def policy_choices(
    runs: RunsState, *, worker: str = "", env_id: str = "", now: float | None = None
) -> list[PolicyChoice]:
    """Of this worker, in this environment; empty is any."""
    found = []
    for record in runs.newest_first():
        is_wanted = worker in ("", record.worker) and env_id in ("", record.env_id)
        if not record.checkpoint_uri or not is_wanted:
            continue
        parts = [record.env_id] if record.env_id else []
        if record.progress.mean_return is not None:
            parts.append(f"return {decimal(record.progress.mean_return)}")
        parts.append(age(record.finished_at or record.updated_at, now))
        found.append(PolicyChoice(record.run_id, record.run_name, " · ".join(parts), record.env_id))
        if len(found) == _MOST:
            break
    return found
