"""SimulationThread: one episode's simulator, in a thread of its own.

The newest request wins: dragging the scrubber waits for one picture, not for all in between.
What it finds is told to `tell` in this thread; nothing is told after `end`.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QImage

from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import MosaicError
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.gui.widgets.pictures import to_image
from mosaic.logs import get_logger
from mosaic.replay.simulation import SimulatedStep, Simulation

log = get_logger(__name__)


@dataclass(frozen=True)
class StepsRead:
    """What was recorded; known before anything is simulated."""

    steps: EpisodeSteps


@dataclass(frozen=True)
class SimulationBegan:
    steps: int


@dataclass(frozen=True)
class StepDrawn:
    wanted: int  # the step that was asked for; the episode may have ended before it
    step: SimulatedStep
    image: QImage
    difference: str
    seen: int  # this many steps are compared


@dataclass(frozen=True)
class SimulationFailed:
    error: MosaicError


SimulationEvent = StepsRead | SimulationBegan | StepDrawn | SimulationFailed


class SimulationThread:
    def __init__(
        self, recording: EpisodeRecording, tell: Callable[[SimulationThread, SimulationEvent], None]
    ) -> None:
        self._recording, self._tell = recording, tell
        self._changed = threading.Condition()
        self._wanted: int | None = None
        self._ahead: deque[int] = deque()
        self._is_ended = False
        self._simulation: Simulation | None = None
        self._thread = threading.Thread(target=self._run, name="mosaic-replay", daemon=True)
        self._thread.start()

    def show(self, step: int, ahead: Sequence[int] = ()) -> None:
        """Tells this step; those ahead are drawn meanwhile, so that they are there when wanted."""
        with self._changed:
            self._wanted = step
            self._ahead = deque(ahead)
            self._changed.notify()

    def end(self) -> None:
        """Returns at once; the simulator is killed, whatever it is doing."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()
            if self._simulation is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._simulation.kill()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, wait_s: float) -> None:
        self._thread.join(wait_s)

    # The thread

    def _run(self) -> None:
        try:
            self._say(StepsRead(EpisodeSteps.of(self._recording)))
            with Simulation(self._recording, begun=self._on_begun) as simulation:
                self._say(SimulationBegan(simulation.steps))
                self._serve(simulation)
        except MosaicError as error:
            self._say(SimulationFailed(error))
        except Exception as error:  # noqa: BLE001 (the root of the thread: nobody is above)
            log.error("gui.replay_failed", error=repr(error))
            self._say(
                SimulationFailed(MosaicError(f"the replay failed: {type(error).__name__}: {error}"))
            )
        finally:
            with self._changed:
                self._simulation = None  # and the pictures it keeps

    def _on_begun(self, simulation: Simulation) -> None:
        with self._changed:
            self._simulation = simulation
            if self._is_ended:
                simulation.kill()

    def _serve(self, simulation: Simulation) -> None:
        seen = 0
        while True:
            with self._changed:
                while self._wanted is None and not self._ahead and not self._is_ended:
                    self._changed.wait()
                if self._is_ended:
                    return
                wanted, self._wanted = self._wanted, None
                step = self._ahead.popleft() if wanted is None else wanted
            picture = simulation.seek(step)
            seen = max(seen, simulation.step.index)
            if wanted is not None:
                image = to_image(picture)
                self._say(StepDrawn(wanted, simulation.step, image, simulation.difference, seen))

    def _say(self, event: SimulationEvent) -> None:
        with self._changed:
            if self._is_ended:
                return
        self._tell(self, event)


class SimulationJob:
    """Work on a whole episode in the background: a check, a video."""

    def __init__(
        self,
        recording: EpisodeRecording,
        work: Callable[[Simulation], object],
        tell: Callable[[SimulationJob, object], None],
    ) -> None:
        """`tell` gets what the work gave, or the MosaicError that ended it."""
        self._recording, self._work, self._tell = recording, work, tell
        self._lock = threading.Lock()
        self._is_ended = False
        self._simulation: Simulation | None = None
        self._thread = threading.Thread(target=self._run, name="mosaic-replay-job", daemon=True)
        self._thread.start()

    def end(self) -> None:
        with self._lock:
            self._is_ended = True
            if self._simulation is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._simulation.kill()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, wait_s: float) -> None:
        self._thread.join(wait_s)

    def _run(self) -> None:
        found: object
        try:
            with Simulation(self._recording, begun=self._on_begun) as simulation:
                found = self._work(simulation)
        except MosaicError as error:
            found = error.with_traceback(None)  # which would hold this very frame, in a cycle
        except Exception as error:  # noqa: BLE001 (the root of the thread: nobody is above)
            log.error("gui.replay_job_failed", error=repr(error))
            found = MosaicError(f"the replay failed: {type(error).__name__}: {error}")
        with self._lock:
            self._simulation = None  # and the pictures it keeps
            if self._is_ended:
                return
        self._tell(self, found)

    def _on_begun(self, simulation: Simulation) -> None:
        with self._lock:
            self._simulation = simulation
            if self._is_ended:
                simulation.kill()
