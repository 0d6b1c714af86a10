"""ReplayPlayer: where a replay stands, how fast it goes, and when its next step is due."""

from __future__ import annotations

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
# Steps a second at speed 1.
STEPS_PER_SECOND = 30.0
# A late picture, or a busy window, does not cause a jump.
_LONGEST_S = 0.1


class ReplayPlayer:
    """Where a replay stands, how fast it goes, and when its next step is due.

    At step 0 the episode has just begun; at step n its first n actions are taken.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.speed = 1.0
        self.is_looped = False
        self.is_playing = False
        self._place = 0.0  # between two steps the earlier one is shown
        self._at_s: float | None = None  # up to when time was counted

    @property
    def step(self) -> int:
        return int(self._place)

    @property
    def is_at_end(self) -> bool:
        return self.step >= self.steps

    @property
    def steps_per_second(self) -> float:
        return STEPS_PER_SECOND * self.speed

    def load(self, steps: int) -> None:
        """Another episode; it stands at its beginning."""
        self.steps = max(0, steps)
        self._place, self._at_s = 0.0, None
        self.is_playing = False

    def stretch(self, steps: int) -> None:
        """There is more of it, or less; it stays where it stands, if that is still there."""
        self.steps = max(0, steps)
        self._place = min(self._place, float(self.steps))

    def play(self, now_s: float) -> None:
        """From the beginning where it stands at the end."""
        if not self.steps:
            return
        if self.is_at_end:
            self._place = 0.0
        self.is_playing, self._at_s = True, now_s

    def pause(self) -> None:
        self.is_playing, self._at_s = False, None

    def toggle(self, now_s: float) -> None:
        if self.is_playing:
            self.pause()
        else:
            self.play(now_s)

    def seek(self, step: int) -> int:
        """Returns where it stands then; it goes on playing from there."""
        self._place = float(min(max(step, 0), self.steps))
        return self.step

    def move(self, by: int) -> int:
        """A step forth or back, and stand still: to look closely."""
        self.pause()
        return self.seek(self.step + by)

    def end_at(self, step: int) -> None:
        """There is nothing after this step: the simulated episode was shorter."""
        self.pause()
        self.seek(step)

    def advance(self, now_s: float) -> int:
        """After the time that has gone by; at the end it pauses, or begins again."""
        if not self.is_playing:
            return self.step
        gone = 0.0 if self._at_s is None else now_s - self._at_s
        self._at_s = now_s
        self._place += min(max(gone, 0.0), _LONGEST_S) * self.steps_per_second
        if self._place >= self.steps:
            if self.is_looped and self._place >= self.steps + 1:
                self._place = 0.0
            elif not self.is_looped:
                self.end_at(self.steps)
        return min(self.step, self.steps)

    def hold(self, now_s: float) -> None:
        """The picture it stands at is not there yet: no time goes by for it."""
        if self.is_playing:
            self._at_s = now_s

    @property
    def due_s(self) -> float | None:
        """How long until the next step, as seen when time was last counted; None: it stands."""
        if not self.is_playing:
            return None
        return (self.step + 1 - self._place) / self.steps_per_second

    def ahead(self, shown_per_second: float, count: int) -> list[int]:
        """The steps that will be shown next, to be drawn before they are needed."""
        if not self.is_playing:
            return []
        stride = max(1.0, self.steps_per_second / shown_per_second)
        steps = [int(self._place + stride * number) for number in range(1, count + 1)]
        return [step for step in dict.fromkeys(steps) if step <= self.steps]


def faster(speed: float) -> float:
    return next((item for item in SPEEDS if item > speed), SPEEDS[-1])


def slower(speed: float) -> float:
    return next((item for item in reversed(SPEEDS) if item < speed), SPEEDS[0])


def speed_text(speed: float) -> str:
    return f"{speed:g}×"
