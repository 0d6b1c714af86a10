"""What came of a run, in words, and what is offered next."""

from __future__ import annotations

import dataclasses

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.metrics import MetricInfo
from mosaic.contracts.run_record import Lineage, LineageKind, Progress
from mosaic.contracts.run_state import FailureKind, Outcome
from mosaic.front.solving import MOST_EPISODES, Solved
from mosaic.gui.outcome.model.outcome import (
    Threshold,
    drawn_metric,
    headline,
    outcome_text,
    solved_sentence,
)
from mosaic.gui.state.possible_actions import RunAction
from tests.unit.gui.run_samples import failed, over

BEST = EpisodeSummary("R", "a", "w", 1, 1.0, 118, 500.0, 500, False, True)
PROGRESS = Progress(120_000, 500_000, 662, None, 190.0, 277.2, None, 51_403.0)


@pytest.mark.parametrize(
    ("outcome", "reason", "text"),
    [
        (Outcome.SUCCEEDED, "", "Succeeded after 1 min"),
        (Outcome.SUCCEEDED, "max_steps", "Succeeded after 1 min, at its limit of steps"),
        (Outcome.CANCELED, "user_cancel", "Stopped after 1 min"),
        (Outcome.CANCELED, "it diverged", "Stopped after 1 min: it diverged"),
        (Outcome.FAILED, "", "Failed after 1 min"),
    ],
)
def test_the_headline_says_how_it_ended_and_how_long_it_took(
    outcome: Outcome, reason: str, text: str
) -> None:
    assert headline(over(1, outcome, stop_reason=reason)) == text


def test_a_run_that_never_started_took_no_time() -> None:
    stopped = over(1, Outcome.CANCELED, started_at=None)
    assert headline(stopped) == "Stopped before it started"


def test_numbers_have_the_names_of_the_reference() -> None:
    text = outcome_text(over(1, progress=PROGRESS), None, BEST)
    facts = {fact.name: fact.value for fact in text.facts}
    assert facts == {
        "steps": "120,000 (24 %)",
        "episodes": "662",
        "mean of last 100": "277.2",
        "best episode": "500",
        "steps/s overall": "51,403",
        "checkpoint": "saved",
    }
    none = outcome_text(over(1, progress=PROGRESS, checkpoint_uri=""), None)
    assert none.facts[-1].value == "none"


def test_whether_it_was_solved_is_a_sentence() -> None:
    record = over(1, progress=PROGRESS)
    solved = Threshold(475.0, Solved(41_216, 3.0, 475.0))
    assert solved_sentence(record, solved).startswith("✓ Solved at step 41,216, after 3.0 s: ")
    assert solved_sentence(record, Threshold(475.0)) == (
        "Not solved: that takes a mean of 475, and it ended at 277.2."
    )
    few = over(1, progress=dataclasses.replace(PROGRESS, episodes=60))
    assert "and it finished 60" in solved_sentence(few, Threshold(475.0))
    many = over(1, progress=dataclasses.replace(PROGRESS, episodes=MOST_EPISODES + 1))
    assert solved_sentence(many, Threshold(475.0)) == "", "nobody looked"


def test_an_evaluation_solves_nothing() -> None:
    lineage = Lineage("PARENT", LineageKind.EVALUATED)
    text = outcome_text(over(1, lineage=lineage), None, BEST, Threshold(475.0))
    assert text.solved == ""
    assert text.titles[-1] == "Run again…"


def test_only_what_is_possible_is_offered() -> None:
    able = WorkerCapabilities("sample", supports_resume=True, supports_policy_load=True)
    everything = outcome_text(over(1), able)
    assert everything.actions == (
        RunAction.REPLAY,
        RunAction.EVALUATE,
        RunAction.RESUME,
        RunAction.EDIT,
    )
    nothing = failed(1, FailureKind.EXIT_CODE, progress=Progress(), checkpoint_uri="")
    assert outcome_text(nothing, able).actions == (RunAction.EDIT,)


def test_a_failed_run_is_not_called_unsolved() -> None:
    ended = failed(1, FailureKind.EXIT_CODE, progress=PROGRESS)
    assert not outcome_text(ended, None, None, Threshold(475.0)).solved
    assert outcome_text(over(1, progress=PROGRESS), None, None, Threshold(475.0)).solved


def test_without_steps_the_numbers_are_what_it_measured() -> None:
    loss, rate = MetricInfo("val_loss", 5, 0, 4, 0.25), MetricInfo("rate", 1, 0, 0, 3.0)
    plain = over(1, progress=Progress(), checkpoint_uri="", exit_code=0)
    facts = {
        fact.name: fact.value for fact in outcome_text(plain, None, metrics=[rate, loss]).facts
    }
    assert facts == {"val loss": "0.25", "rate": "3"}
    assert [fact.name for fact in outcome_text(plain, None).facts] == ["exit code"]
    assert drawn_metric([rate, loss]) == "val_loss" and not drawn_metric([rate])
