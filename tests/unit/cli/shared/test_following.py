"""What several seeds add up to."""

from __future__ import annotations

from dataclasses import replace

from mosaic.cli.shared.following import summary
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import RunState

RUN = RunRecord("01KATF461V3681NE4E0T3TX33Z", "r", "w", RunState.TERM, None, 1, 0, 0.0, 0.0)


def test_mean_and_deviation_over_runs() -> None:
    runs = [replace(RUN, progress=Progress(mean_return=value)) for value in (1.0, 2.0, 3.0)]
    assert "3 of 3 runs: return 2" in summary(runs)
    assert "± 1" in summary(runs)


def test_runs_without_episodes_do_not_count() -> None:
    assert summary([RUN]) == "1 runs, no episode finished"
    assert "1 of 2 runs" in summary([RUN, replace(RUN, progress=Progress(mean_return=5.0))])
