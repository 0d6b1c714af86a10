"""Which episodes can be shown beside another; and the walk along the best ones."""

from __future__ import annotations

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.run_record import Progress
from mosaic.gui.replay.model.beside import MOST_CHOICES, beside_choices, beside_heading
from mosaic.gui.replay.model.walk import EpisodeWalk
from tests.unit.gui.run_samples import over, record

RUN, OTHER = over(1, run_name="mine"), over(2, run_name="theirs")
BARE = record(3, run_name="bare", progress=Progress())


def episode(index: int) -> EpisodeSummary:
    return EpisodeSummary("R", "a", "w", index, 1.0, index, 10.0 * index, 50, True, False)


def titles(text: str, episodes: int = 3) -> list[str]:
    listed = [episode(index) for index in range(episodes)]
    found = beside_choices(text, RUN.run_id, 1, listed, [RUN, OTHER, BARE])
    return [f"{choice.title} · {choice.note}" for choice in found]


def test_this_run_comes_first_and_runs_without_episodes_not_at_all() -> None:
    assert titles("") == [
        "Best episode · this run",
        "Worst episode · this run",
        "Last episode · this run",
        "Best episode · theirs",
        "Episode 0 · return 0 · 50 steps",
        "Episode 2 · return 20 · 50 steps",
    ]


def test_words_and_numbers_find_one() -> None:
    assert titles("THEIRS best") == ["Best episode · theirs"]
    assert titles("4711") == ["Episode 4,711 · this run"]
    assert titles("2")[0] == "Episode 2 · this run"
    assert len([title for title in titles("2") if title.startswith("Episode 2 ·")]) == 1
    assert titles("9" * 40) == []


def test_long_lists_are_cut() -> None:
    assert len(titles("", 500)) == MOST_CHOICES


def test_headings_name_the_run_where_there_are_two() -> None:
    assert beside_heading("mine", True, "Episode 1") == "Episode 1"
    assert beside_heading("mine", False, "Episode 1") == "mine · Episode 1"


def test_a_walk_goes_on_where_more_is_known() -> None:
    walk = EpisodeWalk("best")
    assert walk.current is None and not walk.is_known(1)
    walk.add([7, 3], is_all=False)
    assert walk.move(1) == 7 and walk.current == 7 and not walk.is_known(-1)
    assert walk.move(1) == 3 and not walk.is_known(1)
    walk.add([5], is_all=True)
    assert walk.move(1) == 5 and walk.move(-1) == 3
