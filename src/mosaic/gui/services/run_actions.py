"""RunActions: what can be done with runs, and what is said about it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.client.exporting import ExportOptions
from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import BundleError, MosaicError
from mosaic.export.run_rows import Exported
from mosaic.front.human import amount
from mosaic.gui.services.async_bridge import AsyncBridge
from mosaic.gui.services.consent import Granted, ask_with_consent, submit_with_consent
from mosaic.gui.state import rerun
from mosaic.gui.state.awaited_bundles import awaited_bundle
from mosaic.gui.state.notices import Notice, Severity, install_offer, notice_of
from mosaic.gui.state.rerun import command_of
from mosaic.gui.state.targets import FormTarget, Operation, Page
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.wire.answers import Submission

_UNDO_S = 10.0
_LONG_S = 60.0
Opened = Callable[[Path], None]


class RunActions:
    def __init__(self, state: WorkbenchState, bridge: AsyncBridge) -> None:
        self._state, self._bridge = state, bridge
        self._deleted: list[str] = []  # just now, and still to be undone
        self._deleted_at = 0.0

    def submit(
        self,
        documents: Sequence[dict[str, Any]],
        done: Callable[[list[Submission]], None] | None = None,
        failed: Callable[[MosaicError], None] | None = None,
        *,
        is_own: bool = False,
        most_install_bytes: int | None = None,
    ) -> None:
        """Starts these runs, selects them and shows their frames.

        What did not come with this installation is asked about first, unless the window itself
        wrote the configs (`is_own`). With `most_install_bytes` what the runs need is installed
        first, and no more than that is fetched; without, a missing bundle is offered to be.
        """
        agreed: dict[str, Any] = {}
        if most_install_bytes is not None:
            agreed = {"install": True, "most_install_bytes": most_install_bytes}
        keys = [uuid.uuid4().hex for _ in documents]

        async def send(client: AsyncTrainerClient, granted: Granted) -> list[Submission]:
            if is_own:
                return [await client.submit(document, **agreed) for document in documents]
            return [
                await submit_with_consent(client, document, key, granted, agreed)
                for document, key in zip(documents, keys, strict=True)
            ]

        def tell(submissions: list[Submission]) -> None:
            run_ids = [submission.run_id for submission in submissions]
            self._bridge.ask(
                lambda client: _records(client, run_ids),
                lambda records: self._show(records, done, submissions),
                self._say_error,
            )

        def refuse(error: MosaicError) -> None:
            to_fetch = error.details.get("fetch_bytes")
            if not isinstance(error, BundleError) or not isinstance(to_fetch, int):
                (failed or self._say_error)(error)
                return
            if failed is not None:
                failed(error)

            def again() -> None:
                self.submit(documents, done, failed, is_own=is_own, most_install_bytes=to_fetch)

            info = self._state.bundles.info(str(error.details.get("bundle", "")))
            title = info.title if info is not None else ""
            self._state.say(install_offer(error, to_fetch, again, title=title))

        subject = str(documents[0].get("run_name", "")) if documents else ""
        ask_with_consent(self._state, self._bridge, send, tell, refuse, subject=subject)

    # Live runs

    def stop(self, run_ids: Sequence[str], reason: str = "user_cancel") -> None:
        self._each(run_ids, lambda client, run: client.stop_run(run, reason), "stopping")

    def pause(self, run_ids: Sequence[str]) -> None:
        self._each(run_ids, lambda client, run: client.pause_run(run), "pausing")

    def unpause(self, run_ids: Sequence[str]) -> None:
        self._each(run_ids, lambda client, run: client.unpause_run(run), "going on")

    # Starting again

    def resubmit(self, run_ids: Sequence[str]) -> None:
        """With the very same config."""

        def start(records: list[RunRecord]) -> None:
            self._guarded(lambda: self.submit([rerun.same_config(record) for record in records]))

        self._read(run_ids, start)

    def edit(self, run_id: str) -> None:
        """In the form, with everything it was started with."""
        self._read([run_id], lambda records: self._state.ask_form(rerun.edit_target(records[0])))

    def resume(self, run_id: str) -> None:
        """A stopped run continues at once; for a finished one the form asks how far."""

        def start(record: RunRecord) -> None:
            if rerun.was_cut_short(record):
                self.submit([rerun.resume_config(record)])
            else:
                policy = rerun.policy_of(record)
                self._state.ask_form(FormTarget(Operation.RESUME, policy))

        self._read([run_id], lambda records: self._guarded(lambda: start(records[0])))

    def evaluate(self, run_id: str) -> None:
        def ask(record: RunRecord) -> None:
            self._state.ask_form(FormTarget(Operation.EVALUATE, rerun.policy_of(record)))

        self._read([run_id], lambda records: self._guarded(lambda: ask(records[0])))

    def start_first(self) -> None:
        """What somebody without any run is offered."""
        self._guarded(lambda: self.submit([rerun.first_training(self._state.algorithms)]))

    def read_command(self, run_id: str, home: Path | None, done: Callable[[str], None]) -> None:
        """The command that would start it again."""
        self._read(
            [run_id],
            lambda records: done(command_of(records[0], self._state.algorithms, home)),
        )

    def read_folder(self, run_id: str, done: Opened) -> None:
        self._read([run_id], lambda records: done(Path(records[0].paths["run_directory"])))

    # What is kept

    def pin(self, run_ids: Sequence[str], is_pinned: bool = True) -> None:
        word = "pinned" if is_pinned else "not pinned any more"
        self._each(run_ids, lambda client, run: client.pin_run(run, is_pinned), word)

    def rename(self, run_id: str, name: str) -> None:
        before = self._name(run_id)

        def tell(record: RunRecord) -> None:
            self._state.runs.update([record])
            is_taken = record.run_name != name.strip()
            why = f": another run is called {name.strip()}" if is_taken else ""
            self._state.say(
                Notice(
                    f"{before} is now called {record.run_name}{why}",
                    Severity.GOOD,
                    action=lambda: self.rename(run_id, before),
                    action_text="Undo",
                )
            )

        if name.strip() != before:
            self._bridge.ask(lambda client: client.rename_run(run_id, name), tell, self._say_error)

    def label(self, run_ids: Sequence[str], change: LabelChange) -> None:
        """Tags and notes of several runs."""
        word = "note saved" if change.note else "tags saved" if change.note is None else "no note"
        self._each(run_ids, lambda client, run: client.label_run(run, change), word)

    def archive(self, run_id: str, path: Path, done: Opened | None = None) -> None:
        """Everything of a run, in one file that appears when it is complete."""
        self._state.say(Notice(f"Writing {path.name} …", seconds=_LONG_S))

        def tell(written: Path) -> None:
            self._say_written(f"Archived as {written.name}", written.parent, done)

        self._bridge.ask(lambda client: client.archive_run(run_id, path), tell, self._say_error)

    def export(
        self, run_id: str, export_format: str, folder: Path, done: Opened | None = None
    ) -> None:
        self._state.say(Notice(f"Writing {folder.name} …", seconds=_LONG_S))

        def tell(exported: Exported) -> None:
            left_out = f"; left out: {exported.left_out[0]}" if exported.left_out else ""
            more = f" and {len(exported.left_out) - 1} more" if len(exported.left_out) > 1 else ""
            text = f"Exported to {exported.folder.name}{left_out}{more}"
            self._say_written(text, exported.folder, done)

        def write(client: AsyncTrainerClient, granted: Granted) -> Coroutine[Any, Any, Exported]:
            options = ExportOptions(consents=granted)
            return client.export_run(run_id, export_format, folder, options)

        ask_with_consent(
            self._state,
            self._bridge,
            write,
            tell,
            self._say_error,
            subject=f"The export of {self._name(run_id)}",
        )

    def delete(self, run_ids: Sequence[str]) -> None:
        """At once, and back again with "Undo"."""
        chosen = list(run_ids)

        async def send(client: AsyncTrainerClient) -> tuple[list[str], MosaicError | None]:
            gone: list[str] = []
            for run in chosen:
                try:
                    await client.delete_run(run)
                except MosaicError as error:
                    return gone, error
                gone.append(run)
            return gone, None

        def tell(answer: tuple[list[str], MosaicError | None]) -> None:
            gone, error = answer
            self._state.runs.remove(gone)
            if gone:
                self._say_deleted(gone)
            if error is not None:
                self._say_error(error)

        self._bridge.ask(send, tell, self._say_error)

    def _say_deleted(self, run_ids: list[str]) -> None:
        """One Undo for all that was deleted in quick succession: none takes it from another."""
        now = time.monotonic()
        if now - self._deleted_at > _UNDO_S:
            self._deleted = []
        self._deleted_at = now
        self._deleted = gone = [*self._deleted, *run_ids]
        self._state.say(
            Notice(
                f"{amount(len(gone), 'run')} deleted",
                action=lambda: self.restore(gone),
                action_text="Undo",
                seconds=_UNDO_S,
            )
        )

    def restore(self, run_ids: Sequence[str], *, selects: bool = True) -> None:
        async def send(client: AsyncTrainerClient) -> list[RunRecord]:
            return [await client.restore_run(run) for run in run_ids]

        def tell(records: list[RunRecord]) -> None:
            back = {record.run_id for record in records}
            self._deleted = [run for run in self._deleted if run not in back]
            self._state.runs.update(records)
            if selects:
                self._state.select(record.run_id for record in records)
            what = records[0].run_name if len(records) == 1 else amount(len(records), "run")
            self._state.say(Notice(f"{what} restored", Severity.GOOD))

        self._bridge.ask(send, tell, self._say_error)

    def _each(
        self,
        run_ids: Sequence[str],
        call: Callable[[AsyncTrainerClient, str], Coroutine[Any, Any, RunRecord]],
        word: str,
    ) -> None:
        """With all of them, even where one refuses."""
        chosen = list(run_ids)

        async def send(client: AsyncTrainerClient) -> list[RunRecord | BaseException]:
            return await asyncio.gather(
                *(call(client, run) for run in chosen), return_exceptions=True
            )

        def tell(answers: list[RunRecord | BaseException]) -> None:
            records = [answer for answer in answers if isinstance(answer, RunRecord)]
            self._state.runs.update(records)
            if records:
                names = records[0].run_name if len(records) == 1 else amount(len(records), "run")
                self._state.say(Notice(f"{names}: {word}"))
            for answer in answers:
                if isinstance(answer, MosaicError):
                    self._say_error(answer)
                    break

        self._bridge.ask(send, tell, self._say_error)

    def _read(self, run_ids: Sequence[str], done: Callable[[list[RunRecord]], None]) -> None:
        """The whole records: lists come without configs and paths."""
        chosen = list(run_ids)
        self._bridge.ask(lambda client: _records(client, chosen), done, self._say_error)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except MosaicError as error:
            self._say_error(error)

    def _say_written(self, text: str, folder: Path, opened: Opened | None) -> None:
        action = None if opened is None else lambda: opened(folder)
        self._state.say(
            Notice(text, Severity.GOOD, action, "Open folder" if action else "", seconds=_UNDO_S)
        )

    def _show(
        self,
        records: list[RunRecord],
        done: Callable[[list[Submission]], None] | None,
        submissions: list[Submission],
    ) -> None:
        self._state.runs.update(records)
        self._state.select(record.run_id for record in records)
        self._state.show_page(Page.LIVE)
        warnings = [check.message for check in submissions[0].preflight if not check.ok]
        what = records[0].run_name if len(records) == 1 else f"{len(records)} runs"
        begun = f"{what} started"
        if any(awaited_bundle(record) for record in records):
            verb = "starts" if len(records) == 1 else "start"
            begun = f"{what} {verb} as soon as all it needs is installed"
        told = f"{begun}. {warnings[0]}" if warnings else begun
        self._state.say(Notice(told, Severity.GOOD))
        if done is not None:
            done(submissions)

    def _name(self, run_id: str) -> str:
        record = self._state.runs.get(run_id)
        return record.run_name if record else run_id

    def _say_error(self, error: MosaicError) -> None:
        self._state.say(notice_of(error))


async def _records(client: AsyncTrainerClient, run_ids: list[str]) -> list[RunRecord]:
    return [await client.get_run(run_id) for run_id in run_ids]
