"""CardFacts: finds out about cards in sight: their files and hashes, the curves of their runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.errors import MosaicError
from mosaic.gui.async_bridge import AsyncBridge, Task
from mosaic.gui.checkpoints.card_view import CardView
from mosaic.gui.checkpoints.checkpoint_files import checked, facts_of, is_checked_unasked
from mosaic.gui.state.checkpoint_cards import Card, FileFacts, HashStatus, return_metric

_BUCKETS = 60


class CardFacts:
    def __init__(
        self,
        bridge: AsyncBridge,
        find: Callable[[str], CardView | None],
        changed: Callable[[CardView], None],
    ) -> None:
        """`find` gives the card with a key while it is shown; `changed` hears of a new status."""
        self._bridge, self._find, self._changed = bridge, find, changed
        self._tasks: list[Task] = []
        self._curves: dict[str, list[float]] = {}
        # What was found out, by path and hash: a card that is made anew knows it at once.
        self._statuses: dict[tuple[str, str], HashStatus] = {}

    def look(self, view: CardView) -> None:
        card = view.card
        self._tasks = [task for task in self._tasks if not task.is_done]
        self._begin(self._bridge.work(lambda: facts_of(card), partial(self._on_facts, card)))
        run = card.run
        if run is None:
            return
        if run.run_id in self._curves and run.is_over:
            view.show_curve(self._curves[run.run_id])
            return
        self._begin(
            self._bridge.ask(
                lambda client: _curve(client, run.run_id), partial(self._on_curve, card), _ignore
            )
        )

    def check(self, card: Card) -> None:
        """The whole file, however large."""
        view = self._find(card.key)
        if view is not None:
            view.show_status(HashStatus.CHECKING)
        self._begin(
            self._bridge.work(
                lambda: checked(card.path, card.sha256), partial(self._on_checked, card)
            )
        )

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    def _begin(self, task: Task) -> None:
        self._tasks.append(task)

    def _on_facts(self, card: Card, facts: FileFacts) -> None:
        view = self._find(card.key)
        if view is None:
            return
        view.show_facts(facts)
        known = self._statuses.get((card.key, card.sha256))
        if is_checked_unasked(card, facts):
            if known is not None:
                view.show_status(known)
            else:
                self.check(card)
        self._changed(view)

    def _on_checked(self, card: Card, status: HashStatus) -> None:
        self._statuses[(card.key, card.sha256)] = status
        view = self._find(card.key)
        if view is not None:
            view.show_status(status)
            self._changed(view)

    def _on_curve(self, card: Card, values: list[float]) -> None:
        assert card.run is not None
        self._curves[card.run.run_id] = values
        view = self._find(card.key)
        if view is not None:
            view.show_curve(values)


async def _curve(client: AsyncTrainerClient, run_id: str) -> list[float]:
    name = return_metric(info.name for info in await client.metrics(run_id))
    if not name:
        return []
    series = await client.series([run_id], [name], buckets=_BUCKETS)
    return list(series[0].means) if series else []


def _ignore(error: MosaicError) -> None:
    """A card without a curve says enough: the run is gone, or the daemon is."""
