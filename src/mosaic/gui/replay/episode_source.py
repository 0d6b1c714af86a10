"""EpisodeSource: an episode asked of the daemon and simulated; everything it finds is a signal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import MosaicError
from mosaic.gui.replay.simulation_thread import (
    SimulationBegan,
    SimulationEvent,
    SimulationFailed,
    SimulationJob,
    SimulationThread,
    StepDrawn,
    StepsRead,
)
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.consent import ask_with_consent, recording_with_consent
from mosaic.gui.services.workbench import Workbench
from mosaic.replay.simulation import Simulation

NOT_SHOWN, NOT_SIMULATED = "This episode cannot be shown", "This episode cannot be simulated"

_OBSERVER_PRIORITY = 10  # it shall not make the pictures wait
_BATCH = 200


class EpisodeSource(QObject):
    """One episode at a time; nothing is told of an earlier one."""

    read = Signal(object)  # EpisodeRecording
    steps_read = Signal(object)  # EpisodeSteps
    began = Signal()
    drawn = Signal(object)  # StepDrawn
    observed = Signal(object)  # profiles of observations, by step, as they become known
    failed = Signal(str, object)  # what cannot be done, and the MosaicError that says why
    _told = Signal(object, object)  # from the simulator's thread into the window's
    _looked = Signal(object, object)  # from the observer's

    def __init__(self, workbench: Workbench, granted: set[str] | None = None) -> None:
        """`granted`: consents that a person has given so far."""
        super().__init__()
        self._workbench = workbench
        self._granted = set() if granted is None else granted
        self._asking: list[Task] = []
        self._thread: SimulationThread | None = None
        self._observer: SimulationJob | None = None
        self._ended: list[SimulationThread | SimulationJob] = []
        self.recording: EpisodeRecording | None = None
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)
        self._looked.connect(self._on_looked, Qt.ConnectionType.QueuedConnection)

    @property
    def is_simulating(self) -> bool:
        return self._thread is not None

    def show_episode(self, run_id: str, episode_index: int, subject: str = "") -> None:
        """`subject`: whose code it is, should somebody have to be asked."""
        self.end()
        ask_with_consent(
            self._workbench.state,
            self._workbench.bridge,
            lambda client, granted: recording_with_consent(client, run_id, episode_index, granted),
            self.show_recording,
            self._on_failed,
            subject=subject,
            granted=self._granted,
            begun=self._asking.append,
        )

    def show_recording(self, recording: EpisodeRecording) -> None:
        self.end()
        self.recording = recording
        self.read.emit(recording)
        self._thread = SimulationThread(recording, self._told.emit)

    def want(self, step: int, ahead: Sequence[int] = ()) -> None:
        if self._thread is not None:
            self._thread.show(step, ahead)

    def observe(self) -> None:
        """Simulates the whole episode once more, without pictures, for what its agent saw."""
        recording = self.recording
        if recording is None or self._observer is not None:
            return

        def look(simulation: Simulation) -> None:
            with contextlib.suppress(OSError):  # it is over already, or may not be asked
                os.setpriority(os.PRIO_PROCESS, simulation.pid, _OBSERVER_PRIORITY)
            batch: dict[int, list[float]] = {}
            last = simulation.steps  # `note` must not hold the simulation that holds it

            def note(step: int, profile: list[float]) -> None:
                nonlocal batch
                batch[step] = profile
                if len(batch) >= _BATCH or step == last:
                    self._looked.emit(recording, batch)
                    batch = {}

            simulation.observed = note
            for step in (0, last):  # where it stands already is told when asked for
                simulation.go_to(step)
            self._looked.emit(recording, batch)

        # Where it fails, the player fails too, and says so.
        self._observer = SimulationJob(recording, look, lambda job, found: None)

    def end(self) -> None:
        """Returns at once; whatever is under way is given up."""
        for task in self._asking:
            task.cancel()
        self._asking.clear()
        self._ended = [thread for thread in self._ended if thread.is_alive]
        for simulating in (self._thread, self._observer):
            if simulating is not None:
                simulating.end()
                self._ended.append(simulating)
        self._thread = self._observer = self.recording = None

    def join(self, wait_s: float) -> None:
        """Until the simulators that were ended are gone, but no longer than that."""
        for thread in self._ended:
            thread.join(wait_s)
        self._ended.clear()

    def _on_looked(self, recording: EpisodeRecording, profiles: dict[int, list[float]]) -> None:
        if recording is self.recording and profiles:
            self.observed.emit(profiles)

    def _on_failed(self, error: MosaicError) -> None:
        self.failed.emit(NOT_SHOWN, error)

    def _on_told(self, thread: SimulationThread, event: SimulationEvent) -> None:
        if thread is not self._thread:
            return
        match event:
            case StepsRead(steps):
                self.steps_read.emit(steps)
            case SimulationBegan():
                self.began.emit()
            case StepDrawn():
                self.drawn.emit(event)
            case SimulationFailed(error):
                self.failed.emit(NOT_SIMULATED, error)


async def first_episode(
    client: AsyncTrainerClient, run_id: str, order: str
) -> EpisodeSummary | None:
    """Of the "best", "worst" or "newest" ones; None where no episode is finished."""
    rows = client.episodes(run_id, 1, order)
    try:
        return await anext(rows, None)
    finally:
        await rows.aclose()
