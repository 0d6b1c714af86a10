"""Failures as sentences."""

from __future__ import annotations

import dataclasses

import pytest

from mosaic.contracts.run_state import FailureKind, FailureReason
from mosaic.gui.outcome.model.failure import failure_text
from mosaic.gui.state.possible_actions import RunAction
from tests.unit.gui.run_samples import failed, over


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_says_what_happened_and_offers_something(kind: FailureKind) -> None:
    text = failure_text(failed(1, kind), can_resume=False)
    assert text is not None
    assert text.happened.endswith(".")
    assert text.advice.endswith(".") or kind is FailureKind.USER_CANCEL
    assert text.offers


def test_what_the_daemon_says_is_said() -> None:
    run = failed(1, FailureKind.MEMORY_LIMIT)
    reason = FailureReason(
        FailureKind.MEMORY_LIMIT, "the run used 900 MB", "raise resources.memory_mb"
    )
    text = failure_text(dataclasses.replace(run, failure=reason), can_resume=True)
    assert text is not None
    assert text.happened == "The run used 900 MB."
    assert text.advice == "Raise resources.memory_mb."
    assert text.offers == (RunAction.RESUME, RunAction.EDIT)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "without CUDA"),
        ("RuntimeError: No CUDA GPUs are available", "without CUDA"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried", "smaller batches"),
        ("ModuleNotFoundError: No module named 'procgen'", "package procgen is missing"),
        ("python: can't open file '/nowhere/train.py': [Errno 2]", "script /nowhere/train.py"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data.npz'", "data.npz"),
        ("NameNotFound: Environment `Foo` doesn't exist.", "environment Foo is not installed"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("MemoryError", "ran out of memory"),
    ],
)
def test_well_known_causes_in_the_log_get_their_cure(line: str, advice: str) -> None:
    run = failed(
        1, FailureKind.EXIT_CODE, "The worker ended with exit code 1.", stderr_tail=(line,)
    )
    text = failure_text(run, can_resume=False)
    assert text is not None and advice in text.advice
    assert line in text.whole


def test_a_long_command_does_not_hide_what_went_wrong() -> None:
    message = f"/usr/bin/python -c '{'x' * 400}' ended with exit code 3: it broke"
    text = failure_text(failed(1, FailureKind.WORKER_ERROR, message), can_resume=False)
    assert text is not None
    assert text.happened.endswith("ended with exit code 3: it broke.")
    assert len(text.happened) < 120


def test_a_command_is_shown_without_the_folder_of_its_program() -> None:
    message = "/opt/env/bin/python train.py ended with exit code 1: it broke"
    text = failure_text(failed(1, FailureKind.WORKER_ERROR, message), can_resume=False)
    assert text is not None
    assert text.happened == "“python train.py” ended with exit code 1: it broke."


def test_escapes_and_line_breaks_never_reach_the_window() -> None:
    message = "\x1b[31mred\x1b[0m\nsecond\x00"
    text = failure_text(failed(1, FailureKind.WORKER_ERROR, message), can_resume=False)
    assert text is not None
    assert text.happened == "Red second␀."


def test_a_run_that_was_lost_is_started_again_as_it_was() -> None:
    text = failure_text(failed(1, FailureKind.LOST), can_resume=False)
    assert text is not None and text.offers == (RunAction.RESUBMIT,)


def test_a_run_that_did_not_fail_has_no_text() -> None:
    assert failure_text(over(1), can_resume=True) is None
