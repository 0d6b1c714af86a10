"""PlaySession: a player in time. Steps by itself at a rate, while commands come in.

Until the command `play` it answers in lock-step, one step for each command.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cleanrl_worker.interactive.player import (
    HUMAN,
    POLICY,
    ActionError,
    Message,
    Player,
    SeedError,
    command_name,
    error_message,
    read_action,
)

MIN_FPS, MAX_FPS = 1.0, 240.0
MIN_SPEED, MAX_SPEED = 0.25, 8.0
MAX_IDLE_S = 86_400.0
# Actions of a turn-based game that wait to be taken; beyond, somebody leans on the keyboard.
_MOST_TURNS = 32
# How long the end of an episode is looked at before the next one begins by itself.
RESTART_S = 1.0
LOOK_UP_S = 0.2  # how long a stop request may wait while nobody sends a command


class ControlError(ValueError):
    """The command asks for something that is not possible; the message says what."""


class Controls:
    """What the person at the keyboard wants right now. Pure."""

    def __init__(self, action_space: Any, has_policy: bool, fps: float = 30.0) -> None:
        self.fps = min(max(fps, MIN_FPS), MAX_FPS)
        self.speed = 1.0
        self.controller = HUMAN
        self.is_paused = False
        self.is_turn_based = False
        self.restarts = False  # a new episode begins by itself after the last
        self.idle_limit_s = 0.0  # ends by itself when nobody says anything for so long; 0: never
        self.has_acted = False  # the person, in this episode
        self._space, self._has_policy = action_space, has_policy
        self._idle: deque[Any] = deque()  # taken in turn while no key is held
        self._held: Any = None
        # Pressed since the last step: a short press shall not fall between two of them.
        self._pressed: Any = None
        self._turns: deque[Any] = deque(maxlen=_MOST_TURNS)

    @property
    def interval_s(self) -> float:
        return 1 / (self.fps * self.speed)

    @property
    def is_human(self) -> bool:
        return self.controller == HUMAN

    def configure(self, command: Mapping[str, Any]) -> None:
        """The fields of the command `play`. Either all are taken or none."""
        fps = _number(command, "fps", self.fps, MIN_FPS, MAX_FPS)
        speed = _number(command, "speed", self.speed, MIN_SPEED, MAX_SPEED)
        limit_s = _number(command, "idle_limit_s", self.idle_limit_s, 0.0, MAX_IDLE_S)
        idle = command.get("idle")
        values = idle if isinstance(idle, list) else []
        actions = [self._read(value) for value in values]
        self.choose(command.get("controller", self.controller))
        self.fps, self.speed, self.idle_limit_s = fps, speed, limit_s
        self.is_turn_based = bool(command.get("turn_based", self.is_turn_based))
        self.restarts = bool(command.get("auto_restart", self.restarts))
        if idle is not None:
            self._idle = deque(actions)

    def choose(self, controller: Any) -> None:
        if controller not in (HUMAN, POLICY):
            raise ControlError(f"the controller is {HUMAN} or {POLICY}")
        if controller == POLICY and not self._has_policy:
            raise ControlError("there is no policy that could act")
        if controller != self.controller:
            self.controller = controller
            # Whoever takes over in the middle of an episode is not waited for.
            self.has_acted = True

    def set_speed(self, command: Mapping[str, Any]) -> None:
        self.speed = _number(command, "value", self.speed, MIN_SPEED, MAX_SPEED)

    def set_idle_limit(self, command: Mapping[str, Any]) -> None:
        self.idle_limit_s = _number(command, "value", self.idle_limit_s, 0.0, MAX_IDLE_S)

    def press(self, value: Any) -> None:
        """What is held from now on; None: nothing."""
        if value is None:
            self._held = None
            return
        action = self._read(value)
        self.has_acted = True
        if self.is_turn_based:
            self._turns.append(action)
        else:
            self._held = self._pressed = action

    def begin_episode(self) -> None:
        self._turns.clear()
        self._pressed = None
        self.has_acted = self._held is not None and not self.is_turn_based

    @property
    def is_waiting(self) -> bool:
        """Nothing happens before the person does something."""
        if not self.is_human:
            return False
        return not self._turns if self.is_turn_based else not self.has_acted

    def next_action(self) -> Any:
        """The person's, for the next step; None: there is none."""
        if self.is_turn_based:
            return self._turns.popleft() if self._turns else None
        pressed, self._pressed = self._pressed, None
        action = self._held if pressed is None else pressed
        if action is None and self._idle:
            action = self._idle[0]
            self._idle.rotate(-1)
        return action

    def _read(self, value: Any) -> Any:
        try:
            return read_action(self._space, value)
        except ActionError as error:
            raise ControlError(str(error)) from error


def _number(
    command: Mapping[str, Any], name: str, default: float, low: float, high: float
) -> float:
    value = command.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ControlError(f"{name} is a number from {low:g} to {high:g}")
    return float(value)


class PlayScreen(Protocol):
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
        screen: PlayScreen,
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
