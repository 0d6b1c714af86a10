"""Which episode of a run somebody means, and the list of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mosaic.cli.terminal import paint, say, say_json, say_table
from mosaic.errors import RequestError
from mosaic.front.human import amount, decimal

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.events import EpisodeSummary
    from mosaic.contracts.run_record import RunRecord

# What is said on the command line, and the order in which that episode is the first.
_ORDERS = {"last": "newest", "best": "best", "worst": "worst"}


def chosen_episode(client: TrainerClient, run_id: str, text: str) -> int:
    """The number of the episode; raises RequestError."""
    order = _ORDERS.get(text.lower())
    if order is not None:
        found = next(client.episodes(run_id, 1, order), None)
        if found is None:
            raise RequestError(
                "The run has no finished episode",
                hint="--episode 0 replays one that still goes on, or was broken off",
            )
        return found.episode_index
    try:
        return int(text)
    except ValueError:
        raise RequestError(
            f"--episode {text[:80]!r} is neither a number nor one of {', '.join(_ORDERS)}",
            hint="--list shows the episodes",
        ) from None


def show_episodes(client: TrainerClient, record: RunRecord, arguments: argparse.Namespace) -> int:
    """The newest ones, and why those that cannot be replayed cannot."""
    rows = []
    for episode in client.episodes(record.run_id, arguments.limit, "newest"):
        recording = client.get_recording(record.run_id, episode.episode_index, arguments.attempt)
        rows.append((episode, recording.problem))
    if arguments.json:
        say_json([_data(episode, problem) for episode, problem in rows])
        return 0
    say_table(
        ("EPISODE", "RETURN", "STEPS", "SEED", "REPLAY"),
        [_cells(episode, problem) for episode, problem in rows],
        colours=["dim" if problem else "" for _, problem in rows],
        flexible=4,
    )
    total = record.progress.episodes
    if total > len(rows):
        say(
            paint(
                f"the newest {len(rows)} of {amount(total, 'episode')}; --limit N shows more", "dim"
            )
        )
    return 0


def _cells(episode: EpisodeSummary, problem: str) -> tuple[str, ...]:
    seed = episode.episode_seed
    return (
        str(episode.episode_index),
        decimal(episode.total_reward),
        f"{episode.steps:,}",
        "" if seed is None else str(seed),
        f"no: {problem}" if problem else "yes",
    )


def _data(episode: EpisodeSummary, problem: str) -> dict[str, Any]:
    names = ("episode_index", "total_reward", "steps", "terminated", "truncated", "episode_seed")
    return {
        **{name: getattr(episode, name) for name in names},
        "replayable": not problem,
        "problem": problem,
    }
