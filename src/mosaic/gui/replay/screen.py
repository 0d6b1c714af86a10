"""EpisodeScreen: one episode of a replay as its picture, its heading and what its step brought."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.replay.controls import StepStrip
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.gui.replay.model.words import Badge, comparison_badge, hud_fields
from mosaic.gui.replay.simulation_thread import StepDrawn
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.pictures import PictureView
from mosaic.gui.widgets.roles import eliding_label, with_role

_HEAD = 28

# What there is instead of a picture: what it is called, and what shows it.
Offers = tuple[tuple[str, Callable[[], None]], ...]


class EpisodeScreen(QWidget):
    close_asked = Signal()

    def __init__(self, theme: Theme, name: str, *, is_closable: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self.steps: EpisodeSteps | None = None
        self._is_compact = False
        self._verdict: Badge | None = None
        self._simulated_reward: float | None = None
        self.heading = eliding_label("", "muted")
        self.heading.setObjectName(f"{name}-heading")
        self.close_button = with_role(QToolButton(), "flat")
        self.close_button.setObjectName(f"{name}-close")
        self.close_button.setToolTip("Show one episode only (Escape)")
        self.close_button.setAccessibleName("Show one episode only")
        self.close_button.clicked.connect(self.close_asked)
        if not is_closable:  # shown, it would be a window until it has a place
            self.close_button.hide()
        self.picture = PictureView()
        self.picture.setObjectName(f"{name}-picture")
        self.picture.setAccessibleName("Picture of the step")
        self.picture.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.message = EmptyState(theme, "movie-open-outline", "")
        self.offers = QWidget()
        self._offer_rows = QVBoxLayout(self.offers)
        self._offer_rows.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.hud = StepStrip(theme)
        self._lay_out()
        theme.changed.connect(self._draw)
        self._draw()
        self.show_message("")

    @property
    def length(self) -> int:
        return len(self.steps) if self.steps else 0

    def make_compact(self) -> None:
        """The picture alone."""
        self._is_compact = True
        self._above.hide()
        self.hud.hide()

    def show_heading(self, text: str) -> None:
        self.heading.setText(text)
        self.heading.setToolTip(text)

    def show_message(self, title: str, text: str = "", offers: Offers = ()) -> None:
        """In place of the picture: why there is none, and what there is instead."""
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
        self.hud.setVisible(self.steps is not None and not self._is_compact)

    def show_steps(self, steps: EpisodeSteps | None) -> None:
        """Another episode; its pictures come later, if at all."""
        self.steps = steps
        self._verdict = self._simulated_reward = None
        self.hud.setVisible(steps is not None and not self._is_compact)
        self.hud.show_badge(comparison_badge("", 0))
        self.show_step(0)

    def show_picture(self, shown: StepDrawn) -> None:
        self._stack.setCurrentIndex(0)
        self.picture.show_image(shown.image)
        self._simulated_reward = shown.step.reward if shown.step.index else None
        if self._verdict is None:
            self.hud.show_badge(comparison_badge(shown.difference, shown.seen))
        self.show_step(shown.step.index)

    def show_still(self, image: QImage) -> None:
        """Until the first picture of the episode is there."""
        self._stack.setCurrentIndex(0)
        self.picture.show_image(image)

    def show_verdict(self, badge: Badge) -> None:
        self._verdict = badge
        self.hud.show_badge(badge)

    def show_step(self, step: int, *, is_drawn: bool = True) -> None:
        """The numbers of a step; `is_drawn`: its picture is the one that is shown."""
        if self.steps is not None:
            reward = self._simulated_reward if is_drawn else None
            self.hud.show_fields(hud_fields(min(step, self.length), self.steps, reward))

    def _lay_out(self) -> None:
        instead = QWidget()
        # Words that fit into any room do not claim one.
        instead.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        words = QVBoxLayout(instead)
        words.addWidget(self.message, 1)
        words.addWidget(self.offers)
        words.addStretch(0)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        self._stack.addWidget(self.picture)
        self._stack.addWidget(instead)
        above = self._above = QWidget()
        above.setFixedHeight(_HEAD)  # two of them are level, whether or not they can be closed
        head = QHBoxLayout(above)
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(4)
        head.addWidget(self.heading, 1)
        head.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(above)
        layout.addWidget(stack, 1)
        layout.addWidget(self.hud)

    def _draw(self) -> None:
        self.close_button.setIcon(self._theme.icon("close"))
