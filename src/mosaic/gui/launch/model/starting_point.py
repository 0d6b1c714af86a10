"""The checkpoint a new training begins with: the field that holds it, and its chip."""

from __future__ import annotations

from pathlib import PurePath

from mosaic.contracts.check_result import CHECKPOINT_CHECK
from mosaic.contracts.learner import TrainRequest
from mosaic.gui.forms.model.fields import Field, FieldKind, sentence
from mosaic.gui.state.runs_state import RunsState
from mosaic.gui.state.targets import PolicyTarget
from mosaic.wire.answers import Submission

# The field of the path, as learners call it, and the chip that says what it is.
WARM_START = TrainRequest.entries["warm_start"]
CHIP = "starts_from"


def chip_field(path: str, policy: PolicyTarget | None, runs: RunsState) -> Field:
    """`policy`: the one that was chosen last, which may be another."""
    return Field(
        CHIP,
        "",
        FieldKind.CHIP,
        default=starting_point_text(path, policy, runs),
        help="",
        placeholder="Begin with random networks instead",
        stands_for=WARM_START,
    )


def starting_point_text(path: str, policy: PolicyTarget | None, runs: RunsState) -> str:
    """`starts from ppo · CartPole-v1 · best, step 40,960`"""
    file = PurePath(path)
    if policy is not None and str(policy.checkpoint) == path and (policy.algo or policy.env_id):
        parts = [policy.algo, policy.env_id, policy.moment]
    else:
        run = next((found for part in file.parts if (found := runs.get(part))), None)
        parts = [run.run_name if run else "", file.stem or path]
    return f"starts from {' · '.join(part for part in parts if part)}"


def problem_of(submission: Submission) -> str:
    """What the worker has against it, by a dry run; empty where it has nothing."""
    for result in submission.preflight:
        if result.check == CHECKPOINT_CHECK and result.is_fatal:
            fix = sentence(result.fix)
            return f"{result.message}. {fix}" if fix else result.message
    return ""
