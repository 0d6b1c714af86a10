"""What it means for a run that its attempt is over, or could not even begin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mosaic.contracts.run_state import FailureKind, FailureReason, RunState
from mosaic.daemon.active_run import ActiveRun
from mosaic.daemon.executors.base import AttemptFate, Verdict
from mosaic.daemon.exit_failure import INTERRUPTED, LOST
from mosaic.daemon.run_lifecycle import Event, Exited, Failed, NeverStarted
from mosaic.errors import MosaicError, SecretLostError
from mosaic.files import tail_lines

MAX_VAIN_LAUNCHES = 3


def launch_failure(error: MosaicError) -> FailureReason:
    is_secret = isinstance(error, SecretLostError)
    kind = FailureKind.SECRET_LOST if is_secret else FailureKind.LAUNCH_ERROR
    return FailureReason(kind, str(error), error.hint)


def believable(verdict: Verdict, state: RunState) -> Verdict:
    """A worker that was heard of has started, even if its folder looks as if it never had."""
    if verdict.fate is AttemptFate.NEVER_STARTED and state is not RunState.HSHK:
        return Verdict(AttemptFate.LOST, remark="Its attempt's folder was removed.")
    return verdict


def ending_event(run: ActiveRun, verdict: Verdict, host_log: Path) -> Event:
    if verdict.exit is not None:
        run.record = replace(run.record, stderr_tail=verdict.exit.stderr_tail)
        return Exited(verdict.exit, run.worker_failure, run.worker_stop_reason)
    if verdict.fate is AttemptFate.NEVER_STARTED:
        run.vain_launches += 1
        if run.vain_launches < MAX_VAIN_LAUNCHES:
            return NeverStarted()
        return Failed(
            FailureReason(
                FailureKind.LAUNCH_ERROR,
                f"The run host ended {run.vain_launches} times before it started the worker. "
                + " ".join(tail_lines(host_log, 3)),
                "run `mosaic doctor`",
            )
        )
    failure = INTERRUPTED if verdict.fate is AttemptFate.INTERRUPTED else LOST
    if verdict.remark:
        failure = replace(failure, message=f"{failure.message} {verdict.remark}")
    return Failed(failure)
