"""The learner: plans decide what is pursued, hands pursue it in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import agentspeak
from agentspeak import runtime

from mosaic.errors import WorkerError
from spade_bdi_rl_worker.agents.accounts import Account, ServerAddress
from spade_bdi_rl_worker.agents.agent import STEPS_PER_PURSUIT, TeamAgent
from spade_bdi_rl_worker.agents.plan_actions import PlanActions
from spade_bdi_rl_worker.agents.plan_source import PlanLibrary
from spade_bdi_rl_worker.agents.protocols import (
    KINDS,
    Belief,
    Hands,
    PursuitRefusedError,
    PursuitReport,
    Trace,
)

MAX_EPISODES = 1_000_000
HANDS_S = 5.0  # they end within a tenth of a second once they are interrupted
_INTERRUPT_AGAIN_S = 0.05


@dataclass
class _Pursuit:
    intention: Any
    outcome: Any  # the variable that gets it
    kind: str
    target: str
    episodes: int
    is_interrupted: bool = False


class LearnerAgent(TeamAgent):
    """Ends when its plans have nothing left to do, by `.finish`, or when the hands say so."""

    def __init__(
        self,
        account: Account,
        server: ServerAddress,
        peers: dict[str, str],
        secret: str,
        plan: str,
        trace: Trace,
        hands: Hands,
        beliefs: dict[str, Belief],
    ) -> None:
        self.hands = hands
        self.pursuits = 0
        self.final_words = ""
        self._given = dict(beliefs)
        self._pursuit: _Pursuit | None = None
        self._acting: Future[tuple[PursuitReport, dict[str, Belief]]] | None = None
        self._waits = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pursuit")
        super().__init__(account, server, peers, secret, plan, trace)

    def add_custom_actions(self, actions: PlanActions) -> None:
        super().add_custom_actions(actions)
        actions.offer(".pursue", 4, self._pursue_action())
        actions.offer(".interrupt", 0, self._action(lambda terms, intention: self.interrupt()))
        actions.offer(".finish", 1, self._action(self._finish_with))

    def take_up(self, library: PlanLibrary) -> None:
        # What the plan says itself counts for more than what came with the settings.
        said = {belief.literal_group() for belief in library.beliefs}
        given = {name: value for name, value in self._given.items() if (name, 1) not in said}
        self.reasoner.perceive({**given, **self.hands.beliefs()})
        super().take_up(library)

    async def finish(self) -> None:
        self.ended.set()  # no further step, which might pursue something else
        self.interrupt()
        if self._acting is not None:
            await asyncio.wait({asyncio.wrap_future(self._acting)}, timeout=HANDS_S)
        self._thread.shutdown(wait=False, cancel_futures=True)
        await super().finish()

    def interrupt(self) -> None:
        """End the pursuit that is under way; the plan that pursues goes on with what it has."""
        if self._pursuit is not None and not self._pursuit.is_interrupted:
            self._pursuit.is_interrupted = True
            self._interrupt_until_it_ends(self._pursuit)

    def after_turn(self) -> None:
        pursuit = self._pursuit
        if pursuit is not None and not self.reasoner.holds(pursuit.intention):
            self.interrupt()  # for a goal that was dropped
        if pursuit is None and not self.reasoner.intentions and not self.ended.is_set():
            self._look_after_idleness()

    def _look_after_idleness(self) -> None:
        if self.reasoner.own_failure:
            self.end(
                WorkerError(
                    f"the plans of the learner do nothing any more: {self.reasoner.own_failure}",
                    hint="correct the plan; a goal that may fail wants a plan for -!goal",
                )
            )
        elif not self._waits:
            self._waits = True
            self.trace.note(
                "the learner waits for messages: its plans have nothing to do by themselves"
            )

    # Actions

    def _finish_with(self, terms: Any, intention: Any) -> None:
        self.final_words = agentspeak.asl_str(agentspeak.grounded(terms[0], intention.scope))
        self.end()

    def _pursue_action(self) -> Any:
        """`.pursue(Kind, Target, Episodes, Outcome)`: waits until it has ended.

        Outcome is `reached` or `missed` of a subgoal, `played` otherwise, `interrupted` if it was.
        """

        def run(agent: Any, term: Any, intention: Any) -> Iterator[None]:
            kind, target, episodes = (
                agentspeak.grounded(part, intention.scope) for part in term.args[:3]
            )
            self._begin_pursuit(
                _Pursuit(
                    intention,
                    term.args[3],
                    getattr(kind, "functor", kind),
                    agentspeak.asl_str(target) if kind != agentspeak.Literal("none") else "",
                    _whole_number(episodes),
                )
            )
            yield

        return run

    def _begin_pursuit(self, pursuit: _Pursuit) -> None:
        if self.ended.is_set():
            raise agentspeak.AslError("the team ends")
        if pursuit.kind not in KINDS:
            raise agentspeak.AslError(f"{pursuit.kind!r} cannot be pursued; {', '.join(KINDS)} can")
        if self._pursuit is not None:
            raise agentspeak.AslError("another plan is pursuing something; one at a time")
        if pursuit.kind != "subgoal":
            pursuit.target = ""
        pursuit.intention.waiter = runtime.Waiter()
        self._pursuit = pursuit
        what = (pursuit.target,) if pursuit.kind == "subgoal" else ()
        self.reasoner.perceive({"pursuing": agentspeak.Literal(pursuit.kind, what)})
        self._acting = future = self._thread.submit(self._act, pursuit)
        loop = asyncio.get_running_loop()

        def done(future: Future[tuple[PursuitReport, dict[str, Belief]]]) -> None:
            loop.call_soon_threadsafe(self._end_pursuit, pursuit, future)

        future.add_done_callback(done)

    def _act(self, pursuit: _Pursuit) -> tuple[PursuitReport, dict[str, Belief]]:
        """In the thread of the hands."""
        if pursuit.is_interrupted:
            return PursuitReport(0, was_interrupted=True), self.hands.beliefs()
        report = self.hands.pursue(pursuit.kind, pursuit.target, pursuit.episodes)
        return report, self.hands.beliefs()

    def _end_pursuit(
        self, pursuit: _Pursuit, future: Future[tuple[PursuitReport, dict[str, Belief]]]
    ) -> None:
        self._pursuit = None
        self.pursuits += 1
        intention = pursuit.intention
        intention.waiter = None
        self.pay(STEPS_PER_PURSUIT)
        error = future.exception()
        if isinstance(error, PursuitRefusedError):
            self.trace.note(f"the learner cannot pursue {_name(pursuit)}: {error}")
            intention.instr = runtime.Instruction(_failing(str(error)))
            self.wake()
            return
        if error is not None:
            self.end(error if isinstance(error, Exception) else WorkerError(str(error)))
            return
        report, beliefs = future.result()
        self.reasoner.perceive(beliefs)
        outcome = agentspeak.Literal(_outcome(pursuit, report))
        if not agentspeak.unify(pursuit.outcome, outcome, intention.scope, intention.stack):
            intention.instr = runtime.Instruction(_failing(f"the outcome was {outcome}"))
        if report.is_over:
            self.end()
        self.wake()

    def _interrupt_until_it_ends(self, pursuit: _Pursuit) -> None:
        if self._pursuit is pursuit:
            self.hands.interrupt()
            asyncio.get_running_loop().call_later(
                _INTERRUPT_AGAIN_S, self._interrupt_until_it_ends, pursuit
            )


def _outcome(pursuit: _Pursuit, report: PursuitReport) -> str:
    if report.was_interrupted:
        return "interrupted"
    if pursuit.kind != "subgoal":
        return "played"
    return "reached" if report.reached else "missed"


def _name(pursuit: _Pursuit) -> str:
    return f"{pursuit.kind} {pursuit.target}".strip()


def _whole_number(value: Any) -> int:
    if not agentspeak.is_number(value) or not 1 <= value <= MAX_EPISODES:
        raise agentspeak.AslError(f"{value!r} is no number of episodes")
    return int(value)


def _failing(reason: str) -> Any:
    def fail(agent: Any, intention: Any) -> bool:
        raise agentspeak.AslError(reason)

    return fail
