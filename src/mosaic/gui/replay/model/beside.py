"""Which episodes can be shown beside the one that is played. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import amount, count, decimal
from mosaic.gui.state.possible_actions import may_have_episodes

_ORDERS = (("Best", "best"), ("Worst", "worst"), ("Last", "newest"))
_THIS_RUN = "this run"
MOST_CHOICES = 60


class BesideChoice(NamedTuple):
    title: str
    note: str
    run_id: str
    episode: int | None  # None: the first one in this order
    order: str = ""


def beside_choices(
    text: str,
    run_id: str,
    shown: int | None,
    episodes: Sequence[EpisodeSummary],
    runs: Iterable[RunRecord],
) -> list[BesideChoice]:
    """What has every word of the text; a number is an episode of this run, listed or not."""
    words = text.casefold().split()
    found: list[BesideChoice] = []
    if len(words) == 1 and words[0].isdecimal() and len(words[0]) < 12:
        number = int(words[0])
        found.append(BesideChoice(f"Episode {count(number)}", _THIS_RUN, run_id, number))
    known = {choice.episode for choice in found}
    for choice in _all(run_id, shown, episodes, runs):
        told = f"{choice.title} {choice.note}".casefold()
        is_new = choice.episode is None or choice.episode not in known
        if is_new and all(word in told for word in words):
            found.append(choice)
            if len(found) == MOST_CHOICES:
                break
    return found


def _all(
    run_id: str, shown: int | None, episodes: Sequence[EpisodeSummary], runs: Iterable[RunRecord]
) -> Iterator[BesideChoice]:
    for word, order in _ORDERS:
        yield BesideChoice(f"{word} episode", _THIS_RUN, run_id, None, order)
    for record in runs:
        if record.run_id != run_id and may_have_episodes(record):
            yield BesideChoice("Best episode", record.run_name, record.run_id, None, "best")
    for episode in episodes:
        if episode.episode_index != shown:
            note = f"return {decimal(episode.total_reward)} · {amount(episode.steps, 'step')}"
            title = f"Episode {count(episode.episode_index)}"
            yield BesideChoice(title, note, run_id, episode.episode_index)


def beside_heading(name: str, is_same_run: bool, words: str) -> str:
    """Above one of two episodes: of which run it is, unless both are of the same one."""
    return words if is_same_run else f"{name} · {words}"
