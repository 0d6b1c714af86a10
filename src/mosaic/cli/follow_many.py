"""Following several runs (the seeds of one experiment) to their end, and what they add up to."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mosaic.cli.failures import INTERRUPTED, outcome_status
from mosaic.cli.interruption import certain_interrupt
from mosaic.cli.run_view import progress_line, say_end
from mosaic.cli.terminal import printable, say, say_aside, say_json
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import decimal

if TYPE_CHECKING:
    from mosaic.client import TrainerClient

INTERVAL_S = 5.0


def follow_all(client: TrainerClient, run_ids: Sequence[str], as_json: bool) -> int:
    """One line per run now and then, a summary at the end; the worst outcome is the status."""
    records: dict[str, RunRecord] = {}
    said_at = 0.0
    try:
        with certain_interrupt(say_goodbye):
            for record in client.watch(run_ids):
                records[record.run_id] = record
                if len(records) == len(run_ids) and all(run.is_over for run in records.values()):
                    break
                if not as_json and time.monotonic() - said_at >= INTERVAL_S:
                    said_at = time.monotonic()
                    say_progress(records.values())
    except KeyboardInterrupt:
        say_goodbye()
        return INTERRUPTED
    finished = [client.get_run(run_id) for run_id in run_ids]
    if as_json:
        say_json([record.to_dict() for record in finished])
    else:
        for record in finished:
            say_end(record)
        say(summary(finished))
    return max(outcome_status(record) for record in finished)


def say_progress(records: Iterable[RunRecord]) -> None:
    for run in records:
        if run.started_at is not None and not run.is_over:
            say(f"{printable(run.run_name)}: {progress_line(run).strip()}")


def say_goodbye() -> None:
    say_aside("\nDetached: the runs go on. `mosaic runs` lists them.")


def summary(records: Sequence[RunRecord]) -> str:
    """Mean and spread over the runs of each one's last 100 episodes."""
    means = [run.progress.mean_return for run in records if run.progress.mean_return is not None]
    if not means:
        return f"{len(records)} runs, no episode finished"
    spread = statistics.stdev(means) if len(means) > 1 else 0.0
    return (
        f"{len(means)} of {len(records)} runs: return {decimal(statistics.fmean(means))} "
        f"± {decimal(spread)} (mean of each run's last 100 episodes ± deviation over runs)"
    )
