"""An agent of the team: SPADE's BDI agent with a reasoner of ours, messages that arrive, and rest.

What spade_bdi does in a loop without end happens here only when there is something to do: a
message, a pursuit that has ended, a moment that a plan waits for. Reasoning has an allowance, so
that no plan eats a core; messages come from members of the team only, each once and in order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import agentspeak
from agentspeak import GoalType, Trigger
from spade.message import Message
from spade_bdi.bdi import BDIAgent
from spade_bdi.bdi_behaviour import BDIBehaviour

from spade_bdi_rl_worker.agents.accounts import Account, ServerAddress
from spade_bdi_rl_worker.agents.connection import Connection
from spade_bdi_rl_worker.agents.delivery import Envelope, Inbox, Outbox, Verdict
from spade_bdi_rl_worker.agents.limited_notes import LimitedNotes
from spade_bdi_rl_worker.agents.plan_actions import PlanActions
from spade_bdi_rl_worker.agents.plan_source import (
    PlanError,
    PlanLibrary,
    parse,
    parse_term,
    term_text,
)
from spade_bdi_rl_worker.agents.protocols import Trace
from spade_bdi_rl_worker.agents.reasoner import Reasoner, now

STEPS_PER_TURN = 200
MESSAGES_PER_TURN = 20
# Reasoning that nothing pays for: enough for any plan that waits for something now and then.
STEPS_PER_S = 2_000.0
MAX_ALLOWANCE = 30_000.0
STEPS_PER_MESSAGE = 100.0
STEPS_PER_PURSUIT = 1_000.0
_BRAKE_S = 0.05
_PERFORMATIVES = {
    "tell": (Trigger.addition, GoalType.belief),
    "untell": (Trigger.removal, GoalType.belief),
    "achieve": (Trigger.addition, GoalType.achievement),
    "unachieve": (Trigger.removal, GoalType.achievement),
    "tellHow": (Trigger.addition, GoalType.tellHow),
}
_ACKNOWLEDGEMENT = "ack"


class _Turns(BDIBehaviour):  # type: ignore[misc]
    """In place of a loop that never sleeps."""

    async def run(self) -> None:
        try:
            await self.agent.take_turn()
        except Exception as error:
            self.agent.end(error)  # SPADE would write it to a log
            raise


class TeamAgent(BDIAgent):  # type: ignore[misc]
    """`peers`: the addresses of the other members by name. `secret`: what all members know.

    The embedded server lets anybody on this machine in, and lets them say who they are: a message
    without the secret is refused.
    """

    def __init__(
        self,
        account: Account,
        server: ServerAddress,
        peers: dict[str, str],
        secret: str,
        plan: str,
        trace: Trace,
    ) -> None:
        self.account = account
        self.peers = dict(peers)
        self.trace = LimitedNotes(trace)
        self.refused: Counter[str] = Counter()  # messages that were not taken, by the reason
        self.failure: Exception | None = None
        self.ended = asyncio.Event()
        self.reasoner: Reasoner
        self._secret = secret
        self._plan = plan
        self._names = {address: name for name, address in peers.items()}
        self._inbox = Inbox()
        self._outboxes = {name: Outbox() for name in peers}
        self._wake = asyncio.Event()
        self._allowance = MAX_ALLOWANCE
        self._counted_at = time.monotonic()
        self._resending: asyncio.Task[None] | None = None
        super().__init__(
            account.address,
            account.password,
            "",
            PlanActions(),
            port=server.port,
            verify_security=False,
        )
        self.connection = Connection(
            account, server, self._message_received, self._connected, self.trace.note
        )
        self.connection.on_failure = self._connection_failed

    # Life

    async def begin(self, patience_s: float) -> None:
        """Connect, then take up the plan. Raises what `Connection.open` raises, and PlanError."""
        library = parse(self._plan, self.bdi_actions)
        await self.connection.open(patience_s)
        self.take_up(library)
        self._resending = asyncio.get_running_loop().create_task(self._resend())
        await self.start(auto_register=False)
        self.wake()

    def take_up(self, library: PlanLibrary) -> None:
        """The plan it starts with."""
        self.reasoner.learn(library)

    async def finish(self) -> None:
        """Bounded; afterwards nothing of it runs any more."""
        if self._resending is not None:
            self._resending.cancel()
        for behaviour in self.behaviours:
            behaviour.kill()
        self.wake()
        self._alive.clear()
        await self.connection.close()

    def end(self, failure: Exception | None = None) -> None:
        """It has done what it was for, or cannot go on."""
        self.failure = self.failure or failure
        self.ended.set()
        self.wake()

    def wake(self) -> None:
        self._wake.set()

    # What SPADE and spade_bdi call

    async def _async_connect(self) -> None:
        """The connection is there already."""

    async def _async_start(self, auto_register: bool = True) -> None:
        await self.setup()
        self._alive.set()
        for behaviour in self.behaviours:
            behaviour.set_agent(self)
            behaviour.start()

    def add_behaviour(self, behaviour: Any, template: Any = None) -> None:
        if type(behaviour) is BDIBehaviour:
            behaviour = _Turns()
        super().add_behaviour(behaviour, template)

    def _load_asl(self) -> None:
        self.reasoner = Reasoner(self.account.name, self.bdi_actions, self.trace)
        self.bdi_agent = self.reasoner
        self.resume_bdi()

    def add_custom_actions(self, actions: PlanActions) -> None:
        """What every agent's plans can do; the learner's can do more."""
        actions.offer(".send", 3, self._action(self._send_term))
        actions.offer(".note", None, self._action(self._note_terms))
        actions.offer(".print", None, self._action(self._note_terms))
        actions.offer(".drop", 1, self._action(self._drop_term))

    @staticmethod
    def _action(act: Callable[..., None]) -> Any:
        def run(agent: Any, term: Any, intention: Any) -> Any:
            act(term.args, intention)
            yield

        return run

    def _send_term(self, terms: Any, intention: Any) -> None:
        receivers = agentspeak.grounded(terms[0], intention.scope)
        performative = str(agentspeak.grounded(terms[1], intention.scope))
        if performative not in _PERFORMATIVES:
            raise agentspeak.AslError(f"{performative} is no way to send a message")
        content = agentspeak.freeze(terms[2], intention.scope, {})
        text = content if isinstance(content, str) else term_text(content)
        for receiver in receivers if isinstance(receivers, tuple) else (receivers,):
            self.tell(str(getattr(receiver, "functor", receiver)), performative, text)

    def _note_terms(self, terms: Any, intention: Any) -> None:
        memo: dict[Any, Any] = {}
        words = (agentspeak.freeze(term, intention.scope, memo) for term in terms)
        self.trace.note(" ".join(_shown(word) for word in words)[:1000])

    def _drop_term(self, terms: Any, intention: Any) -> None:
        self.reasoner.drop(agentspeak.freeze(terms[0], intention.scope, {}))

    # Turns

    async def take_turn(self) -> None:
        """Wait for something to do, then do some of it."""
        await self._rest()
        for _ in range(MESSAGES_PER_TURN):
            if not self._take_message():
                break
        before = self.reasoner.steps
        while self.reasoner.steps - before < STEPS_PER_TURN and not self.ended.is_set():
            if not self.reasoner.step():
                break
        self._allowance -= self.reasoner.steps - before
        self.after_turn()

    def after_turn(self) -> None:
        """For what a role has to look after."""

    def pay(self, steps: float) -> None:
        """Something has happened that is worth thinking about."""
        self._allowance = min(MAX_ALLOWANCE, self._allowance + steps)

    async def _rest(self) -> None:
        moment = time.monotonic()
        self.pay((moment - self._counted_at) * STEPS_PER_S)
        self._counted_at = moment
        if self._allowance < 0:
            self.trace.note(
                f"the plans of {self.account.name} think without end; they are held to"
                f" {STEPS_PER_S:,.0f} steps a second"
            )
            await asyncio.sleep(_BRAKE_S)
            return
        if self.reasoner.has_work or self._inbox or self.ended.is_set():
            await asyncio.sleep(_BRAKE_S if self.ended.is_set() else 0)
            return
        deadline = self.reasoner.next_deadline()
        try:
            limit = None if deadline is None else max(0.001, deadline - now() + 0.001)
            await asyncio.wait_for(self._wake.wait(), limit)
        except TimeoutError:
            return
        self._wake.clear()

    # Messages

    def tell(self, name: str, performative: str, text: str) -> None:
        """Send to a member of the team; what cannot be sent now is sent as soon as it can be."""
        outbox = self._outboxes.get(name)
        if outbox is None:
            raise agentspeak.AslError(f"nobody in this team is called {name}")
        if not outbox.put(performative, text):
            self.trace.note(
                f"{name} does not take its messages: {outbox.refused:,} were not sent, the last:"
                f" {performative} {text[:80]}"
            )
            return
        self.trace.message("out", name, performative, text)
        self._transmit(name)

    def _transmit(self, name: str) -> None:
        if not self.connection.is_connected:
            return
        for envelope in self._outboxes[name].to_send(time.monotonic()):
            metadata = {
                "performative": "BDI",
                "ilf_type": envelope.performative,
                "session": envelope.session,
                "number": str(envelope.number),
                "base": str(envelope.base),
            }
            self._post(self.peers[name], envelope.body, metadata)

    def _post(self, address: str, body: str, metadata: dict[str, str]) -> None:
        # Not by SPADE's container: every message goes through the server.
        metadata["team"] = self._secret
        message = Message(to=address, sender=self.account.address, body=body, metadata=metadata)
        if self.connection.is_connected:
            self.connection.send(message.prepare(self.connection.client))

    def _message_received(self, stanza: Any) -> None:
        """Called by the XMPP client for whatever comes."""
        message = Message.from_node(stanza)
        name = self._names.get(message.sender.bare, "")
        if not name or message.get_metadata("team") != self._secret:
            self._refuse("from somebody outside the team")
            return
        session = message.get_metadata("session") or ""
        try:
            number = int(message.get_metadata("number") or "")
            base = int(message.get_metadata("base") or "0")
        except ValueError:
            self._refuse("without a number")
            return
        if message.get_metadata("performative") == _ACKNOWLEDGEMENT:
            self._outboxes[name].acknowledge(session, number)
            self._transmit(name)
            return
        kind = message.get_metadata("ilf_type") or ""
        verdict = self._inbox.offer(name, Envelope(kind, message.body or "", session, number, base))
        if verdict in (Verdict.TAKEN, Verdict.KNOWN):
            self._acknowledge(name)
            self.wake()
        elif verdict is Verdict.FULL:
            self._refuse("because too many were waiting; they are sent again")
        elif verdict is Verdict.TOO_LONG:
            self._refuse("because they are too long")

    def _acknowledge(self, name: str) -> None:
        session, number = self._inbox.taken(name)
        metadata = {"performative": _ACKNOWLEDGEMENT, "session": session, "number": str(number)}
        # XMPP clients do not hear of a message without a body.
        self._post(self.peers[name], _ACKNOWLEDGEMENT, metadata)

    def _refuse(self, reason: str) -> None:
        self.refused[reason] += 1
        count = self.refused[reason]
        # Each power of ten once, so that a flood is told and does not become one itself.
        if str(count).strip("0") == "1":
            self.trace.note(f"{self.account.name} refused {count:,} message(s) {reason}")

    def _take_message(self) -> bool:
        taken = self._inbox.take()
        if taken is None:
            return False
        name, envelope = taken
        self.pay(STEPS_PER_MESSAGE)
        self.trace.message("in", name, envelope.performative, envelope.body)
        self.hear(name, envelope.performative, envelope.body)
        return True

    def hear(self, name: str, performative: str, text: str) -> bool:
        """Whether the message means something to this agent."""
        if performative not in _PERFORMATIVES:
            self._refuse(f"of the unknown kind {performative[:20]!r}")
            return False
        trigger, goal_type = _PERFORMATIVES[performative]
        try:
            if goal_type is GoalType.tellHow:
                self.reasoner.learn_text(text)
                self.trace.note(f"{self.account.name} has new plans from {name}")
                self.wake()
                return True
            term = parse_term(text)
        except PlanError as error:
            self.trace.note(f"{self.account.name} cannot read a message of {name}: {error}")
            return False
        source = agentspeak.Literal("source", (agentspeak.Literal(name),))
        is_taken = self.reasoner.post(trigger, goal_type, term.with_annotation(source))
        self.wake()
        return is_taken

    async def _resend(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            for name, outbox in self._outboxes.items():
                if outbox.unacknowledged:
                    self._transmit(name)

    def _connected(self, client: Any) -> None:
        self.client = client
        for name, outbox in self._outboxes.items():
            outbox.start_again()
            # By the next turn of the loop, when the client is ready to send.
            asyncio.get_running_loop().call_soon(self._transmit, name)

    def _connection_failed(self) -> None:
        self.end(self.connection.failure)


def _shown(word: Any) -> str:
    if isinstance(word, float):
        return f"{word:.6g}"
    return word if isinstance(word, str) else term_text(word)


def silence_libraries() -> None:
    """Their warnings are for developers; what matters becomes a note."""
    for name in ("slixmpp", "spade", "SPADE", "agentspeak", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
