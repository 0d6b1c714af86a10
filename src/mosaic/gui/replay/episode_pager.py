"""EpisodePager: the episodes of a run, a page at a time, in the order that is wanted."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary

PAGE = 200


class EpisodePager:
    """Pages are asked for one after the other, each when the one before has come."""

    def __init__(self, run_id: str, order: str) -> None:
        self.run_id, self.order = run_id, order
        self.is_all = False
        self._rows: AsyncGenerator[EpisodeSummary, None] | None = None

    async def next_page(self, client: AsyncTrainerClient) -> list[EpisodeSummary]:
        if self._rows is None:
            self._rows = client.episodes(self.run_id, 0, self.order)
        page: list[EpisodeSummary] = []
        async for row in self._rows:
            page.append(row)
            if len(page) == PAGE:
                return page
        self.is_all = True
        return page
