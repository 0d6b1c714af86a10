"""ProcessBatch: the environments shared out among processes, one per core."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from cleanrl_worker.environments.batch import EXACT, UP_TO_RESET, Array, EnvBatch, Episode, Step
from cleanrl_worker.environments.live_view import Note, note_each_cause_once
from cleanrl_worker.environments.loop_batch import saved_environments
from cleanrl_worker.environments.processes.messages import (
    EMPTY,
    SharedArrays,
    SpinWait,
    receive,
    send,
)
from cleanrl_worker.environments.single import make_single
from mosaic.errors import WorkerError, from_wire
from mosaic.fastlane.settings import SINGLE, Settings

_PATIENCE_S = 5.0
# How long both sides look for a message without sleeping, where there are cores for all of them:
# twice what a step of an Atari game takes. Eight games on 16 cores, with the time a policy takes
# between two steps: 1,283 us on average if all sleep, 1,061 if all watch.
_WATCH_S = 0.002


class ProcessBatch(EnvBatch):
    """Trajectories and states are those of a LoopBatch, whatever the number of processes."""

    vectorization = "processes"

    def __init__(
        self, arguments: Mapping[str, Any], num_envs: int, num_processes: int, cores: int = 1
    ) -> None:
        """`arguments` are those of `make_single`; `cores` are there for all processes."""
        sample = make_single(**arguments)
        space, action_space = sample.observation_space, sample.action_space
        sample.close()
        self.observation_space, self.action_space = space, action_space
        self.num_envs = num_envs
        self._no_flags = np.zeros(num_envs, dtype=np.bool_)
        self._children: list[_Child] = []
        self._note: Note = lambda text: None
        memory = os.memfd_create("cleanrl-environments")
        try:
            self._shared = SharedArrays(
                memory,
                num_envs,
                (space.shape, space.dtype),
                (action_space.shape, action_space.dtype),
            )
            watch_s = _WATCH_S if cores > num_processes else 0.0
            bounds = np.linspace(0, num_envs, num_processes + 1).astype(int).tolist()
            for first, end in itertools.pairwise(bounds):
                self._children.append(_Child(memory, first, end - first, watch_s))
            for child in self._children:
                child.order(
                    {
                        "arguments": dict(arguments),
                        "num_envs": num_envs,
                        "first": child.first,
                        "count": child.count,
                        "watch_s": watch_s,
                    }
                )
            self._take_answers()
        except BaseException:
            self.close()
            raise
        finally:
            os.close(memory)
        self.observations = self._shared.observations.copy()

    def reset(self, seed: int) -> Array:
        self._call("reset", [[seed]] * len(self._children))
        return self.observations

    def step(self, actions: Array) -> Step:
        shared = self._shared
        shared.actions[...] = actions
        for child in self._children:
            child.start_step()
        ends: list[tuple[int, Any]] = []
        for child in self._children:
            answer = child.answer()
            if answer is not None:
                ends.append((child.first, answer))
        self.observations = observations = shared.observations.copy()
        rewards = shared.rewards.copy()
        terminated, truncated = self._no_flags.copy(), self._no_flags.copy()
        finals: dict[int, Array] = {}
        episodes: list[Episode] = []
        for first, answer in ends:
            for local in answer["ended"]:
                index = first + local
                terminated[index] = shared.terminated[index]
                truncated[index] = shared.truncated[index]
                finals[index] = shared.finals[index].copy()
            self._pass_on(answer)
            for local, *values in answer["episodes"]:
                episodes.append(Episode(first + local, *values))
        return Step(observations, rewards, terminated, truncated, finals, episodes)

    def state_dict(self) -> dict[str, Any]:
        parts = self._call("state_dict", [[]] * len(self._children))
        environments = [saved for part in parts for saved in part["environments"]]
        return {"environments": environments, "video_episodes": 0}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        saved = saved_environments(state, self.num_envs)
        self._call(
            "load_state_dict",
            [
                [{"environments": saved[child.first : child.first + child.count]}]
                for child in self._children
            ],
        )

    def close(self) -> None:
        for child in self._children:
            child.hang_up()
        for child in self._children:
            child.wait()
        self._children = []

    def _call(self, name: str, arguments: list[list[Any]]) -> list[Any]:
        """Each child gets its own arguments; they work at the same time."""
        for child, given in zip(self._children, arguments, strict=True):
            child.order({"call": name, "arguments": given})
        answers = self._take_answers()
        self.observations = self._shared.observations.copy()
        return [answer["answer"] for answer in answers]

    def open_view(self, settings: Settings, note: Note) -> None:
        """Each process shows its own environments. One after the other, as they take the slots in
        the order in which they come."""
        self._note = note_each_cause_once(note)
        showing = [child for child in self._children if child.shows(settings)]
        for child in showing:
            theirs = settings._replace(
                slot=settings.slot - child.first,
                # A step lasts as long as that of the slowest: what they spend adds up.
                budget=settings.budget / len(showing),
            )
            child.order({"call": "open_view", "arguments": [list(theirs)]})
            self._pass_on(child.answer())

    def show_paused(self, is_paused: bool) -> None:
        self._call("show_paused", [[is_paused]] * len(self._children))

    def _pass_on(self, answer: Mapping[str, Any]) -> None:
        for text in answer.get("notes", ()):
            self._note(text)

    def _take_answers(self) -> list[Any]:
        answers = [child.answer() for child in self._children]
        for answer in answers:
            self._pass_on(answer)
        is_exact = all(answer["exactness"] == EXACT for answer in answers)
        self.exactness = EXACT if is_exact else UP_TO_RESET
        return answers


class _Child:
    """The training's end of one environment process."""

    def __init__(self, memory: int, first: int, count: int, watch_s: float) -> None:
        self.first = first
        self.count = count
        self._channel, theirs = socket.socketpair()
        self._watch = SpinWait(self._channel, watch_s)
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "cleanrl_worker.environments.processes.child",
                    *map(str, (theirs.fileno(), memory, os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), memory),
            )

    def shows(self, settings: Settings) -> bool:
        if settings.mode == SINGLE:
            return self.first <= settings.slot < self.first + self.count
        return self.first < settings.grid_limit

    def start_step(self) -> None:
        with contextlib.suppress(ConnectionError):  # `answer` says what happened
            self._channel.sendall(EMPTY)

    def order(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            send(self._channel, message)

    def answer(self) -> Any:
        self._watch.wait()
        try:
            message = receive(self._channel)
        except EOFError:
            code = self._process.wait()
            raise WorkerError(
                f"A process of environments {self.first} to {self.first + self.count - 1} ended "
                f"with code {code}",
                hint="its last lines on stderr say why; --vectorization loop avoids processes",
            ) from None
        if message is not None and "error" in message:
            raise from_wire(message["error"])
        return message

    def hang_up(self) -> None:
        self._channel.close()

    def wait(self) -> None:
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
