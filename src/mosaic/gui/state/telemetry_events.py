"""Steps and episodes out of the lines of a journal: only what a table shows of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

import msgspec

from mosaic.client.async_bus_methods import AsyncSubscription
from mosaic.contracts.events import EpisodeSummary, EventType, number_from_json
from mosaic.contracts.runbus import ControlKind
from mosaic.wire.bus import BusBatch, BusNotice

# Longer actions are cut: they are shown in a cell.
_MOST_ACTION = 60


@dataclass(frozen=True)
class SeenStep:
    seq: int
    stream: str  # whose steps follow one another: agent and worker
    episode: int
    step: int
    action: str
    reward: float
    end: str


@dataclass(frozen=True)
class SeenEpisode:
    seq: int
    stream: str
    episode: int
    total: float
    steps: int
    end: str
    at: float


@dataclass(frozen=True)
class Skipped:
    """Samples that the daemon left out because they came faster than they were taken."""

    samples: int


Seen = SeenStep | SeenEpisode | Skipped


class _Line(msgspec.Struct):
    """Observations may be whole pictures: they are passed over without being decoded."""

    type: str
    seq: int = 0
    timestamp: float = 0.0
    agent_id: str | None = None
    worker_id: str | None = None
    episode_index: int = 0
    step_index: int = 0
    action: msgspec.Raw = msgspec.Raw(b"null")
    reward: float | str = 0.0
    total_reward: float | str = 0.0
    steps: int = 0
    terminated: bool = False
    truncated: bool = False


_decoder = msgspec.json.Decoder(_Line)


def seen_in(lines: Iterable[bytes]) -> list[Seen]:
    """What is no step and no episode is left out, as is what cannot be read."""
    found: list[Seen] = []
    for text in lines:
        try:
            line = _decoder.decode(text)
            if line.type == EventType.STEP:
                found.append(_step(line))
            elif line.type == EventType.EPISODE:
                found.append(_episode(line))
        except (msgspec.DecodeError, KeyError):
            continue
    return found


def seen_episode(summary: EpisodeSummary) -> SeenEpisode:
    """One out of the store, as one that was just heard of."""
    return SeenEpisode(
        summary.seq,
        _stream(summary.agent_id, summary.worker_id),
        summary.episode_index,
        summary.total_reward,
        summary.steps,
        end_word(summary.terminated, summary.truncated),
        summary.timestamp,
    )


def seen_of(item: BusBatch | BusNotice) -> list[Seen]:
    if isinstance(item, BusBatch):
        return seen_in(item.lines)
    skipped = sum(item.coalesced.values())
    return [Skipped(skipped)] if item.kind is ControlKind.RESUMED and skipped else []


async def paced(
    subscription: AsyncSubscription, most: int, every_s: float
) -> AsyncIterator[list[Seen]]:
    """What is seen, no more than `most` samples in `every_s`.

    Whoever reports faster makes the daemon wait for credits: it then leaves samples out, and says
    how many, instead of this process drowning in them.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    until, taken = loop.time() + every_s, 0
    async with subscription:
        async for item in subscription:
            found = seen_of(item)
            yield found
            now = loop.time()
            if now >= until:
                until, taken = now + every_s, 0
            taken += len(found)
            if taken >= most:
                await asyncio.sleep(max(0.0, until - now))
                until, taken = loop.time() + every_s, 0


def end_word(terminated: bool, truncated: bool) -> str:
    return "terminated" if terminated else "truncated" if truncated else ""


def _step(line: _Line) -> SeenStep:
    action = bytes(line.action).decode(errors="replace")
    if len(action) > _MOST_ACTION:
        action = f"{action[:_MOST_ACTION]}…"
    return SeenStep(
        line.seq,
        _stream(line.agent_id, line.worker_id),
        line.episode_index,
        line.step_index,
        action,
        number_from_json(line.reward),
        end_word(line.terminated, line.truncated),
    )


def _episode(line: _Line) -> SeenEpisode:
    return SeenEpisode(
        line.seq,
        _stream(line.agent_id, line.worker_id),
        line.episode_index,
        number_from_json(line.total_reward),
        line.steps,
        end_word(line.terminated, line.truncated),
        line.timestamp,
    )


def _stream(agent_id: str | None, worker_id: str | None) -> str:
    return f"{agent_id or ''}/{worker_id or ''}"
