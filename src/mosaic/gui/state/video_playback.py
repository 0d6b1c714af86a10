"""Playback: where in a video one is, by the clock. Pure."""

from __future__ import annotations

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)


class Playback:
    def __init__(self, duration_s: float = 0.0) -> None:
        self.duration_s = duration_s
        self.is_playing = False
        self.is_looping = False
        self.speed = 1.0
        self._position_s = 0.0
        self._since: float | None = None  # when the position was that

    @property
    def position_s(self) -> float:
        return self._position_s

    def play(self, now: float) -> bool:
        """Whether it starts from the beginning because it was at the end."""
        is_again = self._position_s >= self.duration_s
        if is_again:
            self._position_s = 0.0
        self.is_playing, self._since = True, now
        return is_again

    def pause(self) -> None:
        self.is_playing, self._since = False, None

    def seek(self, position_s: float, now: float) -> None:
        self._position_s = min(max(0.0, position_s), self.duration_s)
        self._since = now if self.is_playing else None

    def advance(self, now: float) -> bool:
        """Goes on to this moment; whether the end was passed and it begins again."""
        if not self.is_playing or self._since is None:
            return False
        self._position_s += (now - self._since) * self.speed
        self._since = now
        if self._position_s < self.duration_s:
            return False
        if self.is_looping:
            self._position_s = 0.0
            return True
        self._position_s = self.duration_s
        self.pause()
        return False


def time_text(seconds: float) -> str:
    """`0:07`, `12:30`."""
    whole = int(max(0.0, seconds))
    return f"{whole // 60}:{whole % 60:02d}"
