"""Plays a run interactively: commands from stdin or from the daemon, answers on stdout.

Under the daemon every step and episode is an event of the journal as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from queue import Empty
from typing import Any

from cleanrl_worker.interactive.lines import Inbox, MalformedLine, Outbox, read_commands
from cleanrl_worker.interactive.player import Message, Player
from mosaic.worker import Run

_LOOK_UP_S = 0.2  # how long a stop request may wait while nobody sends a command


def serve(
    run: Run[Any], open_player: Callable[[ExitStack], Player], facts: Mapping[str, Any]
) -> None:
    """Until stopped. What goes wrong in between is said on stdout, too, before it ends the run."""
    with ExitStack() as resources:
        outbox = Outbox()
        resources.callback(outbox.close)
        try:
            player = open_player(resources)
            inbox = open_inbox(run)
            outbox.send(player.introduction(facts))
            while not player.is_stopped:
                for message in next_messages(run, player, inbox):
                    _report(run, message)
                    if not outbox.send(message):
                        player.stop()
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


def next_messages(run: Run[Any], player: Player, inbox: Inbox) -> list[Message]:
    if run.should_stop():
        return [player.stop()]
    try:
        command = inbox.get(timeout=_LOOK_UP_S)
    except Empty:
        return []
    if isinstance(command, MalformedLine):
        return [{"type": "error", "message": str(command)}]
    return player.answer(command)


def _report(run: Run[Any], message: Message) -> None:
    if message["type"] == "step":
        run.step(
            episode_index=message["episode_index"],
            step_index=message["step_index"] - 1,
            action=message["action"],
            observation=message["observation"],
            reward=float(message["reward"]),
            terminated=message["terminated"],
            truncated=message["truncated"],
        )
    elif message["type"] == "episode_done":
        run.episode(
            episode_index=message["episode_number"],
            total_reward=float(message["total_reward"]),
            steps=message["episode_length"],
            terminated=message["terminated"],
            truncated=message["truncated"],
        )
