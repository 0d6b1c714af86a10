"""Watchers hear of every changed run, merged, and only of those they asked for."""

from __future__ import annotations

from mosaic.daemon.bus.run_bus import RunFeed


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
