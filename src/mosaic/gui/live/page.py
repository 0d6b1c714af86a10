"""LivePage: what the environments of the leading run look like, as it trains."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMainWindow,
    QSizePolicy,
    QStackedLayout,
    QVBoxLayout,
)

from mosaic.contracts.evaluation_summary import EvaluationBatch
from mosaic.contracts.run_record import RunRecord
from mosaic.frames.hud import NO_PROGRESS
from mosaic.front.run_words import state_word
from mosaic.gui.live.clips import ClipControl, save_snapshot
from mosaic.gui.live.message_page import MessagePage, OfferButtons
from mosaic.gui.live.model.hud import EvaluationFile, hud_of
from mosaic.gui.live.model.natural import (
    VIEW_HELP,
    VIEW_TEXTS,
    NaturalPicture,
    RateMeter,
    ViewKind,
    can_be_natural,
    fallback_text,
    natural_hud,
    rate_words,
    waiting_text,
    why_not_natural,
)
from mosaic.gui.live.model.situation import (
    LiveContent,
    Offer,
    Situation,
    can_pause,
    is_paused,
    situation_of,
    situation_without_run,
    status_of,
)
from mosaic.gui.live.picture_pane import LiveBar, PicturePane
from mosaic.gui.live.watching import Wanted, Watching
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.awaited_bundles import awaited_bundle
from mosaic.gui.state.live_watch import LiveFrames
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.state.targets import FormTarget, Operation, ReplayTarget
from mosaic.gui.tabs.desktop import open_file
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.indicators import StateBadge
from mosaic.gui.widgets.roles import eliding_label
from mosaic.gui.widgets.stage_page import StagePage

_DEFAULT_SLOTS, _DEFAULT_FPS = 8, 60
_WORDS_MS = 100  # words and numbers change no more often
_PLACE_MS = 1000
_RATE_MS = 500


class LivePage(StagePage):
    """A run is watched, and so renders, only while its pictures can be seen."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("live-view")
        self._workbench, self._state = workbench, workbench.state
        self._is_open = self._is_closing = False
        self._run_id = ""
        self._frames = LiveFrames()
        self._natural_problem = ""  # why this run cannot be shown at natural speed, once tried
        self._natural_shown: NaturalPicture | None = None  # None: the frames are samples
        self._rate = RateMeter()
        self._is_here: bool | None = None
        self._evaluation_file: EvaluationFile | None = None
        self._evaluation: EvaluationBatch | None = None
        self._looking: Task | None = None
        self.situation: Situation = situation_without_run(False)
        self._make_parts()
        self._words_timer = self._timer(_WORDS_MS, self._show_words)
        self._words_timer.setSingleShot(True)
        self._place_timer = self._timer(_PLACE_MS, self._look_at_place)
        self._rate_timer = self._timer(_RATE_MS, self._show_rate)
        state = workbench.state
        state.selection_changed.connect(self._on_selection_changed)
        state.details_changed.connect(self._on_details_changed)
        state.runs.changed.connect(self._on_runs_changed)

    def _make_parts(self) -> None:
        theme, settings = self._workbench.theme, self._workbench.settings
        slots = int(str(settings.value("live/slots", _DEFAULT_SLOTS)))
        fps = int(str(settings.value("live/fps", _DEFAULT_FPS)))
        self._name = eliding_label("", "section")
        self._name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.view = Segmented([(kind.value, VIEW_TEXTS[kind]) for kind in ViewKind])
        self.view.setObjectName("live-view-kind")
        for kind in ViewKind:
            self.view.button(kind.value).setToolTip(VIEW_HELP[kind])
        self.view.choose(str(settings.value("live/view", ViewKind.NATURAL.value)))
        self.note = eliding_label("", "muted")
        self.note.setObjectName("live-note")
        self.note.setContentsMargins(12, 4, 12, 0)
        self.note.hide()
        self._badge = StateBadge(theme)
        self.pane, self.message = PicturePane(theme), MessagePage(theme)
        self.canvas, self.hud = self.pane.canvas, self.pane.hud
        self.offers = OfferButtons()
        self.bar = LiveBar(theme, slots, fps)
        self.clips = ClipControl(self._workbench, self)
        self.watching = Watching(self._workbench, self)
        heading = QHBoxLayout()
        heading.setContentsMargins(12, 8, 12, 8)
        heading.setSpacing(8)
        heading.addWidget(self._name, 1)
        heading.addWidget(self.view)
        heading.addWidget(self._badge)
        self._stack = QStackedLayout()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(heading)
        layout.addLayout(self._stack, 1)
        # Filled when it has a place: before, Qt would open a window for its first page.
        self._stack.addWidget(self.message)
        self._stack.addWidget(self.pane)
        layout.addWidget(self.note)
        layout.addWidget(self.offers)
        layout.addWidget(self.bar)
        self.view.chosen.connect(self._on_view_chosen)
        self.message.offers.chosen.connect(self._on_offer_chosen)
        self.offers.chosen.connect(self._on_offer_chosen)
        self.pane.pause_asked.connect(self.toggle_pause)
        self.canvas.enlarged_changed.connect(self._on_enlarged_changed)
        self.bar.pause_asked.connect(self.toggle_pause)
        self.bar.grid_chosen.connect(self._on_grid_chosen)
        self.bar.fps_chosen.connect(self._on_fps_chosen)
        self.bar.snapshot_asked.connect(self.save_snapshot)
        self.bar.record_asked.connect(self._on_record_asked)
        self.bar.enlarge_asked.connect(self._on_enlarge_asked)
        self.bar.full_screen_asked.connect(self._on_full_screen_asked)
        self.clips.changed.connect(self.bar.show_recording)
        self.watching.arrived.connect(self._on_frames_arrived)
        self.watching.natural_began.connect(self._on_natural_began)
        self.watching.natural_failed.connect(self._on_natural_failed)

    # The stage

    def open(self) -> None:
        self._is_open = True
        self.window().installEventFilter(self)
        self._place_timer.start()
        self._show_run()

    def leave(self) -> None:
        self._is_open = False
        self.window().removeEventFilter(self)
        for timer in (self._place_timer, self._words_timer, self._rate_timer):
            timer.stop()
        self._watch(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.Close:
            # Closing a window of its own brings the page back into the other one.
            self._is_closing = isinstance(watched, QMainWindow)
        elif kind == QEvent.Type.WindowStateChange:
            self._refresh()
        return False

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._refresh()

    # What can be done

    def toggle_pause(self) -> None:
        record = self._record
        if record is None or not can_pause(record, self._details):
            return
        actions = self._workbench.run_actions
        (actions.unpause if is_paused(record) else actions.pause)([record.run_id])

    def save_snapshot(self) -> None:
        image, directory = self.canvas.snapshot(), self._directory
        if image.isNull() or directory is None:
            return
        steps = sum(each.steps for each in self._frames.metrics)
        if self._natural_shown is not None and self._record is not None:
            steps = self._record.progress.steps
        self._workbench.bridge.work(
            partial(save_snapshot, image, directory, steps), self._on_snapshot_saved
        )

    def _on_snapshot_saved(self, path: Path) -> None:
        text = f"Saved {path.parent.name}/{path.name}"
        self._state.say(
            Notice(text, Severity.GOOD, partial(open_file, self._workbench, path), "Open")
        )

    def _on_record_asked(self, is_wanted: bool) -> None:
        source = self.watching.source
        if is_wanted and source is not None and self._details is not None:
            self.clips.begin(source, self._details, self.canvas.enlarged)
        else:
            self.clips.end()

    def _on_enlarge_asked(self) -> None:
        slot = self.canvas.focused_slot if self.canvas.enlarged is None else None
        self.canvas.enlarge(slot)
        self.bar.show_enlarged(self.canvas.enlarged is not None)

    def _on_full_screen_asked(self) -> None:
        self._workbench.commands.trigger("view.page.full_screen")

    def _on_enlarged_changed(self, slot: int | None) -> None:
        self.bar.show_enlarged(slot is not None)
        self._show_words()

    def _on_grid_chosen(self, slots: int) -> None:
        self._workbench.settings.setValue("live/slots", slots)
        self._refresh()

    def _on_view_chosen(self, kind: str) -> None:
        """Whoever chooses what did not work before wants it tried again."""
        self._workbench.settings.setValue("live/view", kind)
        self._natural_problem = ""
        self._refresh()

    def _on_fps_chosen(self, fps: int) -> None:
        self._workbench.settings.setValue("live/fps", fps)
        self._refresh()

    def _on_offer_chosen(self, value: str) -> None:
        state, actions = self._state, self._workbench.run_actions
        match Offer(value):
            case Offer.TRAIN:
                state.ask_form(FormTarget(Operation.TRAIN))
            case Offer.NEWEST:
                state.select(record.run_id for record in state.runs.newest_first()[:1])
            case Offer.REPLAY:
                state.show_replay(ReplayTarget(self._run_id))
            case Offer.EVALUATE:
                actions.evaluate(self._run_id)
            case Offer.RESUME:
                actions.resume(self._run_id)
            case Offer.CHARTS:
                state.ask_tab("charts")
            case Offer.BUNDLES:
                record = self._record
                state.show_bundles(awaited_bundle(record) if record is not None else "")

    # What is shown

    @property
    def _record(self) -> RunRecord | None:
        return self._state.runs.get(self._run_id) or self._details

    @property
    def _details(self) -> RunRecord | None:
        details = self._state.details
        return details if details is not None and details.run_id == self._run_id else None

    @property
    def _directory(self) -> Path | None:
        folder = self._details.paths.get("run_directory") if self._details else ""
        return Path(folder) if folder else None

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        if self._is_open:
            self._show_run()

    def _on_details_changed(self, details: RunRecord | None) -> None:
        if self._is_open:
            self._look_at_place()
            self._refresh()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._is_open and (self._run_id in changed or not self._run_id):
            self._refresh()

    def _show_run(self) -> None:
        if self._state.leading_id != self._run_id:
            self._watch(False)
            self._run_id = self._state.leading_id
            self._frames, self._natural_shown = LiveFrames(), None
            self._is_here, self._evaluation_file, self._evaluation = None, None, None
            self._natural_problem = ""
            self.canvas.enlarge(None)
            self.canvas.show_tiles(())
        self._look_at_place()
        self._refresh()

    def _refresh(self) -> None:
        """Brings everything in line with the run, the pictures and whether they can be seen."""
        if not self._is_open:
            return
        record = self._record
        if record is None:
            self.situation = situation_without_run(len(self._state.runs) > 0)
        else:
            is_natural = self._kind is ViewKind.NATURAL
            self.situation = situation_of(
                record, self._details, self._is_here, self._frames, is_drawn_beside=is_natural
            )
        is_seen = self.isVisible() and not self.window().isMinimized()
        self._watch(is_seen and self.situation.is_watched)
        self.watching.hold(record is not None and is_paused(record))
        self._show_situation(record)

    @property
    def _kind(self) -> ViewKind:
        """What is shown, which need not be what was chosen."""
        is_possible = not self._natural_problem and can_be_natural(self._details, self._is_here)
        return ViewKind(self.view.value) if is_possible else ViewKind.MOSAIC

    def _watch(self, is_wanted: bool) -> None:
        kind = self._kind
        slots = 1 if kind is ViewKind.NATURAL else int(self.bar.grid.value)
        wanted = Wanted(self._run_id, kind, slots, int(self.bar.fps.currentData()))
        if self.watching.wanted == (wanted if is_wanted else None):
            return
        self.clips.end(is_last=self._is_closing)
        self._rate.clear()
        self.watching.stop()
        self._rate_timer.stop()
        if is_wanted:
            self.watching.start(wanted)
            self._rate_timer.start()

    def _on_natural_began(self) -> None:
        """Samples were shown until now."""
        self.clips.end()
        self._rate.clear()
        self._refresh()

    def _on_natural_failed(self, problem: str) -> None:
        self._natural_problem = problem
        self._refresh()

    def _on_frames_arrived(self, frames: LiveFrames) -> None:
        before, self._frames = self._frames, frames
        self._natural_shown = self.watching.shown
        if frames.has_picture:
            self.canvas.show_tiles(frames.tiles)
        is_same = (before.status, before.message) == (frames.status, frames.message)
        if not is_same or before.has_picture != frames.has_picture:
            self._refresh()
        elif not self._words_timer.isActive():
            self._words_timer.start()

    def _show_situation(self, record: RunRecord | None) -> None:
        situation, is_run = self.situation, record is not None
        self._name.setText(record.run_name if record else "Live frames")
        self._badge.setVisible(is_run)
        if record is not None:
            self._badge.show_word(state_word(record))
            self.bar.show_paused(is_paused(record), can_pause(record, self._details))
        has_pictures = situation.content is LiveContent.PICTURES
        self._stack.setCurrentWidget(self.pane if has_pictures else self.message)
        # Nothing to choose where no picture will come any more.
        self.bar.setVisible(is_run and (has_pictures or situation.is_watched))
        if has_pictures:
            self.canvas.show_veil(situation.veil)
            self.offers.show_offers(situation.offers)
        else:
            self.message.show_situation(situation)
            self.offers.show_offers(())
        self.bar.set_has_pictures(has_pictures, situation.is_watched, len(self._frames.tiles))
        self.bar.show_view(self._kind)
        self.view.setVisible(is_run and situation.is_watched)
        self._show_note(record)
        self._show_words()

    def _show_note(self, record: RunRecord | None) -> None:
        """Why something else is shown than what was chosen."""
        text = ""
        if record is not None and self.situation.is_watched:
            if self._kind.value != self.view.value:
                problem = why_not_natural(record, self._details, self._is_here)
                text = fallback_text(self._natural_problem or problem)
            elif self._kind is ViewKind.NATURAL and self.watching.shown is None:
                text = waiting_text(record.progress)
        self.note.setText(text)
        self.note.setToolTip(text)
        self.note.setVisible(bool(text))

    def _show_words(self) -> None:
        record = self._record
        status = status_of(record, self._frames) if record is not None else ""
        progress = record.progress if record is not None else NO_PROGRESS
        shown = self._natural_shown
        if shown is not None:
            hud = natural_hud(shown, progress, status, time.time(), self._evaluation)
        else:
            slot = self.canvas.enlarged
            hud = hud_of(self._frames, self._evaluation, slot, status, progress)
        self.hud.show_hud(hud)

    def _show_rate(self) -> None:
        """The number a person can trust: what was painted, not what was asked for."""
        self._rate.add(time.monotonic(), self.canvas.painted_pictures)
        tiles = 1 if self.canvas.enlarged is not None else len(self._frames.tiles)
        self.bar.rate.setText(rate_words(self._rate.per_second(tiles)))

    # What the run's folder says

    def _look_at_place(self) -> None:
        details, directory = self._details, self._directory
        if details is None or (self._looking is not None and not self._looking.is_done):
            return
        if directory is None:
            self._is_here = False
            return
        if self._evaluation_file is None:
            self._evaluation_file = EvaluationFile(directory)
        look = partial(_look, directory, self._evaluation_file)
        self._looking = self._workbench.bridge.work(look, partial(self._on_looked, self._run_id))

    def _on_looked(self, run_id: str, found: tuple[bool, EvaluationBatch | None]) -> None:
        if run_id == self._run_id and found != (self._is_here, self._evaluation):
            self._is_here, self._evaluation = found
            self._refresh()

    def _timer(self, milliseconds: int, due: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(milliseconds)
        timer.timeout.connect(due)
        return timer


def _look(directory: Path, evaluation: EvaluationFile) -> tuple[bool, EvaluationBatch | None]:
    return directory.is_dir(), evaluation.newest_batch()
