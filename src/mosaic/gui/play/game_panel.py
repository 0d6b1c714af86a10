"""GamePanel: a session as it is played: picture, numbers, buttons and keys."""

from __future__ import annotations

import random
import time
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.play.play_bar import PlayBar
from mosaic.gui.play.play_hud import PlayHud
from mosaic.gui.play.play_picture import PlayPicture
from mosaic.gui.play.play_session import PlaySession
from mosaic.gui.state.key_maps import Binding, KeyMap
from mosaic.gui.state.live_frames import LiveFrames
from mosaic.gui.state.play_keys import PlayAction, PlayKeys, page_keys
from mosaic.gui.state.play_plan import keys_for
from mosaic.gui.state.play_words import (
    FrameRate,
    PlayNow,
    centre_text,
    next_speed,
    play_now,
    session_title,
)
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.widgets.banner import Banner
from mosaic.gui.widgets.roles import label
from mosaic.gui.workbench import Workbench

_NEWS_MS = 100  # numbers change no more often
_SECOND_ESCAPE_MS = 1500
_MAX_SEED = 2**31 - 1
_UNHEARD = "The daemon does not answer: keys do nothing until it is back. The picture goes on."


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
        """From now on this one; it is ready."""
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
        session.unheard.connect(self._on_unheard)
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
            self._session.unheard.disconnect(self._on_unheard)
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
            # Who acts and whether it goes on is shown at once.
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
        if self.banner.text == _UNHEARD:
            self.banner.show_text("")

    def _on_unheard(self, error: MosaicError) -> None:
        self.banner.show_text(_UNHEARD)

    def _on_connection_changed(self, connection: str) -> None:
        if self._session is None:
            return
        if connection == Connection.LOST:
            self.banner.show_text(_UNHEARD)
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
