"""An episode as its steps tell it: enough to simulate it again where seed and actions are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.telemetry.queries import steps
from mosaic.telemetry.store.reader import StoreReader, reading

NOT_RECORDED = (
    "its single steps were not recorded: that takes a worker which records, or reports every step"
)


@dataclass(frozen=True)
class RecordedSteps:
    """What a store holds of one episode in one attempt."""

    attempt: int
    episode: EpisodeSummary  # made from the steps while the episode continues
    actions: tuple[Any, ...] = ()
    rewards: tuple[float, ...] = ()
    # Why it cannot be simulated again from this; empty when it can.
    problem: str = ""


def recorded_steps(
    store_path: Path, episode_index: int, attempt: int | None = None
) -> RecordedSteps | None:
    """Of the latest attempt that has the episode by default; None where none has."""
    with reading(store_path) as store:
        if store is None:
            return None
        found = _summary(store, episode_index, attempt)
        spans = store.rows(
            "SELECT attempt FROM episode_spans"
            " WHERE episode_index = ?1 AND (?2 IS NULL OR attempt = ?2)"
            " ORDER BY first_cursor DESC LIMIT 1",
            episode_index,
            attempt if attempt is not None or found is None else found[1],
        )
    if spans:
        number = int(spans[0]["attempt"])
        told = steps(store_path, episode_index, number)
        episode = found[0] if found else _unfinished(told)
        problem = problem_with(told, episode if found else None)
        if problem:
            return RecordedSteps(number, episode, problem=problem)
        actions = tuple(step.action for step in told)
        return RecordedSteps(number, episode, actions, tuple(step.reward for step in told))
    if found:
        return RecordedSteps(found[1], found[0], problem=NOT_RECORDED)
    return None


def problem_with(told: list[TrainingStep], episode: EpisodeSummary | None) -> str:
    """Why these steps do not suffice to simulate the episode; empty when they do."""
    if not told:
        return NOT_RECORDED
    if told[0].episode_seed is None:
        return "its worker did not tell the seed of the episode"
    first = told[0].step_index
    if first not in (0, 1):
        return f"its steps before step {first} are missing"
    for place, step in enumerate(told):
        if step.step_index != first + place:
            return f"step {first + place} is missing"
        if _is_description(step.action):
            return "its actions are too large to have been stored"
    if episode is not None and episode.steps > len(told):
        return f"only {len(told):,} of its {episode.steps:,} steps are stored"
    return ""


def _is_description(action: Any) -> bool:
    """What the SDK writes in place of a large array."""
    return isinstance(action, dict) and {"dtype", "shape"} <= action.keys()


def _summary(
    store: StoreReader, episode_index: int, attempt: int | None
) -> tuple[EpisodeSummary, int] | None:
    rows = store.rows(
        "SELECT *, (SELECT attempt FROM registrations AS r WHERE r.cursor <= e.cursor"
        "  ORDER BY r.cursor DESC LIMIT 1) AS attempt"
        " FROM episodes AS e WHERE episode_index = ? ORDER BY e.cursor DESC",
        episode_index,
    )
    for row in rows:
        number = int(row["attempt"] or 1)
        if attempt is None or number == attempt:
            return store.episode(row), number
    return None


def _unfinished(told: list[TrainingStep]) -> EpisodeSummary:
    last = told[-1]
    return EpisodeSummary(
        run_id=last.run_id,
        agent_id=last.agent_id,
        worker_id=last.worker_id,
        seq=last.seq,
        timestamp=last.timestamp,
        episode_index=last.episode_index,
        total_reward=sum(step.reward for step in told),
        steps=len(told),
        terminated=last.terminated,
        truncated=last.truncated,
        episode_seed=last.episode_seed,
    )
