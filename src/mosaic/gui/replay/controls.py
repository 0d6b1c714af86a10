"""The controls of a replay: buttons, scrubber, keys, and the strip below the picture."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QStyle,
    QToolButton,
    QWidget,
)

from mosaic.gui.replay.model.player import SPEEDS, speed_text
from mosaic.gui.replay.model.words import Badge, Sameness
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import DARK
from mosaic.gui.widgets.roles import eliding_label, label, with_role

# Below this width the two jumps have no room for their words.
_WIDE = 430
# Below these there is none for the jumps at all, and then none for those to the ends.
_NARROW, _NARROWEST = 336, 275


class TransportBar(QWidget):
    """The buttons below the picture."""

    pressed = Signal(str)  # "start", "back", "play", "forth", "end", "lowest", "highest"
    looped = Signal(bool)
    speed_chosen = Signal(float)
    strips_toggled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons: list[tuple[QToolButton, str]] = []
        self._is_playing = self._is_compact = False
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
        self.strips = self._button("strips", "chart-timeline-variant", "")
        self.strips.setToolTip("Rewards, actions and observations along the episode (S)")
        self.strips.setAccessibleName("Strips")
        self.strips.setCheckable(True)
        self.strips.setChecked(True)
        self.strips.toggled.connect(self.strips_toggled)
        layout.addWidget(self.strips)
        self.note = eliding_label("", "caption")
        self.note.hide()
        layout.addSpacing(6)
        layout.addWidget(self.note, 1)
        layout.addStretch(0)
        self.lowest = self._button("lowest", "arrow-down-thin", "")
        self.highest = self._button("highest", "arrow-up-thin", "")
        self.lowest.setText("Lowest reward")
        self.highest.setText("Highest reward")
        for button in (self.lowest, self.highest):
            layout.addWidget(button)
        theme.changed.connect(self._draw)
        self.show_extremes(None, None)
        self._draw()

    def make_compact(self) -> None:
        """Pause and pace only, with room for a few words."""
        self._is_compact = True
        for button, _ in self._icons:
            button.setVisible(button.objectName() == "replay-play")
        self.note.show()

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
            if button not in (self.lowest, self.highest, self.loop, self.strips):
                button.setEnabled(is_ready)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        styles = Qt.ToolButtonStyle
        is_wide = self.width() >= _WIDE
        style = styles.ToolButtonTextBesideIcon if is_wide else styles.ToolButtonIconOnly
        # What has a key, or a mark on the scrubber, gives way first.
        for button in (self.lowest, self.highest):
            button.setVisible(not self._is_compact and self.width() >= _NARROW)
        for name in ("start", "end"):
            self.button(name).setVisible(not self._is_compact and self.width() >= _NARROWEST)
        for button, word in ((self.lowest, "Lowest"), (self.highest, "Highest")):
            button.setText(f"{word} reward" if self.width() >= _WIDE + 110 else word)
            button.setToolButtonStyle(style)

    def _button(self, name: str, icon: str, tip: str) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setObjectName(f"replay-{name}")
        button.setToolTip(tip)
        button.setAccessibleName(tip.partition(" (")[0] or f"{name.capitalize()} reward")
        if name not in ("loop", "strips"):
            button.clicked.connect(lambda _=False, name=name: self.pressed.emit(name))
        self._icons.append((button, icon))
        return button

    def _on_speed_chosen(self, index: int) -> None:
        self.speed_chosen.emit(SPEEDS[index])

    def _draw(self) -> None:
        for button, icon in self._icons:
            is_pause = button.objectName() == "replay-play" and self._is_playing
            button.setIcon(self._theme.icon("pause" if is_pause else icon))


_MARK_HEIGHT = 5
HANDLE = 14  # as in the style sheet


class Scrubber(QSlider):
    """Where in the episode one is, with a mark at each extreme of the reward."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self._lows: Sequence[int] = ()
        self._highs: Sequence[int] = ()
        self.setObjectName("replay-scrubber")
        self.setAccessibleName("Step of the episode")
        self.setFixedHeight(26)
        self.setPageStep(10)
        theme.changed.connect(self.update)

    def show_steps(self, steps: int, lows: Sequence[int], highs: Sequence[int]) -> None:
        self._lows, self._highs = lows, highs
        self.blockSignals(True)
        self.setRange(0, max(steps, 0))
        self.blockSignals(False)
        self.update()

    def show_step(self, step: int) -> None:
        """Without saying that somebody moved it."""
        if not self.isSliderDown():
            self.blockSignals(True)
            self.setValue(step)
            self.blockSignals(False)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            # To where one clicks, not a page nearer to it; the handle is then below the pointer.
            self.setValue(self._step_at(round(event.position().x())))
        super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with QPainter(self) as painter:
            palette = self._theme.palette
            for steps, colour in ((self._highs, palette.good), (self._lows, palette.bad)):
                for step in steps:
                    x = self._place_of(step)
                    mark = QRect(x - 1, self.height() - _MARK_HEIGHT, 2, _MARK_HEIGHT)
                    painter.fillRect(mark, QColor(colour))

    def _place_of(self, step: int) -> int:
        room = self.width() - HANDLE
        offset = QStyle.sliderPositionFromValue(self.minimum(), self.maximum(), step, room)
        return int(offset) + HANDLE // 2

    def _step_at(self, x: int) -> int:
        room = self.width() - HANDLE
        at = x - HANDLE // 2
        return int(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), at, room))


_ICON = QSize(14, 14)
_ICONS = {
    Sameness.SAME: "check-circle-outline",
    Sameness.DIFFERENT: "alert-circle-outline",
    Sameness.UNKNOWN: "circle-outline",
}
# The strip is dark in both palettes, as pictures are.
_COLOURS = {
    Sameness.SAME: DARK.good,
    Sameness.DIFFERENT: DARK.bad,
    Sameness.UNKNOWN: DARK.muted,
}


_WIDE_STRIP = 420  # there is room for words beside the icon


class StepStrip(QWidget):
    """What the step brought, and whether it is what was recorded."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "hud")
        self.setObjectName("replay-hud")
        self._theme = theme
        self.place, self.action = eliding_label(), eliding_label()
        self.reward, self.total = eliding_label(), eliding_label()
        self.badge_icon, self.badge = QLabel(), label()
        self.badge.setObjectName("replay-badge")
        self.place.setObjectName("replay-place")
        badge = QHBoxLayout()
        badge.setSpacing(6)
        badge.addStretch(1)
        badge.addWidget(self.badge_icon)
        badge.addWidget(self.badge)
        layout = self._grid = QGridLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setHorizontalSpacing(16)
        layout.setVerticalSpacing(2)
        layout.addWidget(self.place, 0, 0)
        layout.addWidget(self.reward, 0, 1)
        layout.addWidget(self.total, 1, 1)
        layout.addWidget(self.action, 1, 0)
        layout.addLayout(badge, 0, 2, 2, 1)
        # Numbers come and go; the columns stay where they are.
        layout.setColumnStretch(0, 3)
        layout.setColumnStretch(1, 3)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The icon says it, too, and the tip in whole words.
        is_wide = self.width() >= _WIDE_STRIP
        self.badge.setVisible(is_wide)
        edge = 12 if is_wide else 8
        self._grid.setContentsMargins(edge, 6, edge, 6)
        self._grid.setHorizontalSpacing(16 if is_wide else 8)

    def show_fields(self, fields: tuple[str, str, str, str]) -> None:
        place, action, reward, total = fields
        self.place.setText(place)
        self.action.setText(action)
        self.reward.setText(reward)
        self.total.setText(total)

    def show_badge(self, badge: Badge) -> None:
        self.badge.setText(badge.text)
        for part in (self.badge, self.badge_icon):
            part.setToolTip(badge.tip or badge.text)
        self.badge_icon.setAccessibleName(badge.text)
        colour = _COLOURS[badge.sameness]
        self.badge.setStyleSheet(f"color: {colour};")
        icon = self._theme.icon(_ICONS[badge.sameness], colour)
        self.badge_icon.setPixmap(icon.pixmap(_ICON))


# Keys of the replay page; tables on it leave them to the page.
PLAY, BACK, FORTH = Qt.Key.Key_Space, Qt.Key.Key_Comma, Qt.Key.Key_Period
SLOWER, FASTER, LOOP = Qt.Key.Key_Minus, Qt.Key.Key_Plus, Qt.Key.Key_L
BEST, WORST, BESIDE, STRIPS = Qt.Key.Key_B, Qt.Key.Key_W, Qt.Key.Key_D, Qt.Key.Key_S
KEYS = frozenset(
    {PLAY, BACK, FORTH, SLOWER, FASTER, LOOP, BEST, WORST, BESIDE, STRIPS, Qt.Key.Key_Equal}
)
