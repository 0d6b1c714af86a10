"""Program: the coach, or another agent of the team, in a process of its own.

It has to be one: SPADE hands messages between agents of one process over without any server.

stdin and stdout carry JSON lines. The first line says who it is (see `CompanionStart`). Then:

    {"id": 1, "command": "goal", "kind": "subgoal", "target": "row 2, column 3"}
    {"id": 2, "command": "send", "to": "learner", "performative": "tellHow", "text": "+!x <- …"}
    {"id": 3, "command": "believe", "text": "patience(3)"}
    {"id": 4, "command": "learn", "text": "+!x <- …"}
    {"command": "server", "host": "localhost", "port": 40123, …}

It answers {"event": "answer", "id": 1, "ok": true, "text": "…"} and tells {"event": "ready"},
{"event": "note", …}, {"event": "message", …} and so on. It ends when stdin does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

import agentspeak
import uvloop
from agentspeak import GoalType, Trigger

from spade_bdi_rl_worker.agents.accounts import Account, ServerAddress
from spade_bdi_rl_worker.agents.agent import TeamAgent, silence_libraries
from spade_bdi_rl_worker.agents.child_life import end_with_parent
from spade_bdi_rl_worker.agents.connection import PasswordRefusedError, UnreachableError
from spade_bdi_rl_worker.agents.plan_source import PlanError, parse_term
from spade_bdi_rl_worker.agents.protocols import Direction, GoalEvent, IntentionEvent

PERSON = "person"
_MAX_LINE_BYTES = 1_048_576


@dataclass(frozen=True)
class CompanionStart:
    """The first line: on stdin, so that the password is in no argument and no file."""

    account: dict[str, str]
    server: dict[str, Any]
    peers: dict[str, str]
    secret: str
    plan: str
    patience_s: float
    with_trace: bool = False

    @classmethod
    def of(
        cls,
        account: Account,
        server: ServerAddress,
        peers: dict[str, str],
        secret: str,
        plan: str,
        patience_s: float,
        with_trace: bool,
    ) -> CompanionStart:
        return cls(asdict(account), asdict(server), peers, secret, plan, patience_s, with_trace)


class _LineTrace:
    """Tells the team by JSON lines; all but notes only if somebody wants it."""

    def __init__(self, is_full: bool) -> None:
        self._is_full = is_full

    def belief(self, added: bool, text: str, source: str) -> None:
        self._tell("belief", added, text, source)

    def goal(self, event: GoalEvent, text: str) -> None:
        self._tell("goal", event, text)

    def plan(self, name: str, trigger: str) -> None:
        self._tell("plan", name, trigger)

    def intention(self, event: IntentionEvent, text: str) -> None:
        self._tell("intention", event, text)

    def message(self, direction: Direction, peer: str, performative: str, text: str) -> None:
        self._tell("message", direction, peer, performative, text)

    def note(self, text: str) -> None:
        say({"event": "note", "text": text})

    def _tell(self, event: str, *values: Any) -> None:
        if self._is_full:
            say({"event": event, "values": values})


class Companion(TeamAgent):
    """A coach or an observer: plans, messages, and commands of people."""

    def obey(self, command: dict[str, Any]) -> str:
        """Do what a person wants; the answer to them. Raises PlanError or AslError."""
        name = command.get("command")
        if name == "goal":
            goal = goal_term(str(command.get("kind")), str(command.get("target") or ""))
            source = agentspeak.Literal("source", (agentspeak.Literal(PERSON),))
            goal = goal.with_annotation(source)
            if not self.reasoner.post(Trigger.addition, GoalType.achievement, goal):
                raise agentspeak.AslError(self.reasoner.last_failure)
            self.wake()
            return f"{self.account.name} passes it on"
        if name == "send":
            to = str(command.get("to"))
            self.tell(to, str(command.get("performative")), str(command.get("text")))
            return f"sent to {to}"
        if name == "learn":
            self.reasoner.learn_text(str(command.get("text")))
            self.wake()
            return f"{self.account.name} has the plans"
        if name == "believe":
            parse_term(str(command.get("text")))
            if not self.hear(PERSON, "tell", str(command.get("text"))):
                raise agentspeak.AslError(self.reasoner.last_failure)
            return f"{self.account.name} knows it"
        raise agentspeak.AslError(f"{name!r} is no command")


def goal_term(kind: str, target: str) -> Any:
    if kind == "give_up":
        return agentspeak.Literal("take_goal_back")
    target_term = target or agentspeak.Literal("none")
    return agentspeak.Literal("set_goal", (agentspeak.Literal(kind), target_term))


def main() -> int:
    end_with_parent(int(sys.argv[1]))
    silence_libraries()
    status: int = uvloop.run(_live())
    return status


async def _live() -> int:
    lines = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    first = await lines.readline()
    if not first:
        return 0
    start = CompanionStart(**json.loads(first))
    agent = Companion(
        Account(**start.account),
        ServerAddress(**start.server),
        start.peers,
        start.secret,
        start.plan,
        _LineTrace(start.with_trace),
    )
    commands = loop.create_task(_read_commands(lines, agent))
    beginning = loop.create_task(agent.begin(start.patience_s))
    await asyncio.wait({beginning, commands}, return_when=asyncio.FIRST_COMPLETED)
    if commands.done():
        _leave(0)
    try:
        await beginning
    except (PasswordRefusedError, UnreachableError, PlanError) as error:
        say({"event": "failed", "kind": type(error).__name__, "text": str(error)})
        return 1
    say({"event": "ready"})
    ended = loop.create_task(agent.ended.wait())
    await asyncio.wait({ended, commands}, return_when=asyncio.FIRST_COMPLETED)
    if agent.failure is not None:
        kind = type(agent.failure).__name__
        say({"event": "failed", "kind": kind, "text": str(agent.failure)})
        return 1
    await asyncio.wait({loop.create_task(agent.finish())}, timeout=2.0)
    _leave(0)
    return 0


async def _read_commands(lines: asyncio.StreamReader, agent: Companion) -> None:
    while line := await lines.readline():
        command = json.loads(line)
        if command.get("command") == "server":
            agent.connection.move(ServerAddress(**command["address"]))
            continue
        try:
            answer, is_done = agent.obey(command), True
        except (PlanError, agentspeak.AslError) as error:
            answer, is_done = str(error), False
        say({"event": "answer", "id": command.get("id"), "ok": is_done, "text": answer})


def say(event: dict[str, Any]) -> None:
    try:
        print(json.dumps(event), flush=True)
    except BrokenPipeError:  # the team is gone, and so is whoever would want to know
        _leave(1)


def _leave(status: int) -> None:
    """Without waiting for what libraries still have running."""
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
