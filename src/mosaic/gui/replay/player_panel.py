"""PlayerPanel: one episode or two side by side, played in step, with the controls of both."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QImage, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from mosaic.gui.replay.controls import Scrubber, TransportBar
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.gui.replay.model.player import ReplayPlayer, faster, slower
from mosaic.gui.replay.model.words import Badge
from mosaic.gui.replay.screen import EpisodeScreen, Offers
from mosaic.gui.replay.simulation_thread import StepDrawn
from mosaic.gui.replay.strips import StripStack
from mosaic.gui.theme.theme import Theme

_TICK_MS = 16
_SHOWN_PER_SECOND = 1000 / _TICK_MS
# This many pictures are drawn ahead.
_AHEAD = 12
# Two pictures are one above the other in a room that is higher than this share of its width.
_HIGH = 0.9


class PlayerPanel(QWidget):
    wanted = Signal(int, object)  # a step, and those that come next
    stepped = Signal(int)  # where it stands now
    beside_closed = Signal()
    ended = Signal()  # it has played to the end

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.player = ReplayPlayer()
        self._waiting: set[EpisodeScreen] = set()  # for their next picture
        self.main = EpisodeScreen(theme, "replay")
        self.beside = EpisodeScreen(theme, "beside", is_closable=True)
        self.beside.hide()
        self.picture, self.hud = self.main.picture, self.main.hud
        self.message, self.offers = self.main.message, self.main.offers
        self.scrubber = Scrubber(theme)
        self.strips = StripStack(theme)
        self.transport = TransportBar(theme)
        self._screens = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._screens.setSpacing(12)
        self._screens.addWidget(self.main, 1)
        self._screens.addWidget(self.beside, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(self._screens, 1)
        layout.addWidget(self.scrubber)
        layout.addWidget(self.strips)
        layout.addWidget(self.transport)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        self.scrubber.valueChanged.connect(self.seek)
        self.strips.chosen.connect(self.seek)
        self.transport.pressed.connect(self._on_pressed)
        self.transport.looped.connect(self._on_looped)
        self.transport.speed_chosen.connect(self.choose_speed)
        self.transport.strips_toggled.connect(self.strips.show_strips)
        self.beside.close_asked.connect(self.close_beside)
        self.show_message("")

    @property
    def steps(self) -> EpisodeSteps | None:
        return self.main.steps

    @property
    def image(self) -> QImage | None:
        return self.picture.image

    @property
    def has_beside(self) -> bool:
        return not self.beside.isHidden()

    def make_compact(self) -> None:
        """A picture that moves, with the least that controls it."""
        self.main.make_compact()
        self.scrubber.hide()
        self.strips.show_strips(False)
        self.transport.make_compact()

    # What the page tells it

    def show_message(self, title: str, text: str = "", offers: Offers = ()) -> None:
        """In place of the picture: why there is none, and what there is instead."""
        self.stop()
        self.main.show_message(title, text, offers)
        self.strips.leave_out_observations()
        self.transport.set_ready(False)
        self.scrubber.setEnabled(False)

    def show_steps(self, steps: EpisodeSteps | None) -> None:
        """Another episode; its pictures come later, if at all."""
        self.main.show_steps(steps)
        self.player.load(max(self.main.length, self._beside_length))
        self._show_length()
        self.strips.show_episode(steps)
        self._show_place()

    def begin(self) -> None:
        """The simulator is there: it plays."""
        self.transport.set_ready(True)
        self.scrubber.setEnabled(True)
        self.player.play(time.monotonic())
        self._ask()
        self._after_change()

    def show_picture(self, shown: StepDrawn) -> None:
        self._show_picture(self.main, shown)
        # A picture asked for before the last move says nothing about where the episode ends.
        if not self.has_beside and shown.step.index < min(shown.wanted, self.player.step):
            self.player.end_at(shown.step.index)
            self._after_change()

    def show_verdict(self, badge: Badge) -> None:
        self.main.show_verdict(badge)

    # Two episodes

    def open_beside(self, heading: str) -> None:
        self.beside.show_heading(heading)
        self.beside.show_steps(None)
        self.beside.show_message("Reading the recording…")
        self.beside.show()
        self._arrange()
        self._show_length()

    def show_beside_steps(self, steps: EpisodeSteps) -> None:
        self.beside.show_steps(steps)
        self._show_length()

    def begin_beside(self) -> None:
        """Both from the beginning, in step."""
        self.player.seek(0)
        self.player.play(time.monotonic())
        self._ask()
        self._after_change()

    def show_beside_picture(self, shown: StepDrawn) -> None:
        self._show_picture(self.beside, shown)

    def show_beside_message(self, title: str, text: str) -> None:
        self._waiting.discard(self.beside)
        self.beside.show_message(title, text)

    def close_beside(self) -> None:
        if self.has_beside:
            self.beside.hide()
            self.beside.show_steps(None)
            self._waiting.discard(self.beside)
            self._show_length()
            self._ask()
            self.beside_closed.emit()

    # What the person does

    def toggle(self) -> None:
        self.player.toggle(time.monotonic())
        self._after_change()

    def seek(self, step: int) -> None:
        self.player.seek(step)
        self._ask()

    def step_by(self, by: int) -> None:
        self.player.move(by)
        self._after_change()

    def choose_speed(self, speed: float) -> None:
        self.player.speed = speed
        self.transport.show_speed(speed)

    def go_faster(self) -> None:
        self.choose_speed(faster(self.player.speed))

    def go_slower(self) -> None:
        self.choose_speed(slower(self.player.speed))

    def stop(self) -> None:
        self.player.pause()
        self._timer.stop()
        self._waiting.clear()
        self.transport.show_playing(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _on_pressed(self, name: str) -> None:
        if self.steps is None:
            return
        match name:
            case "play":
                self.toggle()
            case "back" | "forth":
                self.step_by(-1 if name == "back" else 1)
            case "start" | "end":
                self.seek(0 if name == "start" else self.player.steps)
            case "lowest" | "highest":
                step = self.steps.lowest if name == "lowest" else self.steps.highest
                if step is not None:
                    self.player.pause()
                    self.seek(step)
                    self._after_change()

    def _on_looped(self, is_looped: bool) -> None:
        self.player.is_looped = is_looped

    # Time

    def _on_tick(self) -> None:
        now = time.monotonic()
        if self._waiting:
            self.player.hold(now)
            return
        before = self.player.step
        if self.player.advance(now) != before:
            self._ask()
        if not self.player.is_playing:
            self._after_change()
            self.ended.emit()

    def _after_change(self) -> None:
        self.transport.show_playing(self.player.is_playing)
        if self.player.is_playing and not self._timer.isActive():
            self._timer.start()
        elif not self.player.is_playing:
            self._timer.stop()
        if self.player.step != self.scrubber.value():
            self._ask()

    def _ask(self) -> None:
        if self.scrubber.isEnabled():
            self._waiting = {screen for screen in self._shown if screen.steps is not None}
        self._show_place()
        if self._waiting:
            self.wanted.emit(self.player.step, self.player.ahead(_SHOWN_PER_SECOND, _AHEAD))

    # What is shown

    @property
    def _shown(self) -> tuple[EpisodeScreen, ...]:
        return (self.main, self.beside) if self.has_beside else (self.main,)

    @property
    def _beside_length(self) -> int:
        return self.beside.length if self.has_beside else 0

    def _show_length(self) -> None:
        self.player.stretch(max(self.main.length, self._beside_length))
        steps = self.main.steps
        lows, highs = steps.marks() if steps else ([], [])
        self.scrubber.show_steps(self.player.steps, lows, highs)
        self.strips.show_length(self.player.steps)
        self.transport.show_extremes(
            steps.lowest if steps else None, steps.highest if steps else None
        )

    def _show_picture(self, screen: EpisodeScreen, shown: StepDrawn) -> None:
        if shown.wanted == self.player.step:
            self._waiting.discard(screen)
        screen.show_picture(shown)

    def _show_place(self) -> None:
        step = self.player.step
        self.scrubber.show_step(step)
        self.strips.show_step(step)
        for screen in self._shown:
            screen.show_step(step, is_drawn=screen not in self._waiting)
        self.stepped.emit(min(step, self.main.length))

    def _arrange(self) -> None:
        directions = QBoxLayout.Direction
        is_high = self.height() > self.width() * _HIGH
        self._screens.setDirection(directions.TopToBottom if is_high else directions.LeftToRight)
