"""TransportBar: the buttons below the picture."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QToolButton, QWidget

from mosaic.gui.state.replay_player import SPEEDS, speed_text
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import with_role

# Below this width the two jumps have no room for their words.
_WIDE = 430


class TransportBar(QWidget):
    pressed = Signal(str)  # "start", "back", "play", "forth", "end", "lowest", "highest"
    looped = Signal(bool)
    speed_chosen = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons: list[tuple[QToolButton, str]] = []
        self._is_playing = False
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for name, icon, tip in (
            ("start", "skip-previous", "To the beginning (Home)"),
            ("back", "chevron-left", "One step back (,)"),
            ("play", "play", "Play (Space)"),
            ("forth", "chevron-right", "One step forth (.)"),
            ("end", "skip-next", "To the end (End)"),
        ):
            layout.addWidget(self._button(name, icon, tip))
        self.loop = self._button("loop", "repeat", "Again and again (L)")
        self.loop.setCheckable(True)
        self.loop.toggled.connect(self.looped)
        layout.addWidget(self.loop)
        self.speed = QComboBox()
        self.speed.setObjectName("replay-speed")
        self.speed.setAccessibleName("Speed")
        self.speed.setToolTip("Speed (+ and −)")
        self.speed.setFixedWidth(72)
        for speed in SPEEDS:
            self.speed.addItem(speed_text(speed), speed)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.currentIndexChanged.connect(self._on_speed_chosen)
        layout.addSpacing(6)
        layout.addWidget(self.speed)
        layout.addStretch(1)
        self.lowest = self._button("lowest", "arrow-down-thin", "")
        self.highest = self._button("highest", "arrow-up-thin", "")
        self.lowest.setText("Lowest reward")
        self.highest.setText("Highest reward")
        for button in (self.lowest, self.highest):
            layout.addWidget(button)
        theme.changed.connect(self._draw)
        self.show_extremes(None, None)
        self._draw()

    def button(self, name: str) -> QToolButton:
        return next(item for item, _ in self._icons if item.objectName() == f"replay-{name}")

    def show_playing(self, is_playing: bool) -> None:
        if is_playing != self._is_playing:
            self._is_playing = is_playing
            button = self.button("play")
            word = "Pause" if is_playing else "Play"
            button.setToolTip(f"{word} (Space)")
            button.setAccessibleName(word)
            self._draw()

    def show_speed(self, speed: float) -> None:
        self.speed.blockSignals(True)
        self.speed.setCurrentIndex(SPEEDS.index(speed))
        self.speed.blockSignals(False)

    def show_extremes(self, lowest: int | None, highest: int | None) -> None:
        for button, step, word in (
            (self.lowest, lowest, "lowest"),
            (self.highest, highest, "highest"),
        ):
            button.setEnabled(step is not None)
            button.setToolTip(
                "All rewards of the episode are alike"
                if step is None
                else f"To the step with the {word} reward: step {step:,}"
            )

    def set_ready(self, is_ready: bool) -> None:
        for button, _ in self._icons:
            if button not in (self.lowest, self.highest, self.loop):
                button.setEnabled(is_ready)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        styles = Qt.ToolButtonStyle
        is_wide = self.width() >= _WIDE
        style = styles.ToolButtonTextBesideIcon if is_wide else styles.ToolButtonIconOnly
        for button, word in ((self.lowest, "Lowest"), (self.highest, "Highest")):
            button.setText(f"{word} reward" if self.width() >= _WIDE + 110 else word)
            button.setToolButtonStyle(style)

    def _button(self, name: str, icon: str, tip: str) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setObjectName(f"replay-{name}")
        button.setToolTip(tip)
        button.setAccessibleName(tip.partition(" (")[0] or f"{name.capitalize()} reward")
        if name != "loop":
            button.clicked.connect(lambda _=False, name=name: self.pressed.emit(name))
        self._icons.append((button, icon))
        return button

    def _on_speed_chosen(self, index: int) -> None:
        self.speed_chosen.emit(SPEEDS[index])

    def _draw(self) -> None:
        for button, icon in self._icons:
            is_pause = button.objectName() == "replay-play" and self._is_playing
            button.setIcon(self._theme.icon("pause" if is_pause else icon))
