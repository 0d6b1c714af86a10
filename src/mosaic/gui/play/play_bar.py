"""PlayBar: the buttons below the picture, each with its key."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QToolButton, QWidget

from mosaic.gui.state.key_maps import key_sign
from mosaic.gui.state.play_keys import PlayAction
from mosaic.gui.state.play_words import speed_text
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_SPEED_WIDTH = 40
_TEXTS = {
    PlayAction.PAUSE: ("pause", "Pause"),
    PlayAction.STEP: ("skip-next", "One step"),
    PlayAction.SLOWER: ("minus", "Slower"),
    PlayAction.FASTER: ("plus", "Faster"),
    PlayAction.RESET: ("restart", "New episode"),
    PlayAction.NEW_SEED: ("dice-5-outline", "New seed"),
    PlayAction.KEYS: ("keyboard-outline", "Show the keys"),
}


class PlayBar(QWidget):
    asked = Signal(str)  # PlayAction
    restarting_chosen = Signal(bool)
    keeping_chosen = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._signs: dict[PlayAction, str] = {}
        self._is_paused = False
        self.buttons: dict[PlayAction, QToolButton] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(4)
        self._speed = label(speed_text(1.0), "number")
        self._speed.setFixedWidth(_SPEED_WIDTH)
        self._speed.setAlignment(Qt.AlignmentFlag.AlignCenter)
        for action in (PlayAction.PAUSE, PlayAction.STEP, PlayAction.SLOWER):
            layout.addWidget(self._button(action))
        layout.addWidget(self._speed)
        layout.addWidget(self._button(PlayAction.FASTER))
        layout.addSpacing(8)
        for action in (PlayAction.RESET, PlayAction.NEW_SEED):
            layout.addWidget(self._button(action))
        layout.addSpacing(8)
        self.hands = QPushButton("Take over")
        self.hands.setObjectName("play-take_over")
        self.hands.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hands.clicked.connect(self._on_hands_clicked)
        layout.addWidget(self.hands)
        layout.addStretch(1)
        self.restarting = QCheckBox("Restart")
        self.restarting.setObjectName("play-restart")
        self.restarting.setToolTip("A new episode begins by itself")
        self.restarting.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.restarting.clicked.connect(self._on_restarting_clicked)
        self.keeping = QCheckBox("Keep open")
        self.keeping.setObjectName("play-keep")
        self.keeping.setToolTip("The session goes on when another page is shown")
        self.keeping.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.keeping.clicked.connect(self._on_keeping_clicked)
        layout.addWidget(self.restarting)
        layout.addSpacing(4)
        layout.addWidget(self.keeping)
        layout.addWidget(self._button(PlayAction.KEYS))
        theme.changed.connect(self._draw)
        self._draw()

    def show_keys(self, keys: Mapping[str, PlayAction]) -> None:
        """The keys of these buttons are in their tooltips."""
        self._signs = {}
        for key, action in keys.items():
            self._signs.setdefault(action, key_sign(key))
        self._draw()

    def show_session(
        self, *, is_paused: bool, speed: float, is_human: bool, can_change_hands: bool
    ) -> None:
        self._speed.setText(speed_text(speed))
        text = "Hand back" if is_human else "Take over"
        if self.hands.text() != text:
            self.hands.setText(text)
        sign = self._signs.get(PlayAction.TAKE_OVER, "")
        self.hands.setToolTip(f"{text} ({sign})" if sign else text)
        self.hands.setVisible(can_change_hands)
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            self._draw()

    def _button(self, action: PlayAction) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setObjectName(f"play-{action.value}")
        # A click leaves the keyboard with the game.
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda _=False, action=action: self.asked.emit(action.value))
        self.buttons[action] = button
        return button

    def _on_hands_clicked(self) -> None:
        self.asked.emit(PlayAction.TAKE_OVER.value)

    def _on_restarting_clicked(self) -> None:
        self.restarting_chosen.emit(self.restarting.isChecked())

    def _on_keeping_clicked(self) -> None:
        self.keeping_chosen.emit(self.keeping.isChecked())

    def _draw(self) -> None:
        for action, button in self.buttons.items():
            icon, text = _TEXTS[action]
            if action is PlayAction.PAUSE and self._is_paused:
                icon, text = "play", "Go on"
            button.setIcon(self._theme.icon(icon))
            button.setAccessibleName(text)
            sign = self._signs.get(action, "")
            button.setToolTip(f"{text} ({sign})" if sign else text)
