"""OutcomePage: the centre of a run that is over. What came of it, seen, drawn and in words."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.run_record import RunRecord
from mosaic.front.run_words import state_word
from mosaic.front.solving import Solved, SolvingWatch, may_be_solved
from mosaic.gui.outcome.best_episode import BestEpisode
from mosaic.gui.outcome.failure_card import FailureCard
from mosaic.gui.outcome.model.failure import failure_text
from mosaic.gui.outcome.model.outcome import Fact, OutcomeText, Threshold, outcome_text
from mosaic.gui.outcome.return_curve import ReturnCurve
from mosaic.gui.replay.episode_source import first_episode
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.possible_actions import RunAction, may_have_episodes, problem_of
from mosaic.gui.state.targets import ReplayTarget
from mosaic.gui.widgets.indicators import StateBadge
from mosaic.gui.widgets.pictures import to_image
from mosaic.gui.widgets.roles import eliding_label, label, with_role
from mosaic.gui.widgets.stage_page import StagePage

# Picture and curve are one above the other in a room that is higher than this share of its width.
_HIGH = 0.9
_WORDS_HEIGHT = 200  # of what is above and below them
_FACT_WIDTH = 96
_PAUSE_MS = 150


class Findings(NamedTuple):
    """What the daemon knows about the episodes of a run."""

    best: EpisodeSummary | None
    threshold: Threshold | None


class FactRow(QWidget):
    """Numbers with their names above, in as many columns as there is room for."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._theme = workbench.theme
        self._facts: tuple[Fact, ...] = ()
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)

    def show_facts(self, facts: tuple[Fact, ...]) -> None:
        if facts != self._facts:
            self._facts = facts
            self._fill()
        self.setVisible(bool(facts))

    @property
    def text(self) -> str:
        return " · ".join(f"{fact.name} {fact.value}" for fact in self._facts)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fitting() != self._columns:
            self._fill()

    def _fitting(self) -> int:
        """In rows of the same length."""
        room = max(1, self.width() // _FACT_WIDTH)
        rows = -(-len(self._facts) // room)
        return max(1, -(-len(self._facts) // max(1, rows)))

    def _fill(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 0)
        self._columns = self._fitting()
        for place, fact in enumerate(self._facts):
            cell = QWidget()
            lines = QVBoxLayout(cell)
            lines.setContentsMargins(0, 0, 0, 0)
            lines.setSpacing(0)
            value = eliding_label(fact.value)
            value.setFont(self._theme.mono_font(13))
            lines.addWidget(eliding_label(fact.name, "caption"))
            lines.addWidget(value)
            cell.setToolTip(fact.tip or f"{fact.name}: {fact.value}")
            self._grid.addWidget(cell, place // self._columns, place % self._columns)
        for column in range(self._columns):
            self._grid.setColumnStretch(column, 1)


class OutcomePage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("outcome-page")
        self._workbench, self._state = workbench, workbench.state
        self._is_open = False
        self._run_id = ""
        self._findings = Findings(None, None)
        self._has_read = False
        self._reading: Task | None = None
        # Whoever passes many runs with the arrow keys waits for none of them.
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._read)
        self._name, self._badge = eliding_label("", "section"), StateBadge(workbench.theme)
        self.failure_card = FailureCard(workbench)
        self.headline = label("", "section")
        self.headline.setObjectName("outcome-headline")
        self.solved = label("", "muted")
        self.solved.setObjectName("outcome-solved")
        self.note = label("", "caption")
        for words in (self.headline, self.solved, self.note):
            words.setWordWrap(True)
        self.best, self.curve = BestEpisode(workbench), ReturnCurve(workbench)
        for part in (self.best, self.curve):  # halves, whatever each would like
            part.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        self.facts = FactRow(workbench)
        self.buttons: dict[RunAction, QPushButton] = {}
        self._lay_out()
        self.best.nothing.connect(self._on_no_episode)
        self.curve.arrived.connect(self._on_curve)
        self.failure_card.log_asked.connect(partial(workbench.commands.trigger, "view.errors"))
        self.failure_card.action_asked.connect(lambda action: self._act(RunAction(action)))
        self._state.selection_changed.connect(self._on_selection_changed)
        self._state.details_changed.connect(self._on_details_changed)
        self._state.workers_changed.connect(self._refresh)
        self._state.catalogue_changed.connect(self._on_catalogue_changed)
        self._state.runs.changed.connect(self._on_runs_changed)

    # StagePage

    def open(self) -> None:
        self._is_open = True
        self._show_run()

    def leave(self) -> None:
        self._is_open = False
        self._run_id = ""
        self._pause.stop()
        if self._reading is not None:
            self._reading.cancel()
        self.best.leave()
        self.curve.leave()

    # What is shown

    @property
    def _record(self) -> RunRecord | None:
        """The whole record when it is there: the tail of its log tells more."""
        details = self._state.details
        if details is not None and details.run_id == self._run_id:
            return details
        return self._state.runs.get(self._run_id)

    def _show_run(self) -> None:
        if self._state.leading_id != self._run_id:
            self._run_id = self._state.leading_id
            self._findings = Findings(None, None)
            self._has_read = False
            self.note.setText("")
            self.note.hide()
            self.curve.leave()
            record = self._record
            has_episodes = record is not None and may_have_episodes(record)
            self.best.setVisible(has_episodes)
            self.curve.setVisible(has_episodes)
            self.best.clear(self._last_frame())
            self._arrange()
            self._pause.start()
        self._refresh()

    def _last_frame(self) -> QImage | None:
        """What was watched just now stays until the episode plays."""
        live = self._state.live
        tiles = live.frames.tiles if live.run_id == self._run_id else ()
        picture = next((tile.picture for tile in tiles if tile.picture is not None), None)
        return None if picture is None else to_image(picture)

    def _read(self) -> None:
        """What the daemon knows beyond the record."""
        if self._reading is not None:
            self._reading.cancel()
        record = self._record
        if record is None or not self._is_open:
            return
        if not self._has_read and may_have_episodes(record):
            self._has_read = True
            self.best.show()  # its last episodes may have become known just now
            self._arrange()
            self.best.show_run(self._run_id)
        threshold = self._threshold(record)
        self.curve.show_run(self._run_id, threshold)
        self.curve.refresh(self._run_id)
        self._reading = self._workbench.bridge.ask(
            lambda client: _read_findings(client, record, threshold),
            self._on_findings,
            lambda error: None,
        )

    def _refresh(self) -> None:
        record = self._record
        if not self._is_open or record is None:
            return
        worker = self._state.worker(record.worker)
        able = worker.capabilities if worker else None
        can_resume = not problem_of(RunAction.RESUME, record, able)
        failure = failure_text(record, can_resume)
        text = outcome_text(record, able, *self._findings)
        self._name.setText(record.run_name)
        self._name.setToolTip(record.run_name)
        self._badge.show_word(state_word(record))
        self.failure_card.show_failure(record.run_id, failure)
        self._arrange()
        self.headline.setText(text.headline)
        self.solved.setText(text.solved)
        self.solved.setVisible(bool(text.solved))
        self.facts.show_facts(text.facts)
        self._show_actions(text, failure.offers if failure else ())

    def _show_actions(self, text: OutcomeText, already: tuple[RunAction, ...]) -> None:
        """Those that the failure card does not offer already."""
        offered = {
            action: title
            for action, title in zip(text.actions, text.titles, strict=True)
            if action not in already
        }
        if list(offered) != list(self.buttons):
            for old in self.buttons.values():
                self._actions.removeWidget(old)
                old.hide()
                old.deleteLater()
            self.buttons = {action: self._button(action) for action in offered}
            for place, button in enumerate(self.buttons.values()):
                self._actions.insertWidget(place, button)
        for action, title in offered.items():
            self.buttons[action].setText(title)

    def _button(self, action: RunAction) -> QPushButton:
        button = QPushButton()
        if action is RunAction.REPLAY:
            with_role(button, "primary")
        button.setObjectName(f"outcome-{action.name.lower()}")
        button.clicked.connect(lambda: self._act(action))
        return button

    def _act(self, action: RunAction) -> None:
        actions, run_id = self._workbench.run_actions, self._run_id
        match action:
            case RunAction.REPLAY:
                best = self._findings.best
                self._state.show_replay(ReplayTarget(run_id, best.episode_index if best else None))
            case RunAction.EVALUATE:
                actions.evaluate(run_id)
            case RunAction.RESUME:
                actions.resume(run_id)
            case RunAction.EDIT:
                actions.edit(run_id)
            case RunAction.RESUBMIT:
                actions.resubmit([run_id])

    # What happens

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        if self._is_open:
            self._show_run()

    def _on_details_changed(self, details: RunRecord | None) -> None:
        self._refresh()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._is_open and self._run_id in changed:
            self._pause.start()
            self._refresh()

    def _on_catalogue_changed(self) -> None:
        if self._is_open:
            self._pause.start()

    def _on_findings(self, findings: Findings) -> None:
        self._findings = findings
        self._refresh()

    def _on_no_episode(self, why: str) -> None:
        """The curve has the room, then."""
        self.best.hide()
        self.note.setText(why)
        self.note.setVisible(bool(why))
        self._arrange()

    def _on_curve(self, has_curve: bool) -> None:
        self.curve.setVisible(has_curve)
        self._arrange()

    def _threshold(self, record: RunRecord) -> float | None:
        environment = self._state.environment(record.env_id)
        return environment.reward_threshold if environment else None

    # What it looks like

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _lay_out(self) -> None:
        heading = QHBoxLayout()
        heading.setSpacing(8)
        heading.addWidget(self._name, 1)
        heading.addWidget(self._badge)
        self._seen = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._seen.setSpacing(12)
        self._seen.addWidget(self.best, 1)
        self._seen.addWidget(self.curve, 1)
        self._actions = QHBoxLayout()
        self._actions.setSpacing(8)
        self._actions.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(4)
        for widget in (self.headline, self.solved, self.note):
            words.addWidget(widget)
        body = self._body = QVBoxLayout()
        body.setContentsMargins(12, 0, 12, 12)
        body.setSpacing(10)
        body.addLayout(words)
        body.addWidget(self.failure_card)
        body.addLayout(self._seen, 1)
        self._rest = QWidget()
        body.addWidget(self._rest, 1)
        body.addWidget(self.facts)
        body.addLayout(self._actions)
        # The heading is where that of the live page is: nothing moves when a run ends.
        heading.setContentsMargins(12, 8, 12, 8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(heading)
        layout.addLayout(body, 1)

    def _arrange(self) -> None:
        directions = QBoxLayout.Direction
        is_high = self.height() - _WORDS_HEIGHT > self.width() * _HIGH
        self._seen.setDirection(directions.TopToBottom if is_high else directions.LeftToRight)
        # Without anything to see, a failure has the room; other words stay together at the top.
        is_bare = self.best.isHidden() and self.curve.isHidden()
        self.failure_card.set_roomy(is_bare)
        self._body.setStretchFactor(self.failure_card, 1 if is_bare else 0)
        self._body.setStretchFactor(self._seen, 0 if is_bare else 1)
        self._rest.setVisible(is_bare and self.failure_card.isHidden())


async def _read_findings(
    client: AsyncTrainerClient, record: RunRecord, threshold: float | None
) -> Findings:
    best = await first_episode(client, record.run_id, "best") if may_have_episodes(record) else None
    if threshold is None:
        return Findings(best, None)
    solved = await _solved(client, record, threshold) if may_be_solved(record, threshold) else None
    return Findings(best, Threshold(threshold, solved))


async def _solved(client: AsyncTrainerClient, record: RunRecord, threshold: float) -> Solved | None:
    watch = SolvingWatch(threshold, record.started_at)
    rows = client.episodes(record.run_id)
    try:
        async for episode in rows:
            if (found := watch.add(episode)) is not None:
                return found
    finally:
        await rows.aclose()
    return None
