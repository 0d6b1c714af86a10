"""One environment process: steps its share of the environments whenever the training says so.

    python -m cleanrl_worker.environments.processes.child CHANNEL MEMORY PARENT

CHANNEL and MEMORY are inherited descriptors, PARENT is the process id of the training.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from typing import Any

from cleanrl_worker.environments.loop_batch import LoopBatch
from cleanrl_worker.environments.processes.messages import (
    EMPTY,
    SharedArrays,
    SpinWait,
    receive,
    send,
)
from cleanrl_worker.environments.single import make_single
from mosaic.errors import MosaicError, WorkerError, to_wire
from mosaic.fastlane.settings import Settings

_PR_SET_PDEATHSIG = 1


class EnvironmentProcess:
    def __init__(self, channel: socket.socket, memory: int) -> None:
        self._channel = channel
        order = receive(channel)
        self._watch = SpinWait(channel, order["watch_s"])
        self._first: int = order["first"]
        self._notes: list[str] = []  # not yet told to the training
        arguments = order["arguments"]
        self._batch = LoopBatch([make_single(**arguments) for _ in range(order["count"])])
        space, actions = self._batch.observation_space, self._batch.action_space
        shared = SharedArrays(
            memory,
            order["num_envs"],
            (space.shape, space.dtype),
            (actions.shape, actions.dtype),
        )
        mine = slice(self._first, self._first + order["count"])
        self._actions = shared.actions[mine]
        self._observations, self._finals = shared.observations[mine], shared.finals[mine]
        self._rewards = shared.rewards[mine]
        self._terminated, self._truncated = shared.terminated[mine], shared.truncated[mine]
        send(channel, {"exactness": self._batch.exactness})

    def serve(self) -> None:
        try:
            self._obey()
        finally:
            self._batch.close()  # graphics drivers complain about what they find at the exit

    def _obey(self) -> None:
        while True:
            self._watch.wait()
            order = receive(self._channel)
            if order is None:
                self._step()
            else:
                answer = getattr(self, f"_{order['call']}")(*order["arguments"])
                self._observations[...] = self._batch.observations
                send(
                    self._channel,
                    {
                        "answer": answer,
                        "exactness": self._batch.exactness,
                        "notes": self._take_notes(),
                    },
                )

    def _step(self) -> None:
        step = self._batch.step(self._actions)
        self._observations[...] = step.observations
        self._rewards[...] = step.rewards
        if not step.finals and not self._notes:
            self._channel.sendall(EMPTY)
            return
        self._terminated[...], self._truncated[...] = step.terminated, step.truncated
        for index, final in step.finals.items():
            self._finals[index] = final
        send(
            self._channel,
            {
                "ended": list(step.finals),
                "episodes": step.episodes,
                "notes": self._take_notes(),
            },
        )

    def _reset(self, seed: int) -> None:
        self._batch.reset(seed + self._first)

    def _state_dict(self) -> dict[str, Any]:
        return self._batch.state_dict()

    def _load_state_dict(self, state: dict[str, Any]) -> None:
        self._batch.load_state_dict(state)

    def _open_view(self, settings: list[Any]) -> None:
        self._batch.open_view(Settings(*settings), self._notes.append)

    def _show_paused(self, is_paused: bool) -> None:
        self._batch.show_paused(is_paused)

    def _take_notes(self) -> list[str]:
        notes, self._notes[:] = list(self._notes), []
        return notes


def exit_with_parent(parent: int) -> None:
    """However the training ends, no environment process outlives it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(0)


def main() -> None:
    channel_number, memory, parent = (int(text) for text in sys.argv[1:4])
    exit_with_parent(parent)
    # Ctrl-C and a stop reach the whole group; the training still needs its environments to save.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel = socket.socket(fileno=channel_number)
    try:
        EnvironmentProcess(channel, memory).serve()
    except EOFError:
        return  # the training is over
    except MosaicError as error:
        send(channel, {"error": to_wire(error)})
    except Exception as error:
        failure = WorkerError(f"An environment failed: {type(error).__name__}: {error}")
        send(channel, {"error": to_wire(failure)})
        raise


if __name__ == "__main__":
    main()
