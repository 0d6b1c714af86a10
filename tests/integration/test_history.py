"""What runs have stored, asked for through a real daemon: live, over, and of an older version."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.metrics import MetricSeries
from mosaic.errors import ConfigError, CorruptStoreError, RequestError, UnknownRunError
from mosaic.telemetry.store.schema import MIGRATIONS
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.older_stores import make_older
from tests.waiting import wait_until

EPISODES = 30
RETURN = "rollout/episodic_return"
UNKNOWN = "01JQ0000000000000000000000"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def finished(daemon: DaemonHarness) -> str:
    run_id = daemon.submit(config={"episodes": EPISODES})
    assert daemon.wait_over(run_id).outcome == "succeeded"
    return run_id


def version(store: Path) -> int:
    with contextlib.closing(sqlite3.connect(store)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_metrics_of_a_finished_run_as_points_and_in_buckets(
    daemon: DaemonHarness, finished: str
) -> None:
    infos = {info.name: info for info in daemon.client.metrics(finished)}
    assert infos[RETURN].points == EPISODES
    (points,) = daemon.client.series(finished, RETURN)
    assert (points.run_id, points.name, points.points) == (finished, RETURN, EPISODES)
    assert points.counts == (1,) * EPISODES
    assert points.means[-1] == infos[RETURN].last_value
    assert (points.first_steps[0], points.last_steps[-1]) == (
        infos[RETURN].first_step,
        infos[RETURN].last_step,
    )
    (five,) = daemon.client.series(finished, RETURN, buckets=5)
    assert len(five.counts) <= 5
    assert sum(five.counts) == EPISODES
    assert (min(five.lows), max(five.highs)) == (min(points.means), max(points.means))
    first, last = points.first_steps[10], points.first_steps[19]
    (part,) = daemon.client.series(finished, RETURN, first, last)
    assert part.means == points.means[10:20]


def test_episodes_and_steps_agree_with_each_other(daemon: DaemonHarness, finished: str) -> None:
    episodes = list(daemon.client.episodes(finished))
    assert [episode.episode_index for episode in episodes] == list(range(EPISODES))
    best = list(daemon.client.episodes(finished, limit=7, order="best"))
    ordered = sorted(episodes, key=lambda e: -e.total_reward)
    assert [e.total_reward for e in best] == [e.total_reward for e in ordered[:7]]
    newest = next(daemon.client.episodes(finished, order="newest"))
    assert newest == episodes[-1] == daemon.client.episode(finished, EPISODES - 1)
    steps = list(daemon.client.steps(finished, 3))
    assert len(steps) == episodes[3].steps
    assert math.fsum(step.reward for step in steps) == episodes[3].total_reward
    assert isinstance(steps[0].observation, list)
    every = list(daemon.client.steps(finished))
    assert len(every) == sum(episode.steps for episode in episodes)
    assert list(daemon.client.steps(finished, 3, attempt=2)) == []


def test_several_runs_are_answered_at_once_in_the_order_asked(
    daemon: DaemonHarness, finished: str
) -> None:
    second = daemon.submit(config={"episodes": 2, "seed": 5})
    daemon.wait_over(second)
    names = [RETURN, "no such metric"]
    found = daemon.client.series([second, finished, second], names, buckets=10)
    asked = [(run_id, name) for run_id in (second, finished, second) for name in names]
    assert [(series.run_id, series.name) for series in found] == asked
    assert [series.points for series in found] == [2, 0, EPISODES, 0, 2, 0]
    assert found[0] == found[4]


def test_a_live_run_is_answered_too(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 1_000_000})
    try:

        def curve() -> MetricSeries | None:
            (series,) = daemon.client.series(run_id, RETURN, buckets=50)
            return series if series.points > 200 else None

        series = wait_until(curve, what="points of a live run")
        assert series is not None
        assert len(series.counts) <= 50
        assert sum(series.counts) == series.points
        assert next(daemon.client.steps(run_id)).step_index == 0
        assert len(list(daemon.client.episodes(run_id, limit=20, order="newest"))) == 20
    finally:
        daemon.client.stop_run(run_id, grace_s=0)
        daemon.wait_over(run_id)


def test_a_run_that_has_stored_nothing_answers_with_nothing(daemon: DaemonHarness) -> None:
    run_id = daemon.submit_script("hangs")
    try:
        assert daemon.client.metrics(run_id) == []
        assert [series.points for series in daemon.client.series(run_id, "loss")] == [0]
        assert list(daemon.client.episodes(run_id)) == []
        assert list(daemon.client.steps(run_id)) == []
    finally:
        daemon.client.stop_run(run_id, grace_s=0)
        daemon.wait_over(run_id)


def test_questions_that_make_no_sense_say_why(daemon: DaemonHarness, finished: str) -> None:
    client = daemon.client
    with pytest.raises(UnknownRunError):
        client.metrics(UNKNOWN)
    with pytest.raises(UnknownRunError):
        client.series([finished, UNKNOWN], RETURN)
    with pytest.raises(UnknownRunError):
        client.series("../../etc/passwd", RETURN)
    with pytest.raises(ConfigError, match="beyond last_step"):
        client.series(finished, RETURN, 10, 5)
    with pytest.raises(ConfigError, match="names is empty"):
        client.series(finished, [])
    with pytest.raises(ConfigError, match="run_ids is empty"):
        client.series([], RETURN)
    with pytest.raises(ConfigError, match="10000 at most"):
        client.series(finished, RETURN, buckets=10_001)
    with pytest.raises(ConfigError, match="order is"):
        list(client.episodes(finished, order="largest"))
    with pytest.raises(RequestError, match="no finished episode 99"):
        client.episode(finished, 99)
    for wrong in (2**70, -(2**70)):
        with pytest.raises(
            RequestError, match=r"first_step is -?1180591620717411303424; it must be"
        ):
            client.series(finished, RETURN, wrong)
    with pytest.raises(RequestError, match="buckets is -1"):
        client.series(finished, RETURN, buckets=-1)


def test_the_asynchronous_client_gives_the_same(daemon: DaemonHarness, finished: str) -> None:
    async def ask() -> None:
        async with AsyncTrainerClient(daemon.home, autostart=False) as client:
            assert await client.metrics(finished) == daemon.client.metrics(finished)
            assert await client.series(finished, RETURN) == daemon.client.series(finished, RETURN)
            episodes = [episode async for episode in client.episodes(finished, 3, "worst")]
            assert episodes == list(daemon.client.episodes(finished, 3, "worst"))
            assert await client.episode(finished, 4) == daemon.client.episode(finished, 4)
            steps = [step async for step in client.steps(finished, 4)]
            assert steps == list(daemon.client.steps(finished, 4))

    asyncio.run(ask())


def test_an_old_store_answers_at_once_and_is_upgraded_for_the_next_time(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config={"episodes": 200})
    daemon.wait_over(run_id)
    store = daemon.home.run(run_id).telemetry
    expected = daemon.client.series(run_id, RETURN, buckets=20)
    metrics = daemon.client.metrics(run_id)
    make_older(store, 1)
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as db:
        # Somebody keeps it from being upgraded, as a full disk would.
        db.execute("BEGIN IMMEDIATE")
        assert daemon.client.series(run_id, RETURN, buckets=20) == expected
        assert daemon.client.metrics(run_id) == metrics
        assert daemon.client.episode(run_id, 199).episode_index == 199
        db.execute("ROLLBACK")
    wait_until(lambda: version(store) == len(MIGRATIONS), what="the store to be upgraded")
    assert daemon.client.series(run_id, RETURN, buckets=20) == expected
    assert daemon.client.metrics(run_id) == metrics


def test_a_damaged_store_does_not_hide_the_curves_of_other_runs(
    daemon: DaemonHarness, finished: str
) -> None:
    broken = daemon.submit(config={"episodes": 2})
    daemon.wait_over(broken)
    daemon.home.run(broken).telemetry.write_bytes(b"no database" * 500)
    with pytest.raises(CorruptStoreError):
        daemon.client.series(broken, RETURN)
    found = daemon.client.series([broken, finished], RETURN)
    assert [series.points for series in found] == [0, EPISODES]
