"""Records of runs that nobody ran, for tests of what is shown about them."""

from __future__ import annotations

import dataclasses
from typing import Any

from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState

START = 1_700_000_000.0


def record(number: int = 1, **changes: Any) -> RunRecord:
    """A run in the midst of its training; the higher the number, the newer."""
    progress = Progress(500, 1000, 20, None, 190.0, 123.45, 18_412.0)
    made = RunRecord(
        run_id=f"01SAMPLE{number:018}",
        run_name=f"ppo-CartPole-v1-seed{number}",
        worker="sample",
        state=RunState.EXEC,
        outcome=None,
        attempt=1,
        priority=0,
        created_at=START + number,
        updated_at=START + number,
        started_at=START + number,
        env_id="CartPole-v1",
        progress=progress,
        revision=1,
    )
    return dataclasses.replace(made, **changes)


def over(number: int = 1, outcome: Outcome = Outcome.SUCCEEDED, **changes: Any) -> RunRecord:
    made = record(
        number,
        state=RunState.TERM,
        outcome=outcome,
        finished_at=START + number + 60,
        checkpoint_uri="checkpoints/last",
    )
    return dataclasses.replace(made, **changes)


def failed(number: int, kind: FailureKind, message: str = "", **changes: Any) -> RunRecord:
    return over(
        number,
        Outcome.FAILED,
        failure=FailureReason(kind, message, exit_code=3, signal=9),
        **changes,
    )
