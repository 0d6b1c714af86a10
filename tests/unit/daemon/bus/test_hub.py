"""A subscriber follows the bus where it can and the journal where it must, without gap."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing

import msgspec
import pytest

from mosaic.daemon.bus.flow import Delivery
from mosaic.daemon.bus.hub import Hub, Subscription, SubscriptionRequest
from mosaic.daemon.bus.run_bus import RunBus
from mosaic.errors import ConfigError, UnknownRunError
from tests import journal_lines as lines
from tests.unit.daemon.bus.bus_stage import ONE, TWO, Stage


class Client:
    """Takes deliveries one by one; so a test decides what happens between two of them."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.deliveries = subscription.deliveries()
        self.seen: dict[str, list[int]] = {}
        self.controls: list[tuple[str, str]] = []
        self.coalesced: Counter[str] = Counter()
        self.cursors: dict[str, int] = {}

    async def take(self) -> tuple[str, Delivery]:
        run_id, delivery = await asyncio.wait_for(anext(self.deliveries), 5)
        self.cursors[run_id] = delivery.next_cursor
        numbers = [msgspec.json.decode(line)["seq"] for line in delivery.lines]
        self.seen.setdefault(run_id, []).extend(numbers)
        if delivery.control is not None:
            self.controls.append((run_id, delivery.control.kind.value))
            self.coalesced.update(delivery.control.coalesced)
        return run_id, delivery

    async def take_until(self, control: str) -> None:
        while not self.controls or self.controls[-1][1] != control:
            await self.take()


async def test_named_run_from_its_start_to_its_end(stage: Stage) -> None:
    stage.begin(ONE)
    stage.write(ONE, *(lines.step(seq) for seq in range(5)))
    async with stage.hub.subscribe(
        SubscriptionRequest((ONE,), cursors={ONE: 0}, credits=100)
    ) as subscription:
        client = Client(subscription)
        assert await client.take() == (ONE, Delivery((), 0))
        await client.take()  # from the journal: nobody followed when it was published
        stage.write(ONE, *(lines.step(seq) for seq in range(5, 8)))
        await client.take()
        stage.write(ONE, lines.lifecycle("run_completed", 8))
        stage.end(ONE)
        await client.take_until("ENDED")
        with pytest.raises(StopAsyncIteration):
            await client.take()
    assert client.seen[ONE] == list(range(9))
    assert client.cursors[ONE] == stage.journal(ONE).stat().st_size


async def test_without_a_cursor_it_starts_with_what_happens_now(stage: Stage) -> None:
    stage.begin(ONE)
    stage.write(ONE, lines.step(0), lines.step(1))
    async with stage.hub.subscribe(SubscriptionRequest((ONE,), credits=100)) as subscription:
        client = Client(subscription)
        await client.take()
        assert client.cursors[ONE] == stage.journal(ONE).stat().st_size
        stage.write(ONE, lines.step(2))
        await client.take()
    assert client.seen[ONE] == [2]


async def test_followers_of_all_runs_hear_later_ones_from_their_start(stage: Stage) -> None:
    stage.begin(ONE)
    stage.write(ONE, lines.step(0))
    async with stage.hub.subscribe(SubscriptionRequest(credits=100)) as subscription:
        client = Client(subscription)
        await client.take()
        stage.begin(TWO)
        stage.write(TWO, lines.step(0), lines.step(1))
        stage.end(TWO)  # over before the subscriber looks for the first time
        await client.take_until("ENDED")
        stage.write(ONE, lines.step(1))
        await client.take()
        stage.feed.notify(TWO)  # late news do not start it again
        stage.write(ONE, lines.step(2))
        assert (await client.take())[0] == ONE
    assert client.seen == {ONE: [1, 2], TWO: [0, 1]}


async def test_old_news_of_finished_runs_are_none(stage: Stage) -> None:
    stage.begin(TWO, created_at=1.0)
    stage.write(TWO, lines.step(0))
    stage.end(TWO)
    async with stage.hub.subscribe(SubscriptionRequest(credits=100)) as subscription:
        client = Client(subscription)
        stage.feed.notify(TWO)
        stage.feed.notify("gone")
        stage.begin(ONE)
        stage.write(ONE, lines.step(0))
        assert (await client.take())[0] == ONE
    assert client.seen == {ONE: [0]}


async def test_whoever_is_slower_than_the_bus_reads_the_journal(stage: Stage) -> None:
    stage.begin(ONE)
    stage.bus = RunBus(max_bytes=3000)
    stage.hub = Hub(stage.bus, stage.feed, stage.find, stage.unfinished, stage.journal)
    async with stage.hub.subscribe(
        SubscriptionRequest((ONE,), cursors={ONE: 0}, credits=10_000)
    ) as subscription:
        client = Client(subscription)
        await client.take()
        for first in range(0, 500, 10):
            stage.write(ONE, *(lines.step(seq) for seq in range(first, first + 10)))
        stage.end(ONE)
        await client.take_until("ENDED")
    assert client.seen[ONE] == list(range(500))


async def test_journal_ahead_of_the_ingest_is_not_delivered_twice(stage: Stage) -> None:
    stage.begin(ONE)
    async with stage.hub.subscribe(
        SubscriptionRequest((ONE,), cursors={ONE: 0}, credits=100)
    ) as subscription:
        client = Client(subscription)
        stage.write(ONE, lines.step(0), lines.step(1), ingest=False)
        await client.take()
        await client.take()  # there is no page yet, so it looks into the file
        assert client.seen[ONE] == [0, 1]
        stage.write(ONE, lines.step(2))  # a page with all three
        await client.take()
    assert client.seen[ONE] == [0, 1, 2]


async def test_starved_run_ends_only_when_its_samples_are_accounted_for(stage: Stage) -> None:
    stage.begin(ONE)
    async with stage.hub.subscribe(
        SubscriptionRequest((ONE,), cursors={ONE: 0}, credits=1)
    ) as subscription:
        client = Client(subscription)
        stage.write(ONE, *(lines.step(seq) for seq in range(5)), lines.lifecycle("heartbeat", 5))
        stage.end(ONE)
        await client.take_until("STARVED")
        await client.take()
        assert client.seen[ONE] == [0, 5]
        subscription.grant(10)
        await client.take_until("ENDED")
    assert client.seen[ONE] == [0, 5, 4]
    assert client.coalesced == {"step": 3}
    assert [kind for _, kind in client.controls] == ["STARVED", "RESUMED", "ENDED"]


async def test_backlog_of_one_run_does_not_hold_up_another(stage: Stage) -> None:
    stage.begin(ONE)
    stage.begin(TWO)
    stage.write(ONE, *(lines.step(seq) for seq in range(10_000)))  # several pages
    stage.write(TWO, lines.step(0))
    wanted = SubscriptionRequest((ONE, TWO), cursors={ONE: 0, TWO: 0}, credits=100_000)
    async with stage.hub.subscribe(wanted) as subscription:
        client = Client(subscription)
        order = [(await client.take())[0] for _ in range(5)]
    assert order[2:] == [ONE, TWO, ONE]


async def test_few_credits_are_shared_by_runs_that_wait_for_them(stage: Stage) -> None:
    stage.begin(ONE)
    stage.begin(TWO)
    wanted = SubscriptionRequest((ONE, TWO), cursors={ONE: 0, TWO: 0})
    async with stage.hub.subscribe(wanted) as subscription:
        client = Client(subscription)
        for seq in range(6):
            for run_id in (ONE, TWO):
                stage.write(run_id, lines.step(seq))
            while [*dict(client.controls).values()] != ["STARVED"] * 2:
                await client.take()
            subscription.grant(1)
            await client.take()
    assert len(client.seen[ONE]) == len(client.seen[TWO]) == 3


async def test_credits_that_come_while_a_message_is_on_its_way_are_used(stage: Stage) -> None:
    stage.begin(ONE)
    async with stage.hub.subscribe(SubscriptionRequest((ONE,), cursors={ONE: 0})) as subscription:
        client = Client(subscription)
        stage.write(ONE, lines.step(0), lines.metric(1))
        for _ in range(2):  # for the second, the client is busy with STARVED after RESUMED
            await client.take_until("STARVED")
            subscription.grant(1)
            await client.take_until("RESUMED")
    assert client.seen[ONE] == [0, 1]


async def test_daemon_that_ends_ends_the_stream(stage: Stage) -> None:
    stage.begin(ONE)
    async with stage.hub.subscribe(SubscriptionRequest(credits=1)) as subscription:
        client = Client(subscription)
        await client.take()
        stage.feed.close()
        with pytest.raises(StopAsyncIteration):
            await client.take()


async def test_nothing_of_a_subscriber_stays(stage: Stage) -> None:
    stage.begin(ONE)
    async with stage.hub.subscribe(SubscriptionRequest(credits=1)) as subscription:
        async with aclosing(subscription.deliveries()) as deliveries:
            await anext(deliveries)
        stage.write(ONE, lines.step(0))
        assert stage.bus.is_followed(ONE)
    assert not stage.bus.is_followed(ONE)
    assert stage.bus.end_of(ONE) is None


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (SubscriptionRequest((ONE,), types=frozenset({"steps"})), "types"),
        (SubscriptionRequest((ONE,), cursors={TWO: 0}), f"cursors.{TWO}"),
        (SubscriptionRequest((ONE,), cursors={ONE: 10**6}), f"cursors.{ONE}"),
        (SubscriptionRequest(cursors={ONE: 10**6}), f"cursors.{ONE}"),
    ],
)
async def test_requests_that_make_no_sense_are_refused(
    stage: Stage, wanted: SubscriptionRequest, field: str
) -> None:
    stage.begin(ONE)
    stage.begin(TWO)
    with pytest.raises(ConfigError) as refused:
        async with stage.hub.subscribe(wanted):
            pass
    assert refused.value.details["field"] == field
    assert refused.value.hint
    assert not stage.bus.is_followed(ONE)


async def test_unknown_runs_are_refused(stage: Stage) -> None:
    for wanted in (SubscriptionRequest((ONE,)), SubscriptionRequest(cursors={ONE: 0})):
        with pytest.raises(UnknownRunError):
            async with stage.hub.subscribe(wanted):
                pass
