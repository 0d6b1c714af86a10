"""PlaySession: a player in time. Steps by itself at a rate, while commands come in.

Until the command `play` it answers in lock-step, one step for each command.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cleanrl_worker.interactive.actions import ActionError
from cleanrl_worker.interactive.controls import ControlError, Controls
from cleanrl_worker.interactive.player import (
    Message,
    Player,
    SeedError,
    command_name,
    error_message,
)

# How long the end of an episode is looked at before the next one begins by itself.
RESTART_S = 1.0
LOOK_UP_S = 0.2  # how long a stop request may wait while nobody sends a command


class Shown(Protocol):
    """The part of a Screen that a session needs."""

    is_paused: bool
    is_human: bool

    def show(self) -> None: ...

    def refresh(self) -> None: ...

    @property
    def due_in_s(self) -> float | None: ...


class PlaySession:
    def __init__(
        self,
        player: Player,
        screen: Shown,
        fps: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_playing = False
        self.controls = Controls(player.action_space, player.has_policy, fps)
        self._player, self._screen, self._clock = player, screen, clock
        self._next_at = self._over_at = self._heard_at = clock()
        self._steps_asked = 0

    def answer(self, command: Any) -> list[Message]:
        """What is said in return; what happens at its time is said by `tick`."""
        self._heard_at = self._clock()
        if not isinstance(command, dict):
            return self._player.answer(command)
        name = command_name(command)
        if name != "play" and (not self.is_playing or name in ("ping", "stop")):
            return self._player.answer(command)
        try:
            messages = self._obey(name, command)
        except (ControlError, SeedError) as error:
            return [error_message(str(error))]
        self._update_screen()
        return messages

    def tick(self) -> list[Message]:
        """Takes the step that is due, if any."""
        now = self._clock()
        limit_s = self.controls.idle_limit_s
        if limit_s and now - self._heard_at > limit_s:
            return [self._player.stop()]
        messages = self._move(now) if self.is_playing else []
        self._screen.refresh()
        return messages

    def wait_s(self) -> float:
        """How long nothing is due unless a command comes."""
        if not self.is_playing:
            return LOOK_UP_S
        waits = [LOOK_UP_S]
        if (picture_s := self._screen.due_in_s) is not None:
            waits.append(picture_s)
        if self._player.is_running and self._steps_asked:
            waits.append(0.0)
        elif self._player.is_running and not self.controls.is_paused:
            if not self.controls.is_waiting:
                turn = self.controls.is_human and self.controls.is_turn_based
                waits.append(0.0 if turn else self._next_at - self._clock())
        elif self.controls.restarts and not self._player.is_running:
            waits.append(self._over_at + RESTART_S - self._clock())
        return max(0.0, min(waits))

    def _obey(self, name: Any, command: Mapping[str, Any]) -> list[Message]:
        controls = self.controls
        match name:
            case "play":
                controls.configure(command)
                if not self.is_playing or command.get("seed") is not None:
                    self._begin(command.get("seed"))
                self.is_playing = True
                controls.is_paused = False
                return [{"type": "playing", "controller": controls.controller}]
            case "action":
                was_waiting = controls.is_waiting
                controls.press(command.get("action"))
                if was_waiting and not controls.is_waiting:
                    self._next_at = self._clock()
            case "controller":
                controls.choose(command.get("value"))
            case "pause":
                controls.is_paused = True
            case "go":
                controls.is_paused = False
                self._next_at = self._clock()
            case "step":
                if command.get("action") is not None:
                    controls.press(command["action"])
                self._steps_asked += 1
            case "speed":
                controls.set_speed(command)
            case "auto_restart":
                controls.restarts = bool(command.get("value"))
            case "idle_limit":
                controls.set_idle_limit(command)
            case "reset":
                self._begin(command.get("seed"))
            case _:
                known = "play, action, controller, pause, go, step, speed, auto_restart, idle_limit"
                text = f"unknown command {str(name)[:64]!r}: {known}, reset, ping, stop are known"
                return [error_message(text)]
        return []

    def _begin(self, seed: Any) -> None:
        self._player.begin(seed)
        self.controls.begin_episode()
        self._steps_asked = 0
        self._next_at = self._clock() + self.controls.interval_s
        self._update_screen()

    def _move(self, now: float) -> list[Message]:
        controls = self.controls
        if not self._player.is_running:
            self._steps_asked = 0
            if controls.restarts and not controls.is_paused and now >= self._over_at + RESTART_S:
                self._begin(None)
            return []
        if self._steps_asked:
            self._steps_asked -= 1
            controls.has_acted = True
            return self._step(now)
        if controls.is_paused or controls.is_waiting:
            return []
        if controls.is_human and controls.is_turn_based:
            return self._step(now)
        if now < self._next_at:
            return []
        # A late step does not make the next one come sooner.
        self._next_at = max(self._next_at + controls.interval_s, now)
        return self._step(now)

    def _step(self, now: float) -> list[Message]:
        action = None
        if self.controls.is_human:
            action = self.controls.next_action()
            if action is None:
                return []  # there is no way to do nothing here: a key has to be pressed
        try:
            taken = self._player.take(action)
        except ActionError as error:
            return [error_message(str(error))]
        self._screen.show()
        if self._player.is_running:
            return []
        self._over_at = now
        return [self._player.episode_message(taken)]

    def _update_screen(self) -> None:
        self._screen.is_paused = self.controls.is_paused
        self._screen.is_human = self.controls.is_human
        self._screen.show()
