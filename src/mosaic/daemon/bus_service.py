"""RPC handlers that carry live events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc

from mosaic.daemon.bus.run_flow import Delivery
from mosaic.daemon.bus.subscription import Subscription, Wish
from mosaic.daemon.trainer import Trainer
from mosaic.errors import RequestError
from mosaic.logs import get_logger
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated import trainer_pb2_grpc as rpc

log = get_logger(__name__)

# A client that takes nothing for so long is let go; it can come back by its cursors.
PATIENCE_S = 30.0


class BusService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def Subscribe(  # noqa: N802
        self, requests: AsyncIterator[pb.SubscribeRequest], context: Any
    ) -> None:
        first = await anext(aiter(requests), None)
        if first is None:
            raise RequestError("The stream of requests is empty", hint="first say what to follow")
        wish = Wish(
            tuple(first.run_ids),
            frozenset(first.types),
            dict(first.cursors),
            first.credits,
            first.lossless,
        )
        try:
            async with self._trainer.hub.subscribe(wish) as subscription:
                await _serve(subscription, requests, context)
        except TimeoutError:
            log.warning("subscriber.dropped", patience_s=PATIENCE_S)
            # To the client it looks like a lost connection, so it resumes by its cursors. This
            # may wait until the client wakes up: nothing of the subscription is left by now.
            await context.abort(grpc.StatusCode.UNAVAILABLE, f"Took nothing for {PATIENCE_S:g} s")


async def _serve(
    subscription: Subscription, requests: AsyncIterator[pb.SubscribeRequest], context: Any
) -> None:
    """Raises TimeoutError when the client takes nothing."""
    granting = asyncio.create_task(_grant(subscription, requests))
    try:
        async with aclosing(subscription.deliveries()) as deliveries:
            async for run_id, delivery in deliveries:
                # Written rather than yielded: only so we see that nobody takes it.
                async with asyncio.timeout(PATIENCE_S):
                    await context.write(_packed(run_id, delivery))
    finally:
        granting.cancel()
        await asyncio.gather(granting, return_exceptions=True)


async def _grant(subscription: Subscription, requests: AsyncIterator[pb.SubscribeRequest]) -> None:
    async for request in requests:
        subscription.grant(request.credits)


def _packed(run_id: str, delivery: Delivery) -> pb.BusMessage:
    control = delivery.control
    return pb.BusMessage(
        run_id=run_id,
        events=delivery.lines,
        next_cursor=delivery.next_cursor,
        control=None
        if control is None
        else pb.BusControl(
            kind=control.kind.value, coalesced=control.coalesced, from_cursor=control.from_cursor
        ),
    )
