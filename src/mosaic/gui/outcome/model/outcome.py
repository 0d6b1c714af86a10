"""OutcomeText: what came of a run, in words and numbers, and what may be done next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.metrics import EPISODES_IN_MEAN, MEAN_RETURN_NAME, MetricInfo
from mosaic.contracts.run_record import LineageKind, Progress, RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.front.human import amount, count, decimal, duration
from mosaic.front.run_words import elapsed_s, speed_of
from mosaic.front.solving import MOST_EPISODES, Solved
from mosaic.gui.charts.model.metrics import ranked, title_of
from mosaic.gui.charts.model.number_texts import value_text
from mosaic.gui.state.possible_actions import RunAction, problem_of

# What is offered below, in this order, as far as it is possible.
_OFFERED = (RunAction.REPLAY, RunAction.EVALUATE, RunAction.RESUME, RunAction.EDIT)
# What people call these here: the run is over, and the page is about it.
ACTION_TITLES = {
    RunAction.REPLAY: "Replay",
    RunAction.EVALUATE: "Evaluate…",
    RunAction.RESUME: "Resume",
    RunAction.EDIT: "Train again…",
}
_MOST_MEASURED = 4
_AGAIN = "Run again…"  # where nothing was trained
_NO_TRAINING = (LineageKind.EVALUATED, LineageKind.PLAYED)
# As the daemon calls it when a person presses Stop.
_BY_HAND = "user_cancel"
_PLANNED = {
    "max_steps": "at its limit of steps",
    "max_duration_seconds": "at its limit of time",
}


class Fact(NamedTuple):
    name: str
    value: str
    tip: str = ""


class Threshold(NamedTuple):
    """The mean return that solves the run's environment, and when it was reached."""

    value: float
    solved: Solved | None = None


@dataclass(frozen=True)
class OutcomeText:
    headline: str
    solved: str = ""  # a sentence; empty: there is no threshold, or nothing was trained
    facts: tuple[Fact, ...] = ()
    actions: tuple[RunAction, ...] = ()
    titles: tuple[str, ...] = ()  # of the actions


def outcome_text(
    record: RunRecord,
    capabilities: WorkerCapabilities | None,
    best: EpisodeSummary | None = None,
    threshold: Threshold | None = None,
    metrics: Sequence[MetricInfo] = (),
) -> OutcomeText:
    is_training = not _is_no_training(record)
    # A run that failed has another trouble than that it is not solved.
    is_about_solving = is_training and record.outcome is not Outcome.FAILED
    actions = tuple(action for action in _OFFERED if not problem_of(action, record, capabilities))
    return OutcomeText(
        headline=headline(record),
        solved=solved_sentence(record, threshold) if threshold and is_about_solving else "",
        facts=tuple(_facts(record, best, metrics) or _ended(record)),
        actions=actions,
        titles=tuple(_title(action, is_training) for action in actions),
    )


def headline(record: RunRecord) -> str:
    word = "Failed" if record.outcome is Outcome.FAILED else "Stopped"
    if record.outcome is Outcome.SUCCEEDED:
        word = "Succeeded"
    took = elapsed_s(record)
    text = f"{word} before it started" if took is None else f"{word} after {duration(took)}"
    reason = record.stop_reason
    if not reason or reason == _BY_HAND:
        return text
    return f"{text}, {_PLANNED[reason]}" if reason in _PLANNED else f"{text}: {reason}"


def solved_sentence(record: RunRecord, threshold: Threshold) -> str:
    """Empty where nobody looked: there are too many episodes."""
    needed, found = decimal(threshold.value), threshold.solved
    if found is not None:
        return f"✓ {found.text[:1].upper()}{found.text[1:]}: {found.reason}."
    episodes, mean = record.progress.episodes, record.progress.mean_return
    if episodes < EPISODES_IN_MEAN:
        return (
            f"Not solved: that takes a mean of {needed} over {EPISODES_IN_MEAN} episodes, "
            f"and it finished {count(episodes)}."
        )
    if episodes > MOST_EPISODES or mean is None:
        return ""
    return f"Not solved: that takes a mean of {needed}, and it ended at {decimal(mean)}."


def _facts(
    record: RunRecord, best: EpisodeSummary | None, metrics: Sequence[MetricInfo]
) -> list[Fact]:
    progress = record.progress
    facts = []
    if progress.steps or progress.total_steps:
        facts.append(_steps(progress))
    if progress.episodes:
        facts.append(Fact("episodes", count(progress.episodes), "finished ones"))
    if progress.mean_return is not None:
        facts.append(
            Fact(
                f"mean of last {EPISODES_IN_MEAN}", decimal(progress.mean_return), MEAN_RETURN_NAME
            )
        )
    if best is not None:
        facts.append(
            Fact(
                "best episode",
                decimal(best.total_reward),
                f"Episode {count(best.episode_index)}, {amount(best.steps, 'step')}",
            )
        )
    if not progress.episodes:
        facts += _measured(metrics)
    if speed := speed_of(record):
        facts.append(Fact("steps/s overall", decimal(speed)))
    if progress.steps or record.checkpoint_uri:
        facts.append(
            Fact("checkpoint", "saved", record.checkpoint_uri)
            if record.checkpoint_uri
            else Fact("checkpoint", "none", "Nothing to evaluate or to resume from")
        )
    return facts


def _measured(metrics: Sequence[MetricInfo]) -> list[Fact]:
    """Where the metrics of a run without episodes ended."""
    last = {metric.name: metric.last_value for metric in metrics}
    return [
        Fact(title_of(name), value_text(last[name]), f"{name}: the last value")
        for name in ranked(last)[:_MOST_MEASURED]
    ]


def _ended(record: RunRecord) -> list[Fact]:
    return [] if record.exit_code is None else [Fact("exit code", str(record.exit_code))]


def drawn_metric(metrics: Sequence[MetricInfo]) -> str:
    """The one that matters most and makes a curve; empty where none does."""
    names = ranked(metric.name for metric in metrics if metric.points > 1)
    return names[0] if names else ""


def _steps(progress: Progress) -> Fact:
    total = progress.total_steps
    if total is None or progress.steps >= total:
        return Fact("steps", count(progress.steps))
    share = int(100 * progress.steps / total)
    return Fact("steps", f"{count(progress.steps)} ({share} %)", f"of {count(total)} planned")


def _is_no_training(record: RunRecord) -> bool:
    return record.lineage is not None and record.lineage.kind in _NO_TRAINING


def _title(action: RunAction, is_training: bool) -> str:
    return _AGAIN if action is RunAction.EDIT and not is_training else ACTION_TITLES[action]
