"""PicturePane: the tiles with their strip below; LiveBar: what can be done while watching."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.fastlane.layout import MAX_SLOTS
from mosaic.gui.live.model.hud import Hud
from mosaic.gui.live.model.natural import ViewKind
from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.theme import tokens
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import state_look
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(14, 14)
_WORD_WIDTH = 56  # of the longest word


class HudStrip(QWidget):
    """What the run is doing and its numbers, on a dark strip below the picture."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "hud")
        self._theme = theme
        self._shown: Hud | None = None
        self._icon, self._word = QLabel(), label()
        self._about, self._numbers = label(), label()
        self._icon.setFixedSize(_ICON)
        self._word.setMinimumWidth(_WORD_WIDTH)
        for line in (self._about, self._numbers):
            # A long line is cut off; it must not make the window wider.
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        first = QHBoxLayout()
        first.setSpacing(6)
        first.addWidget(self._icon)
        first.addWidget(self._word)
        first.addWidget(self._about, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setSpacing(2)
        layout.addLayout(first)
        layout.addWidget(self._numbers)
        self.show_hud(Hud("", "", "", ""))

    def show_hud(self, hud: Hud) -> None:
        before, self._shown = self._shown, hud
        if before == hud:
            return
        if before is None or (before.look, before.word) != (hud.look, hud.word):
            self._word.setText(hud.word)
            self._icon.clear()
            if hud.word:
                look = state_look(hud.look)
                # The strip is dark in both palettes.
                self._icon.setPixmap(self._theme.icon(look.icon, look.dark).pixmap(_ICON))
        if before is None or (before.about, before.help) != (hud.about, hud.help):
            self._about.setToolTip(hud.about)
            self._numbers.setToolTip(hud.help)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The longer words, where they have room."""
        hud = self._shown
        if hud is not None:
            self._fill(self._about, hud.about, hud.short_about)
            self._fill(self._numbers, hud.numbers or " ", hud.short_numbers)

    def _fill(self, line: QLabel, text: str, short_text: str) -> None:
        is_narrow = line.fontMetrics().horizontalAdvance(text) > line.width()
        line.setText(short_text if is_narrow and short_text else text)

    @property
    def text(self) -> str:
        """All that can be read on it."""
        assert self._shown is not None
        return "\n".join(self._shown[1:4])


class PicturePane(QWidget):
    """Its key works while the picture has the focus: buttons and fields keep their own."""

    pause_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas, self.hud = TileCanvas(), HudStrip(theme)
        around = QVBoxLayout()
        around.setContentsMargins(tokens.PADDING, 0, tokens.PADDING, tokens.GAP)
        around.addWidget(self.canvas)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(around, 1)
        layout.addWidget(self.hud)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            if not event.isAutoRepeat():
                self.pause_asked.emit()
        else:
            super().keyPressEvent(event)


GRID_CHOICES = (("1", "1"), ("4", "4"), ("8", "8"), ("16", "16"), (str(MAX_SLOTS), "All"))
FPS_CHOICES = (10, 30, 60)
_BUTTON_ICON = QSize(18, 18)
_RECORDING_WIDTH = 72
_RATE_WIDTH = 84


class LiveBar(QWidget):
    """What can be done while watching, in one row below the picture."""

    pause_asked = Signal()
    grid_chosen = Signal(int)
    fps_chosen = Signal(int)
    snapshot_asked = Signal()
    record_asked = Signal(bool)
    enlarge_asked = Signal()
    full_screen_asked = Signal()

    def __init__(self, theme: Theme, slot_count: int, fps: int) -> None:
        super().__init__()
        self._theme = theme
        self._icons: dict[QToolButton, str] = {}
        self.pause = self._button("pause", "Pause the run (Space)", "live-pause")
        self.grid = Segmented(GRID_CHOICES)
        self.grid.setObjectName("live-grid")
        self.grid.setToolTip("How many environments are shown")
        self.grid.choose(str(slot_count))
        self.fps = QComboBox()
        self.fps.setObjectName("live-fps")
        self.fps.setAccessibleName("Pictures a second")
        self.fps.setToolTip("Pictures a second at most; a run decides what it can spare")
        for choice in FPS_CHOICES:
            self.fps.addItem(f"≤ {choice}/s", choice)
        self.fps.setCurrentIndex(max(0, self.fps.findData(fps)))
        self.rate = label("", "caption")
        self.rate.setObjectName("live-rate")
        self.rate.setToolTip("Pictures a second of each environment that were really shown of late")
        self.rate.setMinimumWidth(_RATE_WIDTH)
        self.recording = with_role(label(), "recording")
        self.recording.setFixedWidth(_RECORDING_WIDTH)
        self.recording.hide()
        self.snapshot = self._button("camera-outline", "Save a snapshot", "live-snapshot")
        self.record = self._button("record-circle-outline", "Record a clip", "live-record")
        self.record.setCheckable(True)
        self.enlarge = self._button(
            "magnify-plus-outline", "Enlarge a tile (Enter)", "live-enlarge"
        )
        self.enlarge.setCheckable(True)
        self.full_screen = self._button("fullscreen", "Full screen (F)", "live-full-screen")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 6)
        layout.setSpacing(6)
        layout.addWidget(self.pause)
        layout.addWidget(self.grid)
        layout.addWidget(self.fps)
        layout.addWidget(self.rate)
        layout.addStretch(1)
        layout.addWidget(self.recording)
        for button in (self.record, self.snapshot, self.enlarge, self.full_screen):
            layout.addWidget(button)
        self.pause.clicked.connect(self.pause_asked)
        self.grid.chosen.connect(self._on_grid_chosen)
        self.fps.activated.connect(self._on_fps_chosen)
        self.snapshot.clicked.connect(self.snapshot_asked)
        self.record.clicked.connect(self.record_asked)
        self.enlarge.clicked.connect(self.enlarge_asked)
        self.full_screen.clicked.connect(self.full_screen_asked)
        theme.changed.connect(self._draw)
        self._draw()

    def show_paused(self, is_paused: bool, can_pause: bool) -> None:
        self._icons[self.pause] = "play" if is_paused else "pause"
        text = "Let the run go on (Space)" if is_paused else "Pause the run (Space)"
        if not can_pause:
            text = "Only a run that is going on, of a worker that can, is paused"
        self._name(self.pause, text)
        self.pause.setEnabled(can_pause)
        self._draw_one(self.pause)

    def show_recording(self, seconds: float | None, is_ending: bool = False) -> None:
        """None: nothing is recorded."""
        is_on = seconds is not None
        self.record.setChecked(is_on and not is_ending)
        self.record.setEnabled(not is_ending)
        self._icons[self.record] = "stop-circle" if is_on else "record-circle-outline"
        self._name(self.record, "End the recording" if is_on else "Record a clip")
        # One takes the other's place: beside two panels there is no room for both.
        self.recording.setVisible(is_on or is_ending)
        self.rate.setVisible(not (is_on or is_ending))
        if is_ending:
            self.recording.setText("saving …")
        else:
            self.recording.setText("" if seconds is None else f"REC {seconds:.0f} s")
        self._draw_one(self.record)

    def show_view(self, kind: ViewKind) -> None:
        """At natural speed there is one environment, and its pace is its own."""
        self.grid.setVisible(kind is ViewKind.MOSAIC)
        self.fps.setVisible(kind is ViewKind.MOSAIC)

    def show_enlarged(self, is_enlarged: bool) -> None:
        self.enlarge.setChecked(is_enlarged)
        self._icons[self.enlarge] = (
            "magnify-minus-outline" if is_enlarged else "magnify-plus-outline"
        )
        text = "Show all tiles (Esc)" if is_enlarged else "Enlarge a tile (Enter)"
        self._name(self.enlarge, text)
        self._draw_one(self.enlarge)

    def set_has_pictures(self, has_pictures: bool, is_live: bool, tiles: int) -> None:
        self.snapshot.setEnabled(has_pictures)
        self.full_screen.setEnabled(has_pictures)
        self.enlarge.setEnabled(has_pictures and tiles > 1)
        if not self.record.isChecked():
            self.record.setEnabled(has_pictures and is_live)

    def _on_grid_chosen(self, value: str) -> None:
        self.grid_chosen.emit(int(value))

    def _on_fps_chosen(self) -> None:
        self.fps_chosen.emit(self.fps.currentData())

    def _button(self, icon: str, text: str, name: str) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setObjectName(name)
        button.setIconSize(_BUTTON_ICON)
        self._icons[button] = icon
        self._name(button, text)
        return button

    def _name(self, button: QToolButton, text: str) -> None:
        button.setToolTip(text)
        button.setAccessibleName(text)

    def _draw(self) -> None:
        for button in self._icons:
            self._draw_one(button)

    def _draw_one(self, button: QToolButton) -> None:
        is_recording = button is self.record and self._icons[button] == "stop-circle"
        colour = self._theme.palette.bad if is_recording else ""
        button.setIcon(self._theme.icon(self._icons[button], colour))
