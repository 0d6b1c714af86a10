"""RunActions: what can be done with runs, and what is said about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.front.human import amount
from mosaic.gui.async_bridge import AsyncBridge
from mosaic.gui.state.notices import Notice, Severity, notice_of
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.wire.answers import Submission

_UNDO_S = 10.0


class RunActions:
    def __init__(self, state: WorkbenchState, bridge: AsyncBridge) -> None:
        self._state, self._bridge = state, bridge

    def submit(
        self,
        documents: Sequence[dict[str, Any]],
        done: Callable[[list[Submission]], None] | None = None,
        failed: Callable[[MosaicError], None] | None = None,
    ) -> None:
        """Starts these runs, selects them and shows their frames."""

        async def send(client: AsyncTrainerClient) -> list[Submission]:
            return [await client.submit(document) for document in documents]

        def tell(submissions: list[Submission]) -> None:
            run_ids = [submission.run_id for submission in submissions]
            names = documents[0].get("run_name", "")
            text = f"{names} started" if len(run_ids) == 1 else f"{len(run_ids)} runs started"
            self._bridge.ask(
                lambda client: _records(client, run_ids),
                lambda records: self._show(records, text, done, submissions),
                self._say_error,
            )

        self._bridge.ask(send, tell, failed or self._say_error)

    def stop(self, run_ids: Sequence[str], reason: str = "user_cancel") -> None:
        self._each(run_ids, lambda client, run: client.stop_run(run, reason), "stopping")

    def pause(self, run_ids: Sequence[str]) -> None:
        self._each(run_ids, lambda client, run: client.pause_run(run), "pausing")

    def unpause(self, run_ids: Sequence[str]) -> None:
        self._each(run_ids, lambda client, run: client.unpause_run(run), "going on")

    def delete(self, run_ids: Sequence[str]) -> None:
        """At once, and back again with "Undo"."""
        chosen = list(run_ids)

        async def send(client: AsyncTrainerClient) -> None:
            for run in chosen:
                await client.delete_run(run)

        def tell(_: None) -> None:
            self._state.runs.remove(chosen)
            self._state.say(
                Notice(
                    f"{amount(len(chosen), 'run')} deleted",
                    action=lambda: self.restore(chosen),
                    action_text="Undo",
                    seconds=_UNDO_S,
                )
            )

        self._bridge.ask(send, tell, self._say_error)

    def restore(self, run_ids: Sequence[str]) -> None:
        async def send(client: AsyncTrainerClient) -> list[RunRecord]:
            return [await client.restore_run(run) for run in run_ids]

        def tell(records: list[RunRecord]) -> None:
            self._state.runs.update(records)
            self._state.select(record.run_id for record in records)
            self._state.say(Notice(f"{amount(len(records), 'run')} restored", Severity.GOOD))

        self._bridge.ask(send, tell, self._say_error)

    def _each(
        self,
        run_ids: Sequence[str],
        call: Callable[[AsyncTrainerClient, str], Any],
        word: str,
    ) -> None:
        chosen = list(run_ids)

        async def send(client: AsyncTrainerClient) -> list[RunRecord]:
            return list(await asyncio.gather(*(call(client, run) for run in chosen)))

        def tell(records: list[RunRecord]) -> None:
            self._state.runs.update(records)
            names = records[0].run_name if len(records) == 1 else amount(len(records), "run")
            self._state.say(Notice(f"{names}: {word}"))

        self._bridge.ask(send, tell, self._say_error)

    def _show(
        self,
        records: list[RunRecord],
        text: str,
        done: Callable[[list[Submission]], None] | None,
        submissions: list[Submission],
    ) -> None:
        self._state.runs.update(records)
        self._state.select(record.run_id for record in records)
        self._state.show_page(Page.LIVE)
        warnings = [check.message for check in submissions[0].preflight if not check.ok]
        told = f"{text}. {warnings[0]}" if warnings else text
        self._state.say(Notice(told, Severity.GOOD))
        if done is not None:
            done(submissions)

    def _say_error(self, error: MosaicError) -> None:
        self._state.say(notice_of(error))


async def _records(client: AsyncTrainerClient, run_ids: list[str]) -> list[RunRecord]:
    return [await client.get_run(run_id) for run_id in run_ids]
