"""GamePanel: a session as it is played: picture, numbers, buttons and keys."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.errors import MosaicError
from mosaic.gui.play.model.keys import Binding, KeyMap, PlayAction, PlayKeys, key_sign, page_keys
from mosaic.gui.play.model.plan import keys_for
from mosaic.gui.play.model.words import (
    FrameRate,
    PlayNow,
    centre_text,
    hud_parts,
    next_speed,
    play_now,
    session_title,
    speed_text,
)
from mosaic.gui.play.picture import PlayPicture
from mosaic.gui.play.session import PlaySession
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.live_watch import LiveFrames
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.messages import Banner
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
    """The buttons below the picture, each with its key."""

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


# Wide enough for what it may become: the line must not jump.
_WIDTHS = {"": 88, "step": 92, "reward": 108, "return": 108, "episode": 92, "fps": 56}


class PlayHud(QWidget):
    """Who acts and how it goes, on the strip below the picture."""

    def __init__(self) -> None:
        super().__init__()
        with_role(self, "hud")
        self.setObjectName("play-hud")
        self._labels: dict[str, QLabel] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setSpacing(4)
        for name, width in _WIDTHS.items():
            text = self._labels[name] = label()
            text.setMinimumWidth(width)
            text.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            layout.addWidget(text)
        layout.addStretch(1)

    def show_now(self, now: PlayNow, frames_per_s: float) -> None:
        for name, value in hud_parts(now, frames_per_s):
            text = f"{name} {value}" if name else value
            if self._labels[name].text() != text:
                self._labels[name].setText(text)

    @property
    def text(self) -> str:
        return " · ".join(part.text() for part in self._labels.values())


_NEWS_MS = 100  # numbers change no more often
_SECOND_ESCAPE_MS = 1500
_MAX_SEED = 2**31 - 1
_UNANSWERED = "The daemon does not answer: keys do nothing until it is back. The picture goes on."


class GamePanel(QWidget):
    ended = Signal()  # by the person

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._session: PlaySession | None = None
        self._keys: PlayKeys | None = None
        self._page_keys: dict[str, PlayAction] = {}
        self._speed, self._is_paused, self._is_human = 1.0, False, False
        self._rate = FrameRate()
        self.now = PlayNow()
        self.banner = Banner(workbench.theme, "alert-outline")
        self.banner.setObjectName("play-banner")
        self.picture, self.hud, self.bar = PlayPicture(), PlayHud(), PlayBar(workbench.theme)
        self._title, self._who = label("", "section"), label("", "muted")
        self.end_button = QPushButton("End session")
        self.end_button.setObjectName("play-end")
        self.end_button.setToolTip("End the session (Esc twice)")
        self.end_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 8, 8)
        head.setSpacing(8)
        head.addWidget(self._title)
        head.addWidget(self._who, 1)
        head.addWidget(self.end_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self.banner)
        layout.addWidget(self.picture, 1)
        layout.addWidget(self.hud)
        layout.addWidget(self.bar)
        self._flush = self._timer(0, self._send_keys)
        self._news = self._timer(_NEWS_MS, self._on_news_due)
        self._has_news = False
        self._escape = self._timer(_SECOND_ESCAPE_MS, self._show_text)
        self.end_button.clicked.connect(self.ended.emit)
        self.picture.pressed.connect(self._on_pressed)
        self.picture.released.connect(self._on_released)
        self.picture.focus_changed.connect(self._on_focus_changed)
        self.bar.asked.connect(self._on_asked)
        self.bar.restarting_chosen.connect(self._on_restarting_chosen)
        self.bar.keeping_chosen.connect(self._on_keeping_chosen)
        workbench.state.connection_changed.connect(self._on_connection_changed)

    def play(self, session: PlaySession) -> None:
        """Shows this session from now on; it is ready."""
        self.stop()
        plan = session.plan
        self._session = session
        self._speed, self._is_paused = 1.0, False
        self._is_human = plan.may_act and plan.target.policy is None
        self._rate = FrameRate()
        environment = self._workbench.state.environment(plan.target.env_id)
        key_map = keys_for(plan.target.env_id, environment, session.facts)
        self._keys = PlayKeys(key_map) if plan.may_act and isinstance(key_map, KeyMap) else None
        self._page_keys = page_keys(key_map, self._keys is not None)
        if not plan.can_change_hands:
            self._page_keys = {
                key: action
                for key, action in self._page_keys.items()
                if action is not PlayAction.TAKE_OVER
            }
        mine = self._keys.key_map if self._keys else None
        self.picture.set_known_keys(frozenset(self._page_keys) | (mine.keys if mine else set()))
        self.picture.keys.set_keys(mine, self._page_bindings())
        self.bar.show_keys(self._page_keys)
        self.bar.restarting.setChecked(plan.is_restarting)
        self.bar.keeping.setChecked(session.is_kept)
        title, who = session_title(plan.target)
        self._title.setText(title)
        self._who.setText(who)
        problem = session.facts.problem if session.facts else ""
        self.banner.show_text(f"There are no pictures: {problem}" if problem else "")
        session.arrived.connect(self._on_arrived)
        session.answered.connect(self._on_answered)
        session.unanswered.connect(self._on_unanswered)
        self._on_arrived(session.frames)
        self.picture.take_focus()
        self.picture.show_keys()

    def stop(self) -> None:
        """Nothing of the session is shown or heard any more."""
        for timer in (self._flush, self._news, self._escape):
            timer.stop()
        self.picture.keys.put_away()
        if self._session is not None:
            self._session.arrived.disconnect(self._on_arrived)
            self._session.answered.disconnect(self._on_answered)
            self._session.unanswered.disconnect(self._on_unanswered)
        self._session, self._keys = None, None
        self.now = PlayNow()

    @property
    def has_episodes(self) -> bool:
        """Whether anything was played that could be replayed."""
        return self.now.step > 0 or self.now.episode > 0

    def release_keys(self) -> None:
        if self._keys is not None:
            self._keys.release_all()
            self._send_keys()

    # What the session shows

    def _on_arrived(self, frames: LiveFrames) -> None:
        self.picture.canvas.show_tiles(frames.tiles)
        if frames.tiles:
            tile = frames.tiles[0]
            before, self.now = self.now, play_now(tile.metrics)
            self._rate.add(tile.frames, time.monotonic())
            # Who acts and whether it continues is shown at once.
            if before[5:] != self.now[5:]:
                self._show_now()
                return
        if self._news.isActive():
            self._has_news = True
        else:
            self._show_now()

    def _on_news_due(self) -> None:
        if self._has_news:
            self._show_now()

    def _show_now(self) -> None:
        self._has_news = False
        self._news.start()
        self.hud.show_now(self.now, self._rate.per_s)
        session = self._session
        self.bar.show_session(
            is_paused=self._is_paused,
            speed=self._speed,
            is_human=self._is_human,
            can_change_hands=session is not None and session.plan.can_change_hands,
        )
        self._show_text()

    def _show_text(self) -> None:
        if self._escape.isActive():
            return
        pause = next((k for k, do in self._page_keys.items() if do is PlayAction.PAUSE), "")
        text = centre_text(
            self.now,
            self._keys.key_map if self._keys else None,
            pause,
            has_focus=self.picture.has_focus,
            is_restarting=self.bar.restarting.isChecked(),
        )
        self.picture.show_text(text)

    # Keys

    def _on_pressed(self, key: str) -> None:
        if key in self._page_keys:
            self._on_asked(self._page_keys[key].value)
        elif self._keys is not None and self._is_human and self._keys.press(key):
            self.picture.keys.put_away()  # whoever plays knows them
            self._flush.start()

    def _on_released(self, key: str) -> None:
        if self._keys is not None and self._keys.release(key):
            self._flush.start()

    def _on_focus_changed(self, has_focus: bool) -> None:
        if not has_focus:
            self.release_keys()
        if self._session is not None:
            self._show_text()

    def _send_keys(self) -> None:
        if self._keys is not None:
            self._send(*self._keys.take())

    def _send(self, *commands: dict[str, Any]) -> None:
        if self._session is not None and commands:
            self._session.send(commands)

    # Buttons, and the keys that stand for them

    def _on_asked(self, name: str) -> None:
        match PlayAction(name):
            case PlayAction.PAUSE:
                self._is_paused = not self._is_paused
                self._send({"cmd": "pause" if self._is_paused else "go"})
            case PlayAction.STEP:
                if not self._is_paused:  # whoever wants one step wants to look at it
                    self._is_paused = True
                    self._send({"cmd": "pause"})
                self._send({"cmd": "step"})
            case PlayAction.SLOWER | PlayAction.FASTER:
                self._speed = next_speed(self._speed, name == PlayAction.FASTER)
                self._send({"cmd": "speed", "value": self._speed})
            case PlayAction.RESET:
                self._send({"cmd": "reset"})
            case PlayAction.NEW_SEED:
                self._send({"cmd": "reset", "seed": random.randint(0, _MAX_SEED)})
            case PlayAction.TAKE_OVER:
                self._change_hands()
            case PlayAction.KEYS:
                self.picture.show_keys()
            case PlayAction.END:
                self._on_escape()
        if self._session is not None:  # not the one that has just ended
            self._show_now()

    def _change_hands(self) -> None:
        if self._session is None or not self._session.plan.can_change_hands:
            return
        self._is_human = not self._is_human
        self.release_keys()
        self._send({"cmd": "controller", "value": "human" if self._is_human else "policy"})
        if self._is_human:
            self.picture.take_focus()
            self.picture.show_keys()

    def _on_escape(self) -> None:
        if self._escape.isActive():
            self._escape.stop()
            self.ended.emit()
            return
        self._escape.start()
        self.picture.show_text("[Esc] again ends the session")

    def _on_restarting_chosen(self, is_restarting: bool) -> None:
        self._send({"cmd": "auto_restart", "value": is_restarting})
        self._show_text()

    def _on_keeping_chosen(self, is_kept: bool) -> None:
        if self._session is not None:
            self._session.keep(is_kept)

    # Whether anybody listens

    def _on_answered(self) -> None:
        if self.banner.text == _UNANSWERED:
            self.banner.show_text("")

    def _on_unanswered(self, error: MosaicError) -> None:
        self.banner.show_text(_UNANSWERED)

    def _on_connection_changed(self, connection: str) -> None:
        if self._session is None:
            return
        if connection == Connection.LOST:
            self.banner.show_text(_UNANSWERED)
        elif connection == Connection.ONLINE:
            self._on_answered()

    def _page_bindings(self) -> tuple[Binding, ...]:
        words = {
            PlayAction.TAKE_OVER: "take over, hand back",
            PlayAction.PAUSE: "pause",
            PlayAction.RESET: "new episode",
        }
        first = {action: key for key, action in reversed(self._page_keys.items())}
        return tuple(
            Binding((first[action],), text) for action, text in words.items() if action in first
        )

    def _timer(self, milliseconds: int, due: Any) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(due)
        return timer
