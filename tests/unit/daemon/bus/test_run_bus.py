"""Followers get the latest pages within one limit; watchers hear of every changed run."""

from __future__ import annotations

from mosaic.daemon.bus.run_bus import RunBus, RunFeed
from tests.unit.daemon.bus.bus_samples import STEP, WIDTH, page


def test_nothing_is_kept_while_nobody_follows() -> None:
    bus = RunBus()
    bus.publish("A", page(0, [STEP]))
    assert not bus.is_followed("A")
    with bus.follow("A"):
        assert bus.is_followed("A")
        assert not bus.is_followed("B")
        assert bus.page_at("A", 0) is None
        bus.publish("A", page(1, [STEP]))
        assert bus.page_at("A", WIDTH) is not None
    assert bus.page_at("A", WIDTH) is None
    assert bus.end_of("A") is None


def test_runs_stay_as_long_as_their_last_follower() -> None:
    bus = RunBus()
    with bus.follow("A"):
        with bus.follow():
            bus.publish("A", page(0, [STEP]))
            bus.publish("B", page(0, [STEP]))
        assert bus.page_at("A", 0) is not None
        assert bus.page_at("B", 0) is None
    assert bus.page_at("A", 0) is None


def test_page_is_found_by_any_cursor_in_it() -> None:
    bus = RunBus()
    with bus.follow():
        pages = [page(0, [STEP] * 3), page(3, [STEP] * 2)]
        for each in pages:
            bus.publish("A", each)
        assert bus.page_at("A", 0) is pages[0]
        assert bus.page_at("A", 2 * WIDTH) is pages[0]
        assert bus.page_at("A", 3 * WIDTH) is pages[1]
        assert bus.page_at("A", 5 * WIDTH) is None
        assert bus.end_of("A") == 5 * WIDTH


def test_oldest_pages_of_all_runs_make_room() -> None:
    size = page(90, [STEP] * 10).size
    bus = RunBus(max_bytes=4 * size)
    with bus.follow():
        for number in range(0, 100, 10):
            for run_id in "AB":
                bus.publish(run_id, page(number, [STEP] * 10))
        kept = [(run, at) for run in "AB" for at in range(100) if bus.page_at(run, at * WIDTH)]
        assert kept == [(run, at) for run in "AB" for at in range(80, 100)]
        assert bus.end_of("A") == 100 * WIDTH
        # One page larger than all room is not kept either; whoever wants it reads the journal.
        bus.publish("A", page(100, [STEP] * 60))
        assert not any(bus.page_at(run, 90 * WIDTH) for run in "AB")
        assert bus.end_of("A") == 160 * WIDTH


def test_pages_that_do_not_continue_begin_anew() -> None:
    bus = RunBus()
    with bus.follow():
        bus.publish("A", page(0, [STEP]))
        bus.publish("A", page(5, [STEP]))  # a gap
        assert bus.page_at("A", 0) is None
        bus.publish("A", page(0, [STEP]))  # a store that is rebuilt
        assert bus.page_at("A", 0) is not None
        assert bus.page_at("A", 5 * WIDTH) is None
        assert bus.end_of("A") == WIDTH


async def test_changes_a_slow_watcher_missed_are_merged() -> None:
    feed = RunFeed()
    with feed.watch() as watcher:
        for _ in range(1000):
            feed.notify("A")
            feed.notify("B")
        changes = watcher.changes()
        assert await anext(changes) == ["A", "B"]
        await changes.aclose()


async def test_only_the_runs_asked_for() -> None:
    feed = RunFeed()
    with feed.watch("A") as watcher:
        feed.notify("B")
        feed.notify("A")
        changes = watcher.changes()
        assert await anext(changes) == ["A"]
        await changes.aclose()


async def test_closing_ends_the_stream() -> None:
    feed = RunFeed()
    with feed.watch() as watcher:
        feed.close()
        assert [batch async for batch in watcher.changes()] == []


async def test_nobody_is_kept_after_leaving() -> None:
    feed = RunFeed()
    with feed.watch():
        pass
    assert not feed._watchers
