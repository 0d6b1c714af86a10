"""VideoPlayer: one video with its controls. Frames are decoded in the bridge's threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSlider, QToolButton, QVBoxLayout, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.videos.model import SPEEDS, Playback, VideoFrame, VideoReader, time_text
from mosaic.gui.widgets.pictures import PictureView, to_image
from mosaic.gui.widgets.roles import label, with_role

_TICK_MS = 16
_AHEAD = 8  # frames decoded before they are due
_TICKS = 1000  # of the slider


class VideoPlayer(QWidget):
    failed = Signal(object)  # MosaicError

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._playback = Playback()
        self._reader: VideoReader | None = None
        self._frames: deque[VideoFrame] = deque()
        self._is_at_end = False
        self._wanted_s: float | None = None  # a place to go to, once the reader is free
        self._task: Task | None = None
        self.picture = PictureView()
        self.picture.setAccessibleName("Video")
        self.play_button = self._button("Play", self.toggle)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, _TICKS)
        self.slider.setAccessibleName("Place in the video")
        self.slider.valueChanged.connect(self._on_slider)
        self.time = label(role="number")
        self.speed = QComboBox()
        self.speed.setAccessibleName("Speed")
        for value in SPEEDS:
            self.speed.addItem(f"{value:g}×", value)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.currentIndexChanged.connect(self._on_speed)
        self.loop_button = self._button("Play again and again", self._on_loop)
        self.loop_button.setCheckable(True)
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        workbench.theme.changed.connect(self._draw)
        self._draw()

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    @property
    def is_playing(self) -> bool:
        return self._playback.is_playing

    @property
    def position_s(self) -> float:
        return self._playback.position_s

    def open_video(self, path: Path | None, *, is_played: bool = False) -> None:
        """None closes what was open."""
        self.stop()
        old, self._reader = self._reader, None
        if old is not None:
            self._workbench.bridge.work(old.close)
        is_looping, speed = self._playback.is_looping, self._playback.speed
        self._playback = Playback()
        self._playback.is_looping, self._playback.speed = is_looping, speed
        self._frames.clear()
        self.picture.show_image(None)
        self._draw()
        if path is not None:
            self._task = self._workbench.bridge.work(
                lambda: _opened(path), lambda found: self._on_opened(*found, is_played), self._fail
            )

    def toggle(self) -> None:
        if self._reader is None:
            return
        if self.is_playing:
            self._playback.pause()
            self._timer.stop()
        else:
            if self._playback.play(time.monotonic()):
                self._go_to(0.0)
            self._timer.start()
        self._draw()

    def stop(self) -> None:
        self._playback.pause()
        self._timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._draw()

    def close_video(self) -> None:
        """For good: nobody works for a window any more that is closed."""
        self.stop()
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _button(self, name: str, clicked: Callable[[], None]) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.clicked.connect(clicked)
        return button

    def _lay_out(self) -> None:
        self.time.setMinimumWidth(84)
        self.speed.setFixedWidth(70)
        self.time.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        bar = QHBoxLayout()
        bar.setSpacing(4)
        bar.addWidget(self.play_button)
        bar.addWidget(self.slider, 1)
        bar.addWidget(self.time)
        bar.addWidget(self.speed)
        bar.addWidget(self.loop_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.picture, 1)
        layout.addLayout(bar)

    def _on_opened(self, reader: VideoReader, frames: list[VideoFrame], is_played: bool) -> None:
        self._reader = reader
        self._playback.duration_s = reader.duration_s
        self._is_at_end = False
        self._frames.extend(frames)
        self._show_due()
        self._draw()
        if is_played:
            self.toggle()

    def _on_tick(self) -> None:
        is_again = self._playback.advance(time.monotonic())
        if is_again:
            self._go_to(0.0)
        self._show_due()
        if self.is_playing:
            self._draw_place()
        else:
            self._timer.stop()
            self._draw()
        self._read_ahead()

    def _on_slider(self, value: int) -> None:
        if self._reader is not None:
            self._playback.seek(value / _TICKS * self._playback.duration_s, time.monotonic())
            self._go_to(self._playback.position_s)
            self._draw_place()

    def _on_speed(self) -> None:
        self._playback.speed = float(self.speed.currentData())

    def _on_loop(self) -> None:
        self._playback.is_looping = self.loop_button.isChecked()
        self._draw()

    def _go_to(self, at_s: float) -> None:
        self._wanted_s = at_s
        self._frames.clear()
        self._is_at_end = False
        self._read_ahead()

    def _read_ahead(self) -> None:
        """One request at a time; a place that is wanted meanwhile is next."""
        reader = self._reader
        if reader is None or (self._task is not None and not self._task.is_done):
            return
        if self._wanted_s is not None:
            at_s, self._wanted_s = self._wanted_s, None
            self._ask(lambda: reader.read_from(at_s, _AHEAD))
        elif len(self._frames) < _AHEAD and not self._is_at_end and self.is_playing:
            self._ask(lambda: reader.read(_AHEAD))

    def _ask(self, read: Callable[[], list[VideoFrame]]) -> None:
        self._task = self._workbench.bridge.work(read, self._on_frames, self._fail)

    def _on_frames(self, frames: list[VideoFrame]) -> None:
        self._task = None
        if self._wanted_s is None:
            self._is_at_end = len(frames) < _AHEAD
            self._frames.extend(frames)
            self._show_due(is_first=not self.is_playing)
        self._read_ahead()

    def _show_due(self, is_first: bool = True) -> None:
        """The newest frame whose time has come."""
        shown = None
        while self._frames and self._frames[0].at_s <= self._playback.position_s + 1e-6:
            shown = self._frames.popleft()
        if shown is None and is_first and self.picture.image is None and self._frames:
            shown = self._frames.popleft()
        if shown is not None:
            self.picture.show_image(to_image(shown.picture))

    def _fail(self, error: MosaicError) -> None:
        self.stop()
        self.failed.emit(error)

    def _draw(self) -> None:
        theme = self._workbench.theme
        self.play_button.setIcon(theme.icon("pause" if self.is_playing else "play"))
        words = "Pause" if self.is_playing else "Play"
        self.play_button.setAccessibleName(words)
        self.play_button.setToolTip(words)
        self.loop_button.setIcon(theme.icon("repeat"))
        for widget in (self.play_button, self.slider):
            widget.setEnabled(self._reader is not None)
        self._draw_place()

    def _draw_place(self) -> None:
        playback = self._playback
        self.time.setText(f"{time_text(playback.position_s)} / {time_text(playback.duration_s)}")
        self.slider.blockSignals(True)
        share = playback.position_s / playback.duration_s if playback.duration_s else 0.0
        self.slider.setValue(round(share * _TICKS))
        self.slider.blockSignals(False)


def _opened(path: Path) -> tuple[VideoReader, list[VideoFrame]]:
    reader = VideoReader(path)
    return reader, reader.read(_AHEAD)
