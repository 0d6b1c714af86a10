"""A client that takes nothing is let go, and nothing of it stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from mosaic.daemon.rpc import service
from mosaic.daemon.rpc.service import BusService
from mosaic.daemon.trainer.trainer import Trainer
from mosaic.wire.generated import trainer_pb2 as pb
from tests import journal_lines as lines
from tests.unit.daemon.bus.bus_stage import ONE, Stage


class HungContext:
    """Takes so many messages, then no more."""

    def __init__(self, stage: Stage, room: int) -> None:
        self._stage = stage
        self._room = room
        self.taken: list[pb.BusMessage] = []
        self.aborted: grpc.StatusCode | None = None

    async def write(self, message: pb.BusMessage) -> None:
        if len(self.taken) == self._room:
            await asyncio.Event().wait()
        self.taken.append(message)

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        assert not self._stage.bus.is_followed(ONE), "the subscription ends before the call does"
        self.aborted = code


async def one_request() -> AsyncIterator[pb.SubscribeRequest]:
    yield pb.SubscribeRequest(run_ids=[ONE], cursors={ONE: 0}, credits=100)
    await asyncio.Event().wait()


async def test_who_takes_nothing_is_dropped(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "SEND_TIMEOUT_S", 0.02)
    stage.begin(ONE)
    stage.write(ONE, lines.step(0))
    context = HungContext(stage, room=1)
    trainer: Any = SimpleNamespace(hub=stage.hub)
    await asyncio.wait_for(BusService(cast(Trainer, trainer)).Subscribe(one_request(), context), 5)
    assert [message.next_cursor for message in context.taken] == [0]
    assert context.aborted is grpc.StatusCode.UNAVAILABLE


async def test_who_takes_everything_is_served_to_the_end(stage: Stage) -> None:
    stage.begin(ONE)
    stage.write(ONE, lines.step(0), lines.step(1))
    stage.end(ONE)
    context = HungContext(stage, room=100)
    trainer: Any = SimpleNamespace(hub=stage.hub)
    await asyncio.wait_for(BusService(cast(Trainer, trainer)).Subscribe(one_request(), context), 5)
    assert [len(message.events) for message in context.taken] == [0, 2, 0]
    assert context.taken[-1].control.kind == "ENDED"
    assert context.aborted is None
