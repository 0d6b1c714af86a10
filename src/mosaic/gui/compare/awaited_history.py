"""AwaitedHistory: lets a computing thread ask the daemon through the window's one client."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any, TypeVar

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.errors import MosaicError

T = TypeVar("T")
_ANSWER_WAIT_S = 60.0


class AwaitedHistory:
    """A `mosaic.compare.loading.History`. Made in the loop's thread, used in another one."""

    def __init__(self, client: AsyncTrainerClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._is_closed = False

    def close(self) -> None:
        """Whoever asks from now on gets an error at once, not after a long wait."""
        self._is_closed = True

    def metrics(self, run_id: str) -> list[MetricInfo]:
        return self._awaited(self._client.metrics(run_id))

    def series(
        self,
        run_ids: list[str],
        names: list[str],
        first_step: int | None = None,
        last_step: int | None = None,
        buckets: int = 0,
    ) -> list[MetricSeries]:
        return self._awaited(self._client.series(run_ids, names, first_step, last_step, buckets))

    def _awaited(self, asking: Coroutine[Any, Any, T]) -> T:
        if self._is_closed:
            asking.close()
            raise MosaicError("nobody waits for this comparison any more")
        answer = asyncio.run_coroutine_threadsafe(asking, self._loop)
        try:
            return answer.result(_ANSWER_WAIT_S)
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError) as error:
            raise MosaicError(
                "the daemon did not answer while runs were compared", hint="try again"
            ) from error
