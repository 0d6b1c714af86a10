"""CheckpointsTab: what the run saved, what all runs saved, and what came from elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.front.references import why_no_checkpoint
from mosaic.gui.checkpoints.cards import CardList, CardView
from mosaic.gui.checkpoints.model.cards import (
    PAGE,
    Card,
    FileFacts,
    HashStatus,
    actions_of,
    cards_of_run,
    latest_success,
    representative,
    return_metric,
    with_checkpoints,
    with_worker,
)
from mosaic.gui.checkpoints.model.files import (
    check_hash,
    file_facts,
    import_checkpoint,
    imported_cards,
    is_checked_automatically,
)
from mosaic.gui.forms.model.fields import sentence
from mosaic.gui.services.async_bridge import AsyncBridge, Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity, notice_of
from mosaic.gui.state.rerun import warm_start_target
from mosaic.gui.state.targets import FormTarget, Mode, Operation, PlayTarget
from mosaic.gui.tabs.run_tab import RunTab
from mosaic.gui.widgets.choosers import Segmented, ask_for_file
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import label

_BUCKETS = 60


class CardInspector:
    """Looks up what visible cards need: their files and hashes, the curves of their runs."""

    def __init__(
        self,
        bridge: AsyncBridge,
        find: Callable[[str], CardView | None],
        changed: Callable[[CardView], None],
    ) -> None:
        """`find` gives the card with a key while it is shown; `changed` hears of a new status."""
        self._bridge, self._find, self._changed = bridge, find, changed
        self._tasks: list[Task] = []
        self._checks: dict[str, Task] = {}  # the latest of each card
        self._curves: dict[str, list[float]] = {}
        # What was found out, by path and hash: a card that is made anew knows it at once.
        self._statuses: dict[tuple[str, str], HashStatus] = {}

    def look(self, view: CardView) -> None:
        card = view.card
        self._tasks = [task for task in self._tasks if not task.is_done]
        self._begin(self._bridge.work(lambda: file_facts(card), partial(self._on_facts, card)))
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
        # Of several, the one that began last has read the file as it is now.
        if (earlier := self._checks.get(card.key)) is not None:
            earlier.cancel()
        self._checks[card.key] = self._bridge.work(
            lambda: check_hash(card.path, card.sha256), partial(self._on_checked, card)
        )
        self._begin(self._checks[card.key])

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
        if is_checked_automatically(card, facts):
            if known is not None:
                view.show_status(known)
            else:
                self.check(card)
        self._changed(view)

    def _on_checked(self, card: Card, status: HashStatus) -> None:
        self._checks.pop(card.key, None)
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


THIS_RUN, ALL_RUNS = "run", "all"
# A run that trains saves often; its cards are made anew no more often than this.
_CHANGE_MS = 500


class CheckpointsTab(RunTab):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("checkpoints-tab")
        self._workbench = workbench
        self._record: RunRecord | None = None
        self._is_active = False
        self._shown: tuple[Card, ...] | None = None
        self._imported: list[Card] = []
        self._reading_imported: Task | None = None
        self._limit = PAGE
        self._asking: Task | None = None
        self._has_more = False
        self.choice = Segmented(((THIS_RUN, "This run"), (ALL_RUNS, "All runs")))
        self.choice.chosen.connect(self._on_choice)
        self.import_button = QPushButton("Import…")
        self.import_button.setObjectName("checkpoint-import")
        self.import_button.setToolTip("Copy a checkpoint from elsewhere into the workbench")
        self.import_button.clicked.connect(self._on_import_asked)
        self.problem = label("", "error")
        self.problem.setWordWrap(True)
        self.problem.hide()
        self.cards = CardList(workbench.theme)
        self.cards.asked.connect(self._on_asked)
        self.cards.more_asked.connect(self._on_more)
        self.empty = EmptyState(workbench.theme, "content-save-outline", "No checkpoint yet")
        self._facts = CardInspector(workbench.bridge, self.cards.view, self._show_actions)
        self.cards.seen.connect(self._facts.look)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.cards)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.choice, 1)
        head.addWidget(self.import_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 10, 4, 4)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self.problem)
        layout.addWidget(stack, 1)
        self._changing = QTimer(self)
        self._changing.setSingleShot(True)
        self._changing.setInterval(_CHANGE_MS)
        self._changing.timeout.connect(self._refresh)
        state = workbench.state
        state.environment_changed.connect(self._on_environment_changed)
        state.workers_changed.connect(self._on_workers_changed)
        state.runs.changed.connect(self._on_runs_changed)
        state.runs.removed.connect(self._on_runs_changed)

    # RunTab

    def show_run(self, record: RunRecord) -> None:
        self._record = record
        if self._is_active and self.choice.value == THIS_RUN:
            self._refresh()

    def set_active(self, is_active: bool) -> None:
        self._is_active = is_active
        if is_active:
            self._read_imported()
            self._refresh()
        else:
            self._changing.stop()
            if self._asking is not None:
                self._asking.cancel()
            self._facts.stop()

    # What is shown

    def _refresh(self) -> None:
        if not self._is_active:
            return
        if self._asking is not None:
            self._asking.cancel()  # its answer may be about what was chosen before
            self._asking = None
        if self.choice.value == THIS_RUN:
            self._show_this_run()
        else:
            self._ask_all()

    def _show_this_run(self) -> None:
        record = self._record
        cards, problem = cards_of_run(record) if record is not None else ((), "")
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if record is not None and record.is_over:
            self.empty.show_text("No checkpoint", f"{sentence(why_no_checkpoint(record))}.")
        else:
            self.empty.show_text(
                "No checkpoint yet",
                "They appear here as the run saves them; stopping the run saves one.",
            )
        self._show_cards([replace(card, title=card.step_text) for card in cards], False)

    def _read_imported(self) -> None:
        if self._reading_imported is not None:
            self._reading_imported.cancel()  # it may not know the newest one
        self._reading_imported = self._workbench.bridge.work(
            lambda: imported_cards(self._workbench.home), self._on_imported
        )

    def _ask_all(self) -> None:
        runs = with_checkpoints(self._workbench.state.runs.newest_first())
        wanted = [record.run_id for record in runs[: self._limit]]
        self._has_more = len(runs) > self._limit
        self.problem.hide()
        self._asking = self._workbench.bridge.ask(
            lambda client: _details(client, wanted), self._on_details, self._on_failed
        )

    def _on_details(self, records: list[RunRecord]) -> None:
        leading = latest_success(self._workbench.state.runs.newest_first())
        found = []
        for record in records:
            card = representative(cards_of_run(record)[0])
            if card is not None:
                found.append(replace(card, is_leading=record.run_id == leading))
        self.empty.show_text("No checkpoints yet", "Train something: what it saves appears here.")
        workers = self._workbench.state.workers
        imported = [with_worker(card, workers) for card in self._imported]
        self._show_cards([*imported, *found], self._has_more)

    def _show_cards(self, cards: list[Card], has_more: bool) -> None:
        shown = tuple(cards)
        if _looks(shown) != _looks(self._shown or ()) or self._shown is None:
            place = self.cards.verticalScrollBar().value()
            self.cards.show_cards(shown, has_more, self._show_actions)
            self.cards.verticalScrollBar().setValue(place)
        self._shown = shown
        self._stack.setCurrentWidget(self.cards if shown else self.empty)

    def _show_actions(self, view: CardView) -> None:
        state = self._workbench.state
        worker = state.worker(view.card.worker)
        view.show_actions(actions_of(view.card, view.status, worker, state.env_id))

    def _show_all_actions(self) -> None:
        for view in self.cards.views:
            self._show_actions(view)

    # What the person does

    def show_all_runs(self) -> None:
        self.choice.choose(ALL_RUNS)
        self._refresh()

    def import_file(self, path: Path) -> None:
        """Copied in a thread: it may be large, and on a slow disk."""
        home = self._workbench.home
        self._workbench.bridge.work(
            lambda: import_checkpoint(path, home), self._on_import_done, self._on_failed
        )

    def _on_import_asked(self) -> None:
        ask_for_file(self, "Import a checkpoint", "All files (*)", self.import_file)

    def _on_import_done(self, card: Card) -> None:
        self._imported.insert(0, card)
        self._read_imported()
        self._workbench.state.say(Notice(f"{card.title} imported", Severity.GOOD))
        self.show_all_runs()

    def _on_asked(self, name: str, card: Card) -> None:
        state = self._workbench.state
        match name:
            case "evaluate":
                state.ask_form(FormTarget(Operation.EVALUATE, card.target))
            case "resume":
                state.ask_form(FormTarget(Operation.RESUME, card.target))
            case "warm start":
                state.ask_form(warm_start_target(card.target))
            case "deploy":
                env_id = card.env_id or state.env_id
                state.show_play(PlayTarget(env_id, Mode.AGENT, card.target))
            case "switch":
                state.choose_environment(card.env_id)
            case "check":
                self._facts.check(card)
            case "copy":
                QGuiApplication.clipboard().setText(str(card.path))
                state.say(Notice("Path copied", Severity.GOOD))
            case "folder":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(card.path.parent)))

    def _on_choice(self, value: str) -> None:
        self._limit = PAGE
        self._refresh()

    def _on_more(self) -> None:
        self._limit += PAGE
        self._refresh()

    # What happens elsewhere

    def _on_imported(self, cards: list[Card]) -> None:
        self._imported = cards
        if self.choice.value == ALL_RUNS:
            self._refresh()

    def _on_failed(self, error: MosaicError) -> None:
        self._workbench.state.say(notice_of(error))

    def _on_environment_changed(self, env_id: str) -> None:
        self._show_all_actions()

    def _on_workers_changed(self) -> None:
        self._show_all_actions()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._is_active and self.choice.value == ALL_RUNS and not self._changing.isActive():
            self._changing.start()


def _looks(cards: tuple[Card, ...]) -> list[Card]:
    """Without what changes every second and is not on the card: the progress of its run."""
    return [replace(card, run=None) for card in cards]


async def _details(client: AsyncTrainerClient, run_ids: list[str]) -> list[RunRecord]:
    async def one(run_id: str) -> RunRecord | None:
        try:
            return await client.get_run(run_id)
        except MosaicError:
            return None  # deleted in the meantime

    found = await asyncio.gather(*(one(run_id) for run_id in run_ids))
    return [record for record in found if record is not None]
