"""OutcomePage: the centre of a run that is over. What came of it, seen, drawn and in words."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.metrics import MetricInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.front.run_words import state_word
from mosaic.front.solving import Solved, SolvingWatch, may_be_solved
from mosaic.gui.charts.model.metrics import is_return
from mosaic.gui.outcome.best_episode import BestEpisode
from mosaic.gui.outcome.button_flow import ButtonFlow
from mosaic.gui.outcome.facts import FactRow
from mosaic.gui.outcome.failure_card import FailureCard
from mosaic.gui.outcome.log_tail import LogTail
from mosaic.gui.outcome.metric_curve import MetricCurve
from mosaic.gui.outcome.model.failure import failure_text
from mosaic.gui.outcome.model.outcome import OutcomeText, Threshold, drawn_metric, outcome_text
from mosaic.gui.outcome.model.room import Lines, shares
from mosaic.gui.replay.episode_source import first_episode
from mosaic.gui.runs.model.logs import LogLines
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
_LEAST_SEEN = 140  # high: less of them tells nothing
_MARGIN, _SPACING = 12, 10
_LAST_LINES = 20
_PAUSE_MS = 150


class Findings(NamedTuple):
    """What the daemon knows about the episodes of a run."""

    best: EpisodeSummary | None
    threshold: Threshold | None


class Seen(QWidget):
    """The episode and the curve. They take what room there is, and never less than they need."""

    def __init__(self, *parts: QWidget) -> None:
        super().__init__()
        self._parts = parts
        self.box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self.box.setContentsMargins(0, 0, 0, 0)
        self.box.setSpacing(_MARGIN)
        for part in parts:  # halves, whatever each would like
            part.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
            self.box.addWidget(part, 1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)

    @property
    def has_any(self) -> bool:
        return any(not part.isHidden() for part in self._parts)

    @property
    def least_height(self) -> int:
        """Side by side."""
        needs = (part.minimumSizeHint().height() for part in self._parts if not part.isHidden())
        return max(_LEAST_SEEN, *needs, 0) if self.has_any else 0

    def arrange(self, width: int, height: int) -> None:
        directions = QBoxLayout.Direction
        is_high = height > max(width * _HIGH, 2 * self.least_height + _MARGIN)
        self.box.setDirection(directions.TopToBottom if is_high else directions.LeftToRight)

    def hasHeightForWidth(self) -> bool:
        return False

    def sizeHint(self) -> QSize:
        return QSize(0, self.least_height)


class Body(QWidget):
    """What scrolls in a low window."""

    changed = Signal()  # something in it needs another height

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.changed.emit()
        return done


class OutcomePage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("outcome-page")
        self._workbench, self._state = workbench, workbench.state
        self._is_open = False
        self._run_id = ""
        self._findings = Findings(None, None)
        self._has_read = False
        self._metrics: list[MetricInfo] = []
        self._knows_metrics = False
        self._reading: Task | None = None
        self._measuring: Task | None = None
        self._reading_log: Task | None = None
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
        self.best, self.curve = BestEpisode(workbench), MetricCurve(workbench)
        self.seen = Seen(self.best, self.curve)
        self.log_title = label("last lines of its log", "caption")
        self.log = LogTail("outcome-log")
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
        self._stop_reading()
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
            self._stop_reading()  # an answer under way is about the run before
            self._findings = Findings(None, None)
            self._has_read = self._knows_metrics = False
            self._metrics = []
            self.note.setText("")
            self.note.hide()
            self._show_log(())
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
        self._stop_reading()
        record = self._record
        if record is None or not self._is_open:
            return
        if not self._has_read and may_have_episodes(record):
            self._has_read = True
            self.best.show()  # its last episodes may have become known just now
            self._arrange()
            self.best.show_run(self._run_id)
        threshold, run_id = self._threshold(record), self._run_id
        self._measuring = self._workbench.bridge.ask(
            lambda client: client.metrics(run_id), self._on_metrics, lambda error: None
        )
        self._reading = self._workbench.bridge.ask(
            lambda client: _read_findings(client, record, threshold),
            self._on_findings,
            lambda error: None,
        )

    def _stop_reading(self) -> None:
        for task in (self._reading, self._measuring, self._reading_log):
            if task is not None:
                task.cancel()

    def _refresh(self) -> None:
        record = self._record
        if not self._is_open or record is None:
            return
        worker = self._state.worker(record.worker)
        able = worker.capabilities if worker else None
        can_resume = not problem_of(RunAction.RESUME, record, able)
        failure = failure_text(record, can_resume)
        text = outcome_text(record, able, *self._findings, self._metrics)
        self._name.setText(record.run_name)
        self._name.setToolTip(record.run_name)
        self._badge.show_word(state_word(record))
        self.failure_card.show_failure(record.run_id, failure)
        self.headline.setText(text.headline)
        self.solved.setText(text.solved)
        self.solved.setVisible(bool(text.solved))
        self.facts.show_facts(text.facts)
        self._show_actions(text, failure.offers if failure else ())
        self._arrange()

    def _show_actions(self, text: OutcomeText, already: tuple[RunAction, ...]) -> None:
        """Those that the failure card does not offer already."""
        offered = {
            action: title
            for action, title in zip(text.actions, text.titles, strict=True)
            if action not in already
        }
        if list(offered) != list(self.buttons):
            for old in self.buttons.values():
                old.hide()
                old.deleteLater()
            self.buttons = {action: self._button(action) for action in offered}
            self._actions.show_buttons(self.buttons.values())
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

    def _on_metrics(self, metrics: list[MetricInfo]) -> None:
        """The curve is of what matters most; what solves the environment is a return."""
        self._metrics, self._knows_metrics = metrics, True
        record, metric = self._record, drawn_metric(metrics)
        if record is None or not metric:
            self._on_curve(False)
        else:
            threshold = self._threshold(record) if is_return(metric) else None
            self.curve.show_run(self._run_id, metric, threshold)
            self.curve.refresh(self._run_id)
        self._refresh()

    def _on_no_episode(self, why: str) -> None:
        """The curve has the room, then."""
        self.best.hide()
        self.note.setText(why)
        self.note.setVisible(bool(why))
        self._read_log()
        self._arrange()

    def _on_curve(self, has_curve: bool) -> None:
        self.curve.setVisible(has_curve)
        self._read_log()
        self._arrange()

    def _read_log(self) -> None:
        """Of a run with nothing else to be seen. One that failed shows it in its card."""
        if self._reading_log is not None:
            self._reading_log.cancel()
        record, run_id = self._record, self._run_id
        is_bare = self._knows_metrics and not self.seen.has_any
        if not is_bare or record is None or record.failure is not None:
            self._show_log(())
            return
        self._reading_log = self._workbench.bridge.ask(
            lambda client: last_lines(client, run_id), self._show_log, lambda error: None
        )

    def _show_log(self, lines: tuple[str, ...]) -> None:
        self.log.show_lines(lines)
        self.log_title.setVisible(bool(lines))
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
        self._actions = ButtonFlow()
        words = QVBoxLayout()
        words.setSpacing(4)
        for widget in (self.headline, self.solved, self.note):
            words.addWidget(widget)
        self._body = Body()
        body = self._body_layout = QVBoxLayout(self._body)
        body.setContentsMargins(_MARGIN, 0, _MARGIN, _MARGIN)
        body.setSpacing(_SPACING)
        body.addLayout(words)
        body.addWidget(self.failure_card)
        body.addWidget(self.seen, 1)
        body.addWidget(self.log_title)
        body.addWidget(self.log)
        body.addWidget(self.facts)
        body.addLayout(self._actions)
        self._rest = QWidget()  # what is to be done next is below what there is to see
        body.addWidget(self._rest, 1)
        self._scroll = QScrollArea()
        self._scroll.setAccessibleName("What came of the run")
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its buttons take it, and scroll it
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._body)
        self._body.changed.connect(self._arrange)
        # The heading is where that of the live page is: nothing moves when a run ends.
        heading.setContentsMargins(12, 8, 12, 8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(heading)
        layout.addWidget(self._scroll, 1)

    def _arrange(self) -> None:
        """Shares what the words, numbers and buttons leave of the height."""
        view = self._scroll.maximumViewportSize()
        width = view.width() - 2 * _MARGIN
        self.facts.fit(width)
        is_failed = not self.failure_card.isHidden()
        tail = self.failure_card.tail if is_failed else self.log
        lines = Lines() if tail.isHidden() else Lines(tail.least_height, tail.whole_height)
        least_seen = self.seen.least_height
        self.seen.setMinimumHeight(least_seen)
        room = view.height() - self._words_height(view.width(), tail)
        # With what is to be seen comes the distance to the next part.
        needed = least_seen + _SPACING if least_seen else 0
        share = shares(room, lines, needed, gives_way=is_failed)
        tail.setFixedHeight(max(1, share.lines))
        self.seen.arrange(width, share.seen - _SPACING)
        self.seen.setVisible(bool(share.seen))
        self._rest.setVisible(not share.seen)

    def _words_height(self, width: int, tail: LogTail) -> int:
        """Of everything but the lines of the log and what is to be seen."""
        for part in (self.failure_card, self.seen, self.facts):
            if (layout := part.layout()) is not None:
                layout.activate()  # what was set just now counts
        height = self._body_layout.totalHeightForWidth(width)
        if not tail.isHidden():
            height -= tail.minimumHeight()
        if not self.seen.isHidden():
            height -= self.seen.minimumHeight() + _SPACING
        elif not self._rest.isHidden():
            height -= _SPACING
        return height


async def last_lines(client: AsyncTrainerClient, run_id: str) -> tuple[str, ...]:
    """Of everything the run has printed."""
    kept = LogLines(_LAST_LINES)
    chunks = client.stream_log(run_id, tail_lines=_LAST_LINES)
    try:
        async for chunk in chunks:
            kept.feed(chunk.stream, chunk.data)
    finally:
        await chunks.aclose()
    kept.finish()
    return tuple(line.text for line in kept.lines)


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
