"""What a worker told of an episode step by step, read once for all that shows it."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import TrainingStep
from mosaic.gui.replay.model.mind import EpisodeMind, told_something
from mosaic.gui.replay.model.strips import values_of

_MOST = 20_000


class ToldSteps(NamedTuple):
    values: dict[int, float]  # what the agent expected, by step
    mind: EpisodeMind | None  # what it wanted and believed


async def told_steps(
    client: AsyncTrainerClient, run_id: str, episode: int, attempt: int
) -> ToldSteps:
    rows = client.steps(run_id, episode, attempt)
    found: list[TrainingStep] = []
    try:
        async for row in rows:
            found.append(row)
            # A worker that tells either does so at every step.
            says_something = bool(values_of(found[:1])) or told_something(found[0])
            if not says_something or len(found) >= _MOST:
                break
    finally:
        await rows.aclose()
    return ToldSteps(values_of(found), EpisodeMind.of(found))
