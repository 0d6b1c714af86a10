"""What clients send and how long answers are put together: configs, keys, pages, series."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mosaic.client import calls
from mosaic.client.calls import Call, SeriesRange
from mosaic.client.trainer_client import TrainerClient
from mosaic.contracts.run_config import parse_run_config
from mosaic.errors import ConfigError
from mosaic.wire.generated import trainer_pb2 as pb

CONFIG = {
    "run_name": "größer",
    "entry_point": "some",
    "arguments": [],
    "environment": {},
    "resources": {"cpus": 1, "memory_mb": 512},
    "artifacts": {},
}


def test_config_may_be_a_dict_a_parsed_config_or_json() -> None:
    for form in (CONFIG, parse_run_config(CONFIG), json.dumps(CONFIG), json.dumps(CONFIG).encode()):
        assert json.loads(calls.config_text(form)) == CONFIG


@pytest.mark.parametrize("config", [{"a": math.nan}, {"a": object()}, b"\xff"])
def test_config_that_json_cannot_say_is_refused_before_it_is_sent(config: object) -> None:
    with pytest.raises(ConfigError, match="Invalid TrainRunConfig"):
        calls.config_text(config)  # type: ignore[arg-type]


def test_each_submission_has_a_key_of_its_own() -> None:
    keys = {calls.submit(CONFIG, None, False).request.client_key for _ in range(3)}
    assert len(keys) == 3
    assert "" not in keys
    assert calls.submit(CONFIG, "mine", True).request.client_key == "mine"


def test_absent_grace_is_not_zero_grace() -> None:
    assert not calls.stop("x", "", None).request.HasField("grace_s")
    assert calls.stop("x", "", 0.0).request.HasField("grace_s")


def test_what_must_not_happen_twice_is_not_repeated() -> None:
    repeatable: list[Call[Any]] = [
        calls.submit(CONFIG, None, False),
        calls.get("x"),
        calls.stop("x", "", 1.0),
    ]
    assert all(call.is_repeatable for call in repeatable)
    once: list[Call[Any]] = [
        calls.control("x", {}),
        calls.delete("x", False),
        calls.pause("x"),
        calls.unpause("x"),
    ]
    assert not any(call.is_repeatable for call in once)


RUNS = [f"run {number}" for number in range(1000)]


class PagedDaemon(TrainerClient):
    """Answers as a daemon would that allows two rows a page."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.requests: list[Any] = []

    def _call(self, call: Any) -> Any:
        request = call.request
        self.requests.append(request)
        start = request.after_cursor
        page = range(start, min(start + 2, self.rows))
        rest = page.stop if page.stop < self.rows else 0
        if call.method == "ListEpisodes":
            page = page[: request.limit] if request.limit else page
            rows = [pb.EpisodeRow(episode_index=index) for index in page]
            return call.decode(pb.ListEpisodesResponse(episodes=rows, next_cursor=rest))
        if call.method == "ListSteps":
            rows_of_steps = [pb.StepRow(step_index=index, action_json="1") for index in page]
            return call.decode(pb.ListStepsResponse(steps=rows_of_steps, next_cursor=rest))
        series = [
            pb.Series(
                run_id=run_id,
                name=name,
                first_steps=page,
                last_steps=page,
                means=page,
                lows=page,
                highs=page,
                counts=[1] * len(page),
                timestamps=page,
                points=self.rows,
                next_cursor=rest,
            )
            for run_id in request.run_ids
            for name in request.names
        ]
        return call.decode(pb.QuerySeriesResponse(series=series))


def test_points_are_fetched_page_by_page_and_put_together() -> None:
    daemon = PagedDaemon(5)
    first, second = daemon.series("run", ["a", "b"])
    assert (first.name, second.name) == ("a", "b")
    assert first.first_steps == first.means == (0, 1, 2, 3, 4)
    assert (first.points, first.next_cursor) == (5, 0)
    assert [request.after_cursor for request in daemon.requests] == [0, 2, 4, 2, 4]


def test_episodes_and_steps_are_fetched_until_there_are_enough() -> None:
    daemon = PagedDaemon(5)
    assert [e.episode_index for e in daemon.episodes("run")] == [0, 1, 2, 3, 4]
    assert [e.episode_index for e in daemon.episodes("run", limit=3)] == [0, 1, 2]
    assert [e.episode_index for e in daemon.episodes("run", limit=2)] == [0, 1]
    assert [step.step_index for step in daemon.steps("run", 0)] == [0, 1, 2, 3, 4]


def asked(parts: Any) -> list[tuple[str, str]]:
    return [
        (run_id, name)
        for call in parts
        for run_id in call.request.run_ids
        for name in call.request.names
    ]


def test_many_runs_are_asked_for_in_parts_that_fit_one_answer() -> None:
    names = ["a", "b", "c"]
    for buckets in (0, 1, 200, 2000, 10_000):
        parts = list(calls.series_parts(RUNS, names, SeriesRange(buckets=buckets)))
        assert asked(parts) == [(run_id, name) for run_id in RUNS for name in names]
        for call in parts:
            series = len(call.request.run_ids) * len(call.request.names)
            assert series <= calls.SERIES_PER_CALL
            assert series * buckets <= calls.ROWS_PER_CALL


def test_many_names_of_one_run_are_split_too() -> None:
    names = [f"metric {number}" for number in range(1234)]
    parts = list(calls.series_parts("run", names, SeriesRange(buckets=1000)))
    assert asked(parts) == [("run", name) for name in names]
    assert max(len(call.request.names) for call in parts) == 100
