"""The program that draws stretches of a run's recorded steps, one after the other.

    python -m mosaic.replay.stretch_simulator LIFELINE NICENESS

Like `mosaic.replay.simulator`, but it goes on with the next recording in the environment it has,
and nobody needs to ask for each picture: it waits while they are not taken out of its pipe. Of a
picture it sends what has changed, which is a small part in most environments.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

from mosaic.contracts.replay import EpisodeRecording, EpisodeStart, ReplayEnvironment
from mosaic.errors import WorkerError
from mosaic.replay.changes import ChangeFinder
from mosaic.replay.messages import RECORDING, Message, read_message, recording_from_message
from mosaic.replay.pace import Extent, Pace, extent_of, pace_of
from mosaic.replay.playback import drawn_array, recorded_actions
from mosaic.replay.simulator import failure, make_environment, run_program
from mosaic.replay.verdict import is_same

# A request follows each recording
PLAY = "play"
# Answers
BEGUN, PICTURE, OVER = "begun", "picture", "over"

Send = Callable[[Message], None]
Make = Callable[[EpisodeRecording], ReplayEnvironment]


class StretchDrawing:
    """Keeps its environment as long as the recordings are of the same one."""

    def __init__(self, send: Send, make: Make) -> None:
        self._send, self._make = send, make
        self._changes = ChangeFinder()
        self._environment: ReplayEnvironment | None = None
        self._made_of: tuple[str, dict[str, Any]] | None = None

    def play(self, recording: EpisodeRecording, least_s: float, most_s: float) -> None:
        environment = self._environment_for(recording)
        actions = recorded_actions(recording)
        pace = pace_of(_number(getattr(environment, "render_fps", None)))
        extent = extent_of(
            recording.lead,
            len(actions) - recording.lead,
            int(least_s * pace.steps_per_second),
            max(1, int(most_s * pace.steps_per_second)),
            bool(getattr(environment, "runs_on", False)),
        )
        start = EpisodeStart(dict(recording.start), recording.start_state, actions[: extent.first])
        environment.begin(start)
        self._send(Message(BEGUN, {"pace": pace, "steps": extent.steps}))
        is_exact = self._draw(environment, recording, actions, extent, pace)
        self._send(Message(OVER, {"is_exact": is_exact}))

    def close(self) -> None:
        if self._environment is not None:
            with contextlib.suppress(Exception):
                self._environment.close()
        self._environment = None

    def _environment_for(self, recording: EpisodeRecording) -> ReplayEnvironment:
        wanted = recording.maker, recording.settings
        if self._environment is None or wanted != self._made_of:
            self.close()
            self._environment, self._made_of = self._make(recording), wanted
        return self._environment

    def _draw(
        self,
        environment: ReplayEnvironment,
        recording: EpisodeRecording,
        actions: Any,
        extent: Extent,
        pace: Pace,
    ) -> bool:
        """Whether every reward was as recorded."""
        step, total, is_drawn, is_exact = 0, 0.0, extent.is_at_beginning, True
        if is_drawn:
            self._say_picture(environment, 0, 0.0, is_newest=True, left=extent.steps)
        for at in range(extent.first, extent.stop):
            moment = environment.step(actions[at])
            step, total = step + 1, total + float(moment.reward)
            is_exact = is_exact and is_same(recording.rewards[at], float(moment.reward))
            has_ended = moment.terminated or moment.truncated
            is_last = at == extent.stop - 1
            if is_drawn and (step % pace.stride == 0 or has_ended or is_last):
                is_newest, left = at >= recording.lead, extent.stop - 1 - at
                self._say_picture(environment, step, total, is_newest=is_newest, left=left)
            if has_ended and at >= recording.lead:
                break  # should it end before the recorded one, nothing follows
            if has_ended or at == recording.lead - 1:
                step, total, is_drawn = 0, 0.0, True
        return is_exact

    def _say_picture(
        self,
        environment: ReplayEnvironment,
        step: int,
        total: float,
        *,
        is_newest: bool,
        left: int,
    ) -> None:
        width, height, box, pixels = self._changes.change_to(drawn_array(environment))
        values = {
            "step": step,
            "total": total,
            "is_newest": is_newest,
            "left": left,
            "size": [width, height],
            "box": box,
        }
        self._send(Message(PICTURE, values, [pixels]))


def serve(
    read: Callable[[int], bytes],
    send: Send,
    make: Make = make_environment,
) -> int:
    """Until there are no more requests. What an environment raises is an answer, too."""
    drawing = StretchDrawing(send, make)
    try:
        while (first := read_message(read)) is not None:
            request = read_message(read)
            try:
                if first.kind != RECORDING or request is None or request.kind != PLAY:
                    raise WorkerError(f"{first.kind!r} is no request")
                recording = recording_from_message(first)
                values = request.values
                drawing.play(recording, float(values["least_s"]), float(values["most_s"]))
            except BrokenPipeError:
                return 0  # nobody is left to be told
            except (Exception, SystemExit) as error:  # noqa: BLE001 (foreign code: anything)
                drawing.close()  # in what state it is, nobody knows
                send(failure(error, "while it was drawn"))
    finally:
        drawing.close()
    return 0


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def main() -> int:
    niceness = int(sys.argv[2])

    def make(recording: EpisodeRecording) -> ReplayEnvironment:
        """Somebody waits for the first picture: only what follows its imports has low priority,
        which on a busy machine is hardly any time at all."""
        environment = make_environment(recording)
        os.nice(niceness - os.nice(0))
        return environment

    # Pictures are drawn by the thread that asks for them: the other cores are the training's.
    os.environ.setdefault("LP_NUM_THREADS", "1")
    return run_program(lambda read, send: serve(read, send, make))


if __name__ == "__main__":
    sys.exit(main())
