"""Simulation: a recorded episode that can be looked at, step by step, and compared with the record.

    with Simulation(recording) as simulation:
        picture = simulation.seek(120)
        verdict = simulation.verify()

Used by one thread. At step 0 the episode has just begun; at step n its first n actions are taken.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.consent import consent_error
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.fastlane.tiling import Picture
from mosaic.replay import simulator
from mosaic.replay.messages import Message, recording_to_message, unpacked_value
from mosaic.replay.profile import MOST_NUMBERS
from mosaic.replay.simulator_process import SimulatorProcess
from mosaic.replay.verdict import ReplayVerdict, impossible_replay

# Importing a worker's packages takes its time; so may the actions that lead to the beginning.
START_WAIT_S = 120.0
# For a sign of life: between two of them lies one step, or a new beginning.
ANSWER_WAIT_S = 60.0
# Pictures that are kept, for whoever goes back and forth.
_KEPT_BYTES = 64 * 2**20
# Going back means beginning again: on the way, this many pictures before the wanted one are drawn.
_DRAWN_BEFORE = 15


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """Where the episode stands after `index` actions; index 0 is its beginning, without action."""

    index: int
    action: Any
    observation: Any  # only where asked for
    reward: float
    recorded_reward: float
    terminated: bool
    truncated: bool
    picture: Picture | None


class Simulation:
    def __init__(
        self,
        recording: EpisodeRecording,
        *,
        start_wait_s: float = START_WAIT_S,
        answer_wait_s: float = ANSWER_WAIT_S,
        begun: Callable[[Simulation], None] | None = None,
    ) -> None:
        """Returns when the episode stands at its beginning; raises WorkerError.

        `begun` gets it as soon as there is a process: another thread may `kill` it from then on.
        """
        self._answer_wait_s = answer_wait_s
        self._kept: OrderedDict[int, SimulatedStep] = OrderedDict()
        self._kept_bytes = 0
        # Gets the profile of each observation, once, as the episode is simulated.
        self.observed: Callable[[int, list[float]], None] | None = None
        self._observed_to = -1
        self.difference = ""  # the first one that was found, and how many; empty: none so far
        self.step = SimulatedStep(0, None, None, 0.0, 0.0, False, False, None)
        self._simulator_at = 0
        check_possible(recording)
        self._process = SimulatorProcess(recording.python, recording.path)
        if begun is not None:
            begun(self)
        try:
            self._process.send(recording_to_message(recording), start_wait_s)
            ready = self._received(start_wait_s)
            self.steps = int(ready.values["steps"])
        except BaseException:
            self._process.kill()
            self._process.close()
            raise

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._process.close()

    def kill(self) -> None:
        """Ends the simulator at once, whatever it is doing."""
        self._process.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    def seek(self, step: int) -> Picture:
        """What the environment looks like there; `self.step` then has the step's telemetry.

        Where the simulated episode ends before the recorded one, its last picture.
        """
        step = min(max(step, 0), self.steps)
        found = self._kept.get(step)
        if found is None:
            is_back = step < self._simulator_at
            first = max(0, step - _DRAWN_BEFORE) if is_back else step
            for found in self._seek(step, first):
                if found.picture is not None:
                    self._keep(found)
        assert found is not None and found.picture is not None
        self.step = found
        return found.picture

    def go_to(self, step: int) -> int:
        """Without a picture; for what is `observed` on the way. Returns where it stands."""
        for found in self._seek(min(max(step, 0), self.steps), None):
            self.step = found
        return self.step.index

    def moments(self) -> list[SimulatedStep]:
        """All of them, from the beginning to the end, without pictures."""
        return list(self.stream())

    def stream(self, pictures: bool = False, observations: bool = False) -> Iterator[SimulatedStep]:
        """From the beginning to the end; to be read wholly before anything else is asked."""
        self._ask(simulator.STREAM, pictures=pictures, observations=observations)
        yield from self._moments()

    def verify(self) -> ReplayVerdict:
        """Takes what is left of the episode, and says how it compares."""
        try:
            self._ask(simulator.FINISH)
            answer = self._received(self._answer_wait_s)
            self._simulator_at = self.steps
        except WorkerError as error:
            return impossible_replay(error.message)
        return ReplayVerdict(**answer.values)

    def _seek(self, step: int, pictures_from: int | None) -> Iterator[SimulatedStep]:
        profiles_from = None if self.observed is None else self._observed_to + 1
        self._ask(
            simulator.SEEK, step=step, pictures_from=pictures_from, profiles_from=profiles_from
        )
        return self._moments()

    def _ask(self, kind: str, **values: Any) -> None:
        self._process.send(Message(kind, values), self._answer_wait_s)

    def _moments(self) -> Iterator[SimulatedStep]:
        while True:
            answer = self._received(self._answer_wait_s)
            if answer.kind == simulator.VERDICT:
                return
            self.difference = str(answer.values["difference"])
            found = _simulated_step(answer)
            self._simulator_at = found.index
            if answer.values.get("profile") is not None and self.observed is not None:
                self._observed_to = max(self._observed_to, found.index)
                self.observed(found.index, _profile(answer))
            yield found
            if answer.values["is_last"]:
                return

    def _received(self, wait_s: float) -> Message:
        while True:
            answer = self._process.receive(wait_s)
            if answer.kind == simulator.FAILED:
                raise WorkerError(str(answer.values.get("sentence")))
            if answer.kind != simulator.PROGRESS:
                return answer

    def _keep(self, found: SimulatedStep) -> None:
        assert found.picture is not None
        if found.index not in self._kept:
            self._kept_bytes += len(found.picture.pixels)
        self._kept[found.index] = found
        while self._kept_bytes > _KEPT_BYTES and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= len(dropped.picture.pixels) if dropped.picture else 0


def simulate(
    recording: EpisodeRecording, *, pictures: bool = False, observations: bool = False
) -> Iterator[SimulatedStep]:
    """The steps of an episode as they come; the first one is its beginning, without action."""
    with Simulation(recording) as simulation:
        try:
            yield from simulation.stream(pictures, observations)
        except GeneratorExit:
            simulation.kill()  # it has more to say, and nobody listens
            raise


def verify(recording: EpisodeRecording) -> ReplayVerdict:
    """The whole episode compared with its record; never raises for what the environment does."""
    try:
        with Simulation(recording) as simulation:
            return simulation.verify()
    except WorkerError as error:
        return impossible_replay(error.message)


def check_possible(recording: EpisodeRecording) -> None:
    """Raises WorkerError where no attempt is needed to know that it fails, and ConsentError where
    a person has to see first what it would run."""
    if recording.consent is not None:
        raise consent_error(recording.consent, None, "Simulating this episode")
    if recording.problem:
        raise WorkerError(recording.problem)
    if not recording.maker:
        raise WorkerError("its worker names nothing that makes its environments again")
    if not os.access(recording.python, os.X_OK):
        raise WorkerError(
            f"the interpreter {recording.python} is not on this machine",
            hint="replay where the worker is installed",
        )


def _profile(answer: Message) -> list[float]:
    try:
        return [float(value) for value in answer.values["profile"][:MOST_NUMBERS]]
    except (ValueError, TypeError) as error:
        raise WorkerError(f"the simulator's answer cannot be read: {error}") from error


def _simulated_step(answer: Message) -> SimulatedStep:
    values, parts = answer.values, answer.parts
    try:
        picture = None
        if values["picture"] is not None:
            width, height, place = values["picture"]
            picture = Picture(width, height, parts[place])
        return SimulatedStep(
            values["index"],
            unpacked_value(values["action"], parts),
            unpacked_value(values["observation"], parts),
            values["reward"],
            values["recorded_reward"],
            values["terminated"],
            values["truncated"],
            picture,
        )
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise WorkerError(f"the simulator's answer cannot be read: {error}") from error
