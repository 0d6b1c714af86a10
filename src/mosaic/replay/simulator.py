"""The program that replays an episode, in the interpreter of the worker that recorded it.

    python -m mosaic.replay.simulator LIFELINE

A recording and then requests come from standard input, answers go to standard output. What the
environment itself prints goes to standard error. LIFELINE is the descriptor of a pipe: when its
other end closes, because the owner is gone, the kernel ends this process.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from mosaic.contracts.replay import EpisodeRecording, ReplayEnvironment
from mosaic.errors import MosaicError, WorkerError
from mosaic.files import is_readable, write_all
from mosaic.replay.messages import (
    BrokenMessageError,
    Message,
    packed,
    packed_value,
    read_message,
    recording_from_message,
)
from mosaic.replay.playback import Playback
from mosaic.replay.profile import profile_of

# Requests
SEEK, STREAM, FINISH = "seek", "stream", "finish"
# Answers
READY, PROGRESS, MOMENT, VERDICT, FAILED = "ready", "progress", "moment", "verdict", "failed"

# Of memory. The size of an environment is a number, and that of an imported run is anybody's.
MOST_BYTES = 8 * 2**30
# So often, at least, somebody who waits hears that the environment is still stepping.
_PROGRESS_EVERY_S = 0.5


def make_environment(recording: EpisodeRecording) -> ReplayEnvironment:
    module, colon, function = recording.maker.partition(":")
    if not colon:
        raise WorkerError(f"{recording.maker!r} is not of the form package.module:function")
    maker = getattr(importlib.import_module(module), function)
    environment: ReplayEnvironment = maker(recording.settings)
    return environment


class Answering:
    """Requests become answers. `send` is the way out."""

    def __init__(self, playback: Playback, send: Callable[[Message], None]) -> None:
        self._playback, self._send = playback, send
        self._said_at = time.monotonic()

    def answer(self, request: Message) -> None:
        values = request.values
        if request.kind == SEEK:
            profiles_from = values.get("profiles_from")
            self._seek(int(values["step"]), values["pictures_from"], profiles_from)
        elif request.kind == STREAM:
            self._stream(bool(values["pictures"]), bool(values["observations"]))
        elif request.kind == FINISH:
            self._playback.seek(self._playback.steps, self._say_progress)
            self._say_verdict()
        else:
            raise WorkerError(f"{request.kind!r} is no request")

    def _seek(self, step: int, pictures_from: int | None, profiles_from: int | None) -> None:
        """The answer is the last moment; those with pictures or profiles before it come first."""
        playback = self._playback

        def is_wanted(since: int | None) -> bool:
            return since is not None and since <= (playback.position or 0)

        def arrived() -> None:
            if playback.position == step or playback.is_at_end:
                self._say_progress()  # it is answered below
            elif is_wanted(pictures_from) or is_wanted(profiles_from):
                self._say_moment(is_wanted(pictures_from), has_profile=is_wanted(profiles_from))
            else:
                self._say_progress()

        playback.seek(step, arrived)
        self._say_moment(
            has_picture=pictures_from is not None,
            has_profile=is_wanted(profiles_from),
            is_last=True,
        )

    def _stream(self, has_pictures: bool, has_observations: bool) -> None:
        self._playback.begin()
        self._say_moment(has_pictures, has_observations)
        self._playback.seek(
            self._playback.steps, lambda: self._say_moment(has_pictures, has_observations)
        )
        self._say_verdict()

    def _say_moment(
        self,
        has_picture: bool,
        has_observation: bool = False,
        has_profile: bool = False,
        is_last: bool = False,
    ) -> None:
        playback = self._playback
        parts: list[bytes] = []
        moment = playback.moment
        values: dict[str, Any] = {
            "index": playback.position,
            "action": packed_value(playback.action, parts),
            "observation": packed_value(moment.observation, parts) if has_observation else None,
            "reward": moment.reward,
            "recorded_reward": playback.recorded_reward,
            "terminated": moment.terminated,
            "truncated": moment.truncated,
            "picture": None,
            "profile": profile_of(moment.observation) if has_profile else None,
            "is_last": is_last,
            "difference": self._difference(),
        }
        if has_picture:
            width, height, pixels = playback.picture()
            values["picture"] = [width, height, len(parts)]
            parts.append(pixels)
        self._say(Message(MOMENT, values, parts))

    def _difference(self) -> str:
        comparison = self._playback.comparison
        return "" if comparison.first_step is None else comparison.sentence

    def _say_verdict(self) -> None:
        self._say(Message(VERDICT, self._playback.comparison.verdict().to_dict()))

    def _say_progress(self) -> None:
        if time.monotonic() - self._said_at > _PROGRESS_EVERY_S:
            self._say(Message(PROGRESS, {"index": self._playback.position}))

    def _say(self, message: Message) -> None:
        self._send(message)
        self._said_at = time.monotonic()


def serve(
    read: Callable[[int], bytes],
    send: Callable[[Message], None],
    make: Callable[[EpisodeRecording], ReplayEnvironment] = make_environment,
) -> int:
    """Until there are no more requests. What the environment raises is an answer, too."""
    first = read_message(read)
    if first is None:
        return 0
    environment: ReplayEnvironment | None = None
    try:
        recording = recording_from_message(first)
        environment = make(recording)
        playback = Playback(recording, environment)
        playback.begin()
    except (Exception, SystemExit) as error:  # noqa: BLE001 (foreign code: anything may come out)
        send(failure(error, "when it was to begin"))
        return 1
    try:
        send(Message(READY, {"steps": playback.steps}))
        answering = Answering(playback, send)
        while (request := read_message(read)) is not None:
            try:
                answering.answer(request)
            except BrokenPipeError:
                return 0  # nobody is left to be told
            except (Exception, SystemExit) as error:  # noqa: BLE001 (as above)
                send(failure(error, f"after step {playback.comparison.compared}"))
    finally:
        with contextlib.suppress(Exception):
            environment.close()
    return 0


def failure(error: BaseException, when: str) -> Message:
    if isinstance(error, MosaicError):
        hint = f" ({error.hint})" if error.hint else ""
        return Message(FAILED, {"sentence": f"{error.message}{hint}"})
    traceback.print_exception(error)
    name = type(error).__name__
    return Message(FAILED, {"sentence": f"the environment raised {name} {when}: {error}"})


def die_with_owner(lifeline: int) -> None:
    """Nothing is ever written to the pipe: its only event is that its other end closes.

    Neither a watching thread nor the kernel's parent-death signal will do: code in C may hold the
    interpreter forever, and that signal comes when the thread ends that started us.
    """
    os.set_inheritable(lifeline, False)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())  # all that the environment starts, too
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    if is_readable(lifeline, timeout_s=0):
        os._exit(1)  # the owner was gone before


def limit_memory() -> None:
    """Never more than half of the machine; an environment that wants it gets a MemoryError."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = (MOST_BYTES, half, before)
    allowed = min(limit for limit in limits if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))


def run_program(serve: Callable[[Callable[[int], bytes], Callable[[Message], None]], int]) -> int:
    """Requests from standard input, answers to standard output, and an end with the owner."""
    die_with_owner(int(sys.argv[1]))
    limit_memory()
    # What the environment prints or reads must not get between the messages.
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    def send(message: Message) -> None:
        for part in packed(message):
            write_all(answers, part)

    with open(requests, "rb") as stream, contextlib.suppress(BrokenPipeError):
        try:
            return serve(stream.read, send)
        except BrokenMessageError as error:
            send(failure(WorkerError(f"the request cannot be read: {error}"), ""))
    return 1


if __name__ == "__main__":
    sys.exit(run_program(serve))
