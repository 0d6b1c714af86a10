"""A session in words and numbers: the line below the picture, and what is written over it. Pure."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.contracts.run_record import RunRecord
from mosaic.fastlane.layout import HUMAN_ACTS, OVER, PAUSED
from mosaic.fastlane.slot_writer import Metrics
from mosaic.front.human import count, decimal
from mosaic.front.policy_config import MAX_SPEED, MIN_SPEED
from mosaic.gui.play.model.keys import KeyMap, key_sign
from mosaic.gui.state.targets import Mode, PlayTarget

_NOTHING = Metrics()
_RATE_WINDOW_S = 0.5


class PlayNow(NamedTuple):
    """What the session does at this moment, as its worker tells it."""

    step: int = 0
    episode: int = 0
    reward: float = 0.0
    total: float = 0.0  # the return so far
    rate_hz: float = 0.0
    is_paused: bool = False
    is_human: bool = False
    is_over: bool = False


def play_now(metrics: Metrics | None) -> PlayNow:
    told = metrics or _NOTHING
    return PlayNow(
        told.steps,
        told.episodes,
        told.last_reward,
        told.rolling_return,
        max(0.0, told.step_rate_hz),
        bool(told.flags & PAUSED),
        bool(told.flags & HUMAN_ACTS),
        bool(told.flags & OVER),
    )


class FrameRate:
    """Pictures per second, from how many there have been."""

    def __init__(self) -> None:
        self._since: tuple[int, float] | None = None
        self.per_s = 0.0

    def add(self, frames: int, now: float) -> None:
        if self._since is None or frames < self._since[0]:
            self._since = frames, now
            self.per_s = 0.0
        elif now - self._since[1] >= _RATE_WINDOW_S:
            self.per_s = (frames - self._since[0]) / (now - self._since[1])
            self._since = frames, now


def hud_parts(now: PlayNow, frames_per_s: float) -> list[tuple[str, str]]:
    """Pairs of a name and a value, in their order."""
    return [
        ("", "you act" if now.is_human else "policy acts"),
        ("step", count(now.step)),
        ("reward", decimal(now.reward)),
        ("return", decimal(now.total)),
        ("episode", count(now.episode + 1)),
        ("fps", "–" if now.is_paused or now.is_over else f"{frames_per_s:.0f}"),
    ]


def centre_text(
    now: PlayNow,
    key_map: KeyMap | None,
    pause_key: str,
    *,
    has_focus: bool,
    is_restarting: bool,
) -> str:
    """What is written over the picture; mostly nothing."""
    if now.is_over:
        again = "the next one begins" if is_restarting else "[R] again"
        return f"Episode over · return {decimal(now.total)} · {again}"
    if now.is_paused:
        return f"Paused · [{key_sign(pause_key)}] go on · [.] one step"
    if now.is_human and not has_focus:
        return "Click here to play"
    if now.is_human and now.step == 0 and key_map is not None and not key_map.is_turn_based:
        signs = [key_sign(key) for binding in key_map.bindings for key in binding.keys]
        return f"Press {_or(signs)} to begin" if signs else ""
    return ""


def end_sentence(record: RunRecord) -> str:
    """Why a session is over, for somebody who did not end it."""
    failure = record.failure
    if failure is None or not failure.message:
        return "The session has ended."
    hint = f"{failure.hint[:1].upper()}{failure.hint[1:]}." if failure.hint else ""
    return f"{failure.message}. {hint}".strip()


def next_speed(speed: float, is_faster: bool) -> float:
    """Twice or half as fast, within what a session takes."""
    wanted = speed * 2 if is_faster else speed / 2
    return min(max(wanted, MIN_SPEED), MAX_SPEED)


def speed_text(speed: float) -> str:
    return f"{speed:g}×"


def _or(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def session_title(target: PlayTarget) -> tuple[str, str]:
    """The environment, and who plays in it."""
    policy = target.policy.label if target.policy else ""
    who = {Mode.HUMAN: "you play", Mode.HYBRID: "you and", Mode.AGENT: "policy"}[target.mode]
    return target.env_id, f"{who} {policy}" if target.mode is not Mode.HUMAN else who
