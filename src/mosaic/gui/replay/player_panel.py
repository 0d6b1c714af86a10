"""PlayerPanel: the picture of a replay, what its step brought, and the controls."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QPushButton, QStackedLayout, QVBoxLayout, QWidget

from mosaic.gui.replay.controls import Scrubber, StepStrip, TransportBar
from mosaic.gui.replay.model import (
    Badge,
    EpisodeSteps,
    ReplayPlayer,
    comparison_badge,
    faster,
    hud_fields,
    slower,
)
from mosaic.gui.replay.simulation_thread import StepDrawn
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.pictures import PictureView

_TICK_MS = 16
_SHOWN_PER_SECOND = 1000 / _TICK_MS
# This many pictures are drawn ahead.
_AHEAD = 12

# What there is instead of a picture: what it is called, and what shows it.
Offers = tuple[tuple[str, Callable[[], None]], ...]


class PlayerPanel(QWidget):
    wanted = Signal(int, object)  # a step, and those that come next
    stepped = Signal(int)  # where it stands now

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.player = ReplayPlayer()
        self.steps: EpisodeSteps | None = None
        self._is_waiting = False  # for a picture
        self._verdict: Badge | None = None
        self._simulated_reward: float | None = None
        self.picture = PictureView()
        self.picture.setObjectName("replay-picture")
        self.picture.setAccessibleName("Picture of the step")
        self.picture.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.message = EmptyState(theme, "movie-open-outline", "")
        self.offers = QWidget()
        self._offer_rows = QVBoxLayout(self.offers)
        self._offer_rows.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        page = QWidget()
        page_layout = QVBoxLayout(page)
        page_layout.addWidget(self.message, 1)
        page_layout.addWidget(self.offers)
        page_layout.addStretch(0)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        self._stack.addWidget(self.picture)
        self._stack.addWidget(page)
        self.hud = StepStrip(theme)
        self.scrubber = Scrubber(theme)
        self.transport = TransportBar(theme)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(stack, 1)
        layout.addWidget(self.hud)
        layout.addWidget(self.scrubber)
        layout.addWidget(self.transport)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        self.scrubber.valueChanged.connect(self.seek)
        self.transport.pressed.connect(self._on_pressed)
        self.transport.looped.connect(self._on_looped)
        self.transport.speed_chosen.connect(self.choose_speed)
        self.show_message("")

    # What the page tells it

    def show_message(self, title: str, text: str = "", offers: Offers = ()) -> None:
        """In place of the picture: why there is none, and what there is instead."""
        self.stop()
        self.picture.show_image(None)
        self.message.show_text(title, text)
        while (item := self._offer_rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for name, action in offers:
            button = QPushButton(name)
            button.clicked.connect(lambda _=False, action=action: action())
            self._offer_rows.addWidget(button)
        self.offers.setVisible(bool(offers))
        self._stack.setCurrentIndex(1)
        self.transport.set_ready(False)
        self.scrubber.setEnabled(False)
        self.hud.setVisible(self.steps is not None)

    def show_steps(self, steps: EpisodeSteps | None) -> None:
        """Another episode; its pictures come later, if at all."""
        self.steps = steps
        self._verdict = None
        self._simulated_reward = None
        self.player.load(len(steps) if steps else 0)
        lows, highs = steps.marks() if steps else ([], [])
        self.scrubber.show_steps(self.player.steps, lows, highs)
        self.transport.show_extremes(
            steps.lowest if steps else None, steps.highest if steps else None
        )
        self.hud.setVisible(steps is not None)
        self.hud.show_badge(comparison_badge("", 0))
        self._show_place()

    def begin(self) -> None:
        """The simulator is there."""
        self.transport.set_ready(True)
        self.scrubber.setEnabled(True)
        self._ask()

    def show_picture(self, shown: StepDrawn) -> None:
        self._is_waiting = False
        self._stack.setCurrentIndex(0)
        self.picture.show_image(shown.image)
        self._simulated_reward = shown.step.reward if shown.step.index else None
        if shown.step.index < self.player.step:
            self.player.end_at(shown.step.index)
            self._after_change()
        if self._verdict is None:
            self.hud.show_badge(comparison_badge(shown.difference, shown.seen))
        self._show_fields()

    def show_verdict(self, badge: Badge) -> None:
        self._verdict = badge
        self.hud.show_badge(badge)

    @property
    def image(self) -> QImage | None:
        return self.picture.image

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
        self._is_waiting = False
        self.transport.show_playing(False)

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
        if self._is_waiting:
            self.player.hold(now)
            return
        before = self.player.step
        if self.player.advance(now) != before:
            self._ask()
        if not self.player.is_playing:
            self._after_change()

    def _after_change(self) -> None:
        self.transport.show_playing(self.player.is_playing)
        if self.player.is_playing and not self._timer.isActive():
            self._timer.start()
        elif not self.player.is_playing:
            self._timer.stop()
        if self.player.step != self.scrubber.value():
            self._ask()

    def _ask(self) -> None:
        self._show_place()
        if not self.scrubber.isEnabled():
            return
        self._is_waiting = True
        self.wanted.emit(self.player.step, self.player.ahead(_SHOWN_PER_SECOND, _AHEAD))

    def _show_place(self) -> None:
        self.scrubber.show_step(self.player.step)
        self._show_fields()
        self.stepped.emit(self.player.step)

    def _show_fields(self) -> None:
        if self.steps is not None:
            reward = None if self._is_waiting else self._simulated_reward
            self.hud.show_fields(hud_fields(self.player.step, self.steps, reward))
