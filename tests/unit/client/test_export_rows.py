from __future__ import annotations

from typing import Any

import pytest

from mosaic.client.calls import Call, Page
from mosaic.client.export_rows import (
    FIRST_STEP_MISSING,
    StoredRows,
    env_kwargs,
    has_observations,
    replayed_episodes,
)
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import UnknownRunError
from mosaic.export.run_rows import ALL_EPISODES, LeftOutEpisode, PlayedEpisode, parse_choice
from tests.unit.export.run_rows_samples import RUN_ID, episode, record, series, step

PAGE = 3


class Daemon:
    """Answers calls from lists, a page at a time; cursors are places in the list plus one."""

    def __init__(self, **tables: list[Any]) -> None:
        self.tables = {"episodes": [], "steps": [], "points": [], **tables}
        self.problem = "its worker cannot make it again"
        self.calls: list[str] = []

    def __call__(self, call: Call[Any]) -> Any:
        self.calls.append(call.method)
        request = call.request
        if call.method == "QuerySeries":
            start = request.after_cursor
            points = self.tables["points"]
            page = series(request.names[0], points[start : start + PAGE])
            more = start + PAGE if start + PAGE < len(points) else 0
            return [page.__class__(**{**page.__dict__, "next_cursor": more})]
        if call.method == "ListEpisodes":
            rows = list(self.tables["episodes"])
            if request.order == "newest":
                rows.reverse()
            elif request.order == "best":
                rows.sort(key=lambda row: -row.total_reward)
            return self._page(rows, request.after_cursor, request.limit)
        if call.method == "ListSteps":
            steps = self.tables["steps"]
            if request.HasField("episode_index"):
                steps = [row for row in steps if row.episode_index == request.episode_index]
            return self._page(steps, request.after_cursor, 0)
        assert call.method == "GetRecording"
        return EpisodeRecording(
            RUN_ID, episode(request.episode_index), 1, "X-v0", "", "", {}, problem=self.problem
        )

    def _page(self, rows: list[Any], start: int, limit: int) -> Page[Any]:
        size = min(PAGE, limit or PAGE)
        more = start + size if start + size < len(rows) else 0
        return Page(rows[start : start + size], more)


def flat(pages: Any) -> list[Any]:
    return [row for page in pages for row in page]


def test_points_come_page_by_page_to_the_last() -> None:
    points = [(at, float(at)) for at in range(7)]
    rows = StoredRows(Daemon(points=points), record())
    pages = list(rows.points("loss"))
    assert [len(page.means) for page in pages] == [3, 3, 1]
    assert [at for page in pages for at in page.last_steps] == list(range(7))


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("3", [3]),
        ("2..4", [2, 3, 4]),
        ("last:4", [5, 6, 7, 8]),
        ("best:4", [8, 7, 6, 5]),
        ("best:99", [8, 7, 6, 5, 4, 3, 2, 1, 0]),
    ],
)
def test_episodes_are_chosen(which: str, expected: list[int]) -> None:
    rows = StoredRows(
        Daemon(episodes=[episode(index, float(index)) for index in range(9)]), record()
    )
    found = flat(rows.episodes(parse_choice(which)))
    assert [row.episode_index for row in found] == expected


def test_steps_of_all_or_of_chosen_episodes_each_once() -> None:
    # The second attempt has episode 1 again.
    daemon = Daemon(
        episodes=[episode(0), episode(1), episode(1), episode(2)],
        steps=[step(index, at) for index in range(3) for at in range(5)],
    )
    rows = StoredRows(daemon, record())
    assert len(flat(rows.steps(ALL_EPISODES))) == 15
    chosen = flat(rows.steps(parse_choice("1..2")))
    assert [(row.episode_index, row.step_index) for row in chosen] == [
        (index, at) for index in (1, 2) for at in range(5)
    ]


def test_what_cannot_be_simulated_is_taken_from_its_steps_without_the_first() -> None:
    steps = [step(0, at, observation=[float(at)], action=at, episode_seed=4) for at in range(4)]
    daemon = Daemon(episodes=[episode(0), episode(1)], steps=steps)
    played, left_out = replayed_episodes(daemon, StoredRows(daemon, record()), [0, 1])
    assert isinstance(played, PlayedEpisode)
    assert played.observations == [[0.0], [1.0], [2.0], [3.0]]
    assert played.actions == [1, 2, 3]
    assert (played.seed, played.note) == (4, FIRST_STEP_MISSING)
    assert left_out == LeftOutEpisode(1, daemon.problem)


def test_a_run_that_is_gone_is_no_episode_left_out() -> None:
    daemon = Daemon(episodes=[episode(0)])
    answer = daemon.__call__

    def ask(call: Call[Any]) -> Any:
        if call.method == "GetRecording":
            raise UnknownRunError("deleted meanwhile")
        return answer(call)

    with pytest.raises(UnknownRunError):
        list(replayed_episodes(ask, StoredRows(ask, record()), [0]))


def test_steps_with_a_hole_or_without_observations_are_no_episode() -> None:
    assert has_observations([step(0, 0), step(0, 1)])
    assert has_observations([step(0, 1), step(0, 2)])
    assert not has_observations([])
    assert not has_observations([step(0, 0), step(0, 2)])
    assert not has_observations([step(0, 0), step(0, 1, observation=None)])


def test_arguments_of_the_environment_are_taken_where_they_are_what_they_seem() -> None:
    made = EpisodeRecording(RUN_ID, episode(0), 1, "X-v0", "", "", {"env_kwargs": {"a": 1}})
    assert env_kwargs(made) == {"a": 1}
    strange = EpisodeRecording(RUN_ID, episode(0), 1, "X-v0", "", "", {"env_kwargs": [1]})
    assert env_kwargs(strange) == {}
