"""StretchPlayer: what a run did, drawn picture by picture in a process of low priority.

    with StretchPlayer(recording) as player:
        for step in player.play(recording):
            ...

Used by one thread. The process draws ahead only as far as its pipe has room: whoever takes the
pictures decides how far that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.replay import simulator, stretch_simulator
from mosaic.replay.changes import Box, Change
from mosaic.replay.messages import Message, recording_to_message
from mosaic.replay.pace import Pace
from mosaic.replay.simulation import ANSWER_WAIT_S, START_WAIT_S, check_possible
from mosaic.replay.simulator_process import SimulatorProcess

# The training goes first: this takes what it leaves.
NICENESS = 19
LEAST_S, MOST_S = 5.0, 60.0


@dataclass(frozen=True, slots=True)
class StretchStep:
    """A picture, and where in its episode it is."""

    change: Change  # from the picture before it; the first one's is all of it
    step: int  # of its episode; 0 is the beginning
    total: float  # the rewards of its episode so far
    is_newest: bool  # of the recorded episode itself, and not of one before it
    left: int  # steps until the end of the stretch
    pace: Pace


class StretchPlayer:
    def __init__(
        self,
        recording: EpisodeRecording,
        niceness: int = NICENESS,
        begun: Callable[[StretchPlayer], None] | None = None,
    ) -> None:
        """Raises WorkerError. `begun` gets it at once: another thread may `kill` it then."""
        check_possible(recording)
        self._place = recording.python, recording.path
        self.is_exact = True  # of the last stretch: all rewards were as recorded
        self._process = SimulatorProcess(*self._place, stretch_simulator.__name__, str(niceness))
        if begun is not None:
            begun(self)

    def __enter__(self) -> StretchPlayer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def fits(self, recording: EpisodeRecording) -> bool:
        """Whether this process can play it."""
        return self._place == (recording.python, recording.path)

    def play(
        self, recording: EpisodeRecording, least_s: float = LEAST_S, most_s: float = MOST_S
    ) -> Iterator[StretchStep]:
        """At least so many seconds of it, where there is as much, and at most so many.

        To be read wholly before the next one is asked for. Raises WorkerError.
        """
        check_possible(recording)
        self._process.send(recording_to_message(recording), START_WAIT_S)
        request = Message(stretch_simulator.PLAY, {"least_s": least_s, "most_s": most_s})
        self._process.send(request, START_WAIT_S)
        begun = self._received(START_WAIT_S)
        try:
            pace = Pace(*begun.values["pace"])
            while (answer := self._received(ANSWER_WAIT_S)).kind == stretch_simulator.PICTURE:
                yield _stretch_step(answer, pace)
            self.is_exact = bool(answer.values["is_exact"])
        except (KeyError, ValueError, TypeError) as error:
            raise WorkerError(f"the simulator's answer cannot be read: {error}") from error

    def kill(self) -> None:
        """Ends the process at once, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        self._process.close()

    def _received(self, wait_s: float) -> Message:
        answer = self._process.receive(wait_s)
        if answer.kind == simulator.FAILED:
            raise WorkerError(str(answer.values.get("sentence")))
        return answer


def _stretch_step(answer: Message, pace: Pace) -> StretchStep:
    values = answer.values
    width, height = values["size"]
    (pixels,) = answer.parts
    return StretchStep(
        Change(int(width), int(height), Box(*map(int, values["box"])), pixels),
        int(values["step"]),
        float(values["total"]),
        bool(values["is_newest"]),
        int(values["left"]),
        pace,
    )
