"""Controls: what the person at the keyboard wants right now. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.interactive.actions import ActionError, read_action
from cleanrl_worker.interactive.player import HUMAN, POLICY

MIN_FPS, MAX_FPS = 1.0, 240.0
MIN_SPEED, MAX_SPEED = 0.25, 8.0
MAX_IDLE_S = 86_400.0
# Actions of a turn-based game that wait to be taken; beyond, somebody leans on the keyboard.
_MOST_TURNS = 32


class ControlError(ValueError):
    """The command asks for something that is not possible; the message says what."""


class Controls:
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
