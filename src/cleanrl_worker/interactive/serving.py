"""Plays a run interactively: commands from stdin or from the daemon, answers on stdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from queue import Empty
from typing import Any

from cleanrl_worker.environments.live_view import telling_pauses
from cleanrl_worker.interactive.lines import Inbox, MalformedLine, Outbox, read_commands
from cleanrl_worker.interactive.opening import Opened
from cleanrl_worker.interactive.player import Message
from cleanrl_worker.interactive.session import PlaySession
from mosaic.worker import ConfigError, Run, write_manifest


def serve(run: Run[Any], open_all: Callable[[ExitStack], Opened], facts: Mapping[str, Any]) -> None:
    """Until stopped. What goes wrong in between is said on stdout, too, before it ends the run."""
    with ExitStack() as resources:
        outbox = Outbox()
        resources.callback(outbox.close)
        try:
            opened = open_all(resources)
            inbox = open_inbox(run)
            introduction = opened.player.introduction({**facts, **opened.facts})
            outbox.send(introduction)
            if opened.play is not None:
                begin_playing(opened.session, opened.play, outbox)
            tell_facts(run, introduction, opened.screen.problem)
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


def tell_facts(run: Run[Any], introduction: Message, problem: str) -> None:
    """For those who see the run from outside: that it is ready, and what can be done in it."""
    known = ("action_space", "action_meanings", "has_policy", "render_fps", "env_id", "algo")
    told = {name: introduction.get(name) for name in known}
    write_manifest(run, metadata={"play": {**told, "problem": problem}})
    run.heartbeat()


def _converse(
    run: Run[Any], opened: Opened, inbox: Inbox, outbox: Outbox, introduction: Message
) -> None:
    player, session, screen = opened.player, opened.session, opened.screen
    should_stop = telling_pauses(run.should_stop, lambda: run.control.is_paused, screen.show_paused)
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
            tell_facts(run, introduction, problem)


def next_messages(opened: Opened, inbox: Inbox) -> list[Message]:
    """The answers to one command, as soon as there is one or something else is due."""
    wait_s = opened.session.wait_s()
    try:
        command = inbox.get(timeout=wait_s) if wait_s > 0 else inbox.get_nowait()
    except Empty:
        return []
    if isinstance(command, MalformedLine):
        return [{"type": "error", "message": str(command)}]
    return opened.session.answer(command)
