from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import RequestError
from mosaic.telemetry import queries
from mosaic.telemetry.queries import EpisodeOrder, Page, episode_page, step_page
from mosaic.telemetry.store.reader import reading
from tests import journal_lines as lines
from tests.unit.telemetry.curve_samples import stored

RETURNS: list[float | str] = [5.0, "NaN", 9.0, 5.0, "-Infinity", 7.5, "NaN", "Infinity"]
ORDERS = {
    EpisodeOrder.OLDEST: [0, 1, 2, 3, 4, 5, 6, 7],
    EpisodeOrder.NEWEST: [7, 6, 5, 4, 3, 2, 1, 0],
    EpisodeOrder.BEST: [7, 2, 5, 0, 3, 4, 1, 6],
    EpisodeOrder.WORST: [4, 0, 3, 5, 2, 7, 1, 6],
}


def episodes(path: Path, *wanted: Any, **more: Any) -> Page:
    with reading(path) as store:
        assert store is not None
        return episode_page(store, *wanted, **more)


def steps(path: Path, *wanted: Any, **more: Any) -> Page:
    with reading(path) as store:
        assert store is not None
        return step_page(store, *wanted, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # No registration: the first episode is at cursor 0.
    return stored(
        tmp_path,
        [
            lines.episode(seq, total, episode_index=seq, metadata={"seq": seq})
            for seq, total in enumerate(RETURNS)
        ],
    )


@pytest.mark.parametrize("order", EpisodeOrder)
@pytest.mark.parametrize("limit", [1, 3, 8, 100])
def test_episodes_come_in_every_order_page_by_page(
    path: Path, order: EpisodeOrder, limit: int
) -> None:
    found: list[int] = []
    cursor = 0
    while True:
        page = episodes(path, order, limit, cursor)
        assert 1 <= len(page.rows) <= limit
        found += [row["episode_index"] for row in page.rows]
        cursor = page.next_cursor
        if not cursor:
            break
    assert found == ORDERS[order]


@pytest.mark.parametrize("order", EpisodeOrder)
def test_a_page_may_also_go_on_behind_the_cursor_of_any_row(
    path: Path, order: EpisodeOrder
) -> None:
    cursors = [row["cursor"] for row in episodes(path, order, 100).rows]
    for place, cursor in enumerate(cursors):
        if cursor:
            page = episodes(path, order, 100, cursor)
            assert [row["cursor"] for row in page.rows] == cursors[place + 1 :]


def test_an_episode_is_found_by_its_number_and_is_whole(path: Path) -> None:
    (row,) = episodes(path, EpisodeOrder.NEWEST, 5, episode_index=5).rows
    assert (row["total_reward"], row["steps"], row["metadata_json"]) == (7.5, 10, '{"seq":5}')
    assert row["episode_seed"] == ""
    assert episodes(path, EpisodeOrder.NEWEST, 5, episode_index=99) == Page()


def test_a_cursor_that_leads_nowhere_is_refused(path: Path) -> None:
    with pytest.raises(RequestError, match="no episode at cursor 77"):
        episodes(path, EpisodeOrder.BEST, 5, 77)


@pytest.fixture
def steps_path(tmp_path: Path) -> Path:
    return stored(
        tmp_path,
        [
            lines.registered(0),
            *(lines.step(seq, episode_index=seq % 4, step_index=seq // 4) for seq in range(1, 41)),
            lines.registered(41, attempt=2, agent_id="agent-2"),
            *(lines.step(seq, episode_index=seq % 4, step_index=seq // 4) for seq in range(42, 62)),
        ],
    )


@pytest.mark.parametrize("limit", [1, 7, 1000])
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [*range(1, 41), *range(42, 62)]),
        ({"episode_index": 3}, [43, 47, 51, 55, 59]),
        ({"episode_index": 3, "attempt": 1}, list(range(3, 41, 4))),
        ({"attempt": 1}, list(range(1, 41))),
        ({"attempt": 2}, list(range(42, 62))),
        ({"attempt": 3}, []),
        ({"episode_index": 99}, []),
    ],
)
def test_steps_come_page_by_page_by_episode_and_attempt(
    steps_path: Path, limit: int, wanted: dict[str, int], expected: list[int]
) -> None:
    found: list[int] = []
    page = steps(steps_path, limit, **wanted)
    found += [row["seq"] for row in page.rows]
    while page.next_cursor:
        page = steps(steps_path, limit, page.next_cursor, **wanted)
        found += [row["seq"] for row in page.rows]
    assert found == expected


def test_rows_name_the_agent_of_their_attempt(steps_path: Path) -> None:
    rows = steps(steps_path, 1000).rows
    assert {row["agent_id"] for row in rows[:40]} == {"agent-1"}
    assert {row["agent_id"] for row in rows[40:]} == {"agent-2"}


def test_huge_steps_end_a_page_by_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 200_000)
    huge = "\N{SNOWMAN}" * 20_000
    written = [lines.step(seq, observation=huge) for seq in range(10)]
    path = stored(tmp_path, written)
    found, cursor, pages = [], 0, 0
    while pages == 0 or cursor:
        page = steps(path, 1000, cursor)
        found += [row["seq"] for row in page.rows]
        cursor, pages = page.next_cursor, pages + 1
    assert found == list(range(10))
    assert pages == 5


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -1.5, 2**70, "text", "\u2603 \\u0000", [], {}, [[], {}]),
        {"image": [[0] * 50] * 50, "text": "a", "inner": {"position": [0.1, None]}},
        list(range(50_000)),
    ],
)
def test_actions_and_observations_may_be_any_json(tmp_path: Path, value: Any) -> None:
    path = stored(tmp_path, [lines.step(0, action=value, observation=value, info=value)])
    (row,) = steps(path, 10).rows
    for column in ("action_json", "observation_json", "info_json"):
        assert json.loads(row[column]) == value
        assert " " not in row[column].replace("\u2603 ", "").replace("u2603 ", "")
