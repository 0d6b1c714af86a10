"""Plays a run interactively: JSON lines from stdin or from the daemon, answers on stdout."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import Any

from cleanrl_worker.environments.live_view import showing_pauses
from cleanrl_worker.interactive.opening import OpenedPlay
from cleanrl_worker.interactive.player import Message
from cleanrl_worker.interactive.session import PlaySession
from mosaic.files import write_all
from mosaic.worker import ConfigError, Run, write_manifest

MAX_LINE_BYTES = 1_048_576
STOP = {"cmd": "stop"}


class MalformedLine(str):
    """In place of a command: why the line is none."""

    __slots__ = ()


Inbox = SimpleQueue[Any]


def serve(
    run: Run[Any], open_play: Callable[[ExitStack], OpenedPlay], facts: Mapping[str, Any]
) -> None:
    """Until stopped. What goes wrong in between is said on stdout, too, before it ends the run."""
    with ExitStack() as resources:
        outbox = Outbox()
        resources.callback(outbox.close)
        try:
            opened = open_play(resources)
            inbox = open_inbox(run)
            introduction = opened.player.introduction({**facts, **opened.facts})
            outbox.send(introduction)
            if opened.play is not None:
                begin_playing(opened.session, opened.play, outbox)
            publish_facts(run, introduction, opened.screen.problem)
            _converse(run, opened, inbox, outbox, introduction)
        except Exception as error:
            outbox.send({"type": "error", "message": str(error) or type(error).__name__})
            raise


def open_inbox(run: Run[Any]) -> Inbox:
    """Under the daemon the SDK reads stdin, and hands over what it does not know itself."""
    inbox: Inbox = Inbox()
    if run.assignment.has_control:
        run.control.on_command = inbox.put
    else:
        read_commands(0, inbox)
    return inbox


def begin_playing(session: PlaySession, fields: Mapping[str, Any], outbox: Outbox) -> None:
    """As if the command had come. What it asks for wrongly is an error of the config."""
    for message in session.answer({**fields, "cmd": "play"}):
        if message["type"] == "error":
            raise ConfigError(f"'extras.play': {message['message']}", field="extras.play")
        outbox.send(message)


def publish_facts(run: Run[Any], introduction: Message, problem: str) -> None:
    """For those who see the run from outside: that it is ready, and what can be done in it."""
    known = ("action_space", "action_meanings", "has_policy", "render_fps", "env_id", "algo")
    told = {name: introduction.get(name) for name in known}
    write_manifest(run, metadata={"play": {**told, "problem": problem}})
    run.heartbeat()


def _converse(
    run: Run[Any], opened: OpenedPlay, inbox: Inbox, outbox: Outbox, introduction: Message
) -> None:
    player, session, screen = opened.player, opened.session, opened.screen
    should_stop = showing_pauses(run.should_stop, lambda: run.control.is_paused, screen.show_paused)
    problem = screen.problem
    while not player.is_stopped:
        messages = [player.stop()] if should_stop() else next_messages(opened, inbox)
        if not player.is_stopped:
            messages += session.tick()
        for message in messages:
            if not outbox.send(message) and not player.is_stopped:
                player.stop()
        if screen.problem != problem:
            problem = screen.problem
            publish_facts(run, introduction, problem)


def next_messages(opened: OpenedPlay, inbox: Inbox) -> list[Message]:
    """The answers to one command, as soon as there is one or something else is due."""
    wait_s = opened.session.wait_s()
    try:
        command = inbox.get(timeout=wait_s) if wait_s > 0 else inbox.get_nowait()
    except Empty:
        return []
    if isinstance(command, MalformedLine):
        return [{"type": "error", "message": str(command)}]
    return opened.session.answer(command)


def read_commands(fd: int, inbox: Inbox) -> None:
    """Read until the other side closes its end, which means stop. Runs in a thread."""
    # os.read: a daemon thread inside a buffered read would abort the interpreter's exit.
    threading.Thread(target=_read, args=(fd, inbox), name="commands", daemon=True).start()


def _read(fd: int, inbox: Inbox) -> None:
    rest, is_skipping = b"", False
    while chunk := os.read(fd, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip() and not is_skipping:
                inbox.put(parse_command(line))
            is_skipping = False
        if len(rest) > MAX_LINE_BYTES:
            if not is_skipping:
                inbox.put(MalformedLine(f"a line has more than {MAX_LINE_BYTES} bytes"))
            rest, is_skipping = b"", True
    if rest.strip() and not is_skipping:
        inbox.put(parse_command(rest))
    inbox.put(STOP)


def parse_command(line: bytes) -> Any:
    try:
        command = json.loads(line)
    except (ValueError, RecursionError):
        return MalformedLine("the line is not JSON")
    return command if isinstance(command, dict) else MalformedLine("a command is a JSON object")


class Outbox:
    """Owns what was stdout: whatever else prints in this process ends up on stderr."""

    def __init__(self) -> None:
        self._fd = os.dup(1)
        os.dup2(2, 1)

    def send(self, message: dict[str, Any]) -> bool:
        """False when nobody reads any more."""
        try:
            write_all(self._fd, json.dumps(message, allow_nan=False).encode() + b"\n")
        except BrokenPipeError:
            return False
        return True

    def close(self) -> None:
        os.dup2(self._fd, 1)
        os.close(self._fd)
