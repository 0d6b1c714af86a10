"""The agents of a run together: started in order, watched, told things, stopped without a trace.

team = Team(settings, hands, trace)
report = team.run()        # blocks; raises MosaicError
team.handle({"command": "goal", "kind": "exploit"})   # from any other thread
team.stop()                                            # likewise
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import uvloop
from spade.container import Container

from mosaic.errors import ConfigError, MosaicError, WorkerError
from mosaic.files import make_directory
from spade_bdi_rl_worker.agents.accounts import (
    Account,
    ServerAddress,
    embedded_accounts,
    external_accounts,
)
from spade_bdi_rl_worker.agents.agent import silence_libraries
from spade_bdi_rl_worker.agents.coach import CompanionStart
from spade_bdi_rl_worker.agents.commands import Answer, passed_on, problem_with, refused
from spade_bdi_rl_worker.agents.companion import Companion, refused_password
from spade_bdi_rl_worker.agents.connection import PasswordRefusedError, UnreachableError
from spade_bdi_rl_worker.agents.learner import LearnerAgent
from spade_bdi_rl_worker.agents.plan_check import check_plan
from spade_bdi_rl_worker.agents.protocols import Hands, NoTrace, Trace
from spade_bdi_rl_worker.agents.server_process import HOST, ServerProcess
from spade_bdi_rl_worker.agents.settings import LEARNER, TeamSettings

HANDLE_S = 5.0
_STOP_S = 10.0


@dataclass
class TeamReport:
    """What there is to say about a team that has ended as it should."""

    final_words: str = ""  # of a plan that used .finish
    was_stopped: bool = False
    pursuits: int = 0
    server_restarts: int = 0
    reconnects: int = 0
    refused_messages: Counter[str] = field(default_factory=Counter)


class Team:
    """`companion_trace` gives a trace for everything inside a companion, by its name;
    `on_restart` hears of one that has ended and begins anew, knowing what its plan says.
    """

    def __init__(
        self,
        settings: TeamSettings,
        hands: Hands,
        trace: Trace | None = None,
        *,
        on_ready: Callable[[ServerAddress], None] = lambda address: None,
        companion_trace: Callable[[str], Trace | None] = lambda name: None,
        on_restart: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.settings = settings
        self.hands = hands
        self.trace: Trace = trace or NoTrace()
        self._on_ready = on_ready
        self._companion_trace = companion_trace
        self._on_restart = on_restart
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False
        self._end: asyncio.Event
        self._failure: MosaicError | None = None
        self._server: ServerProcess | None = None
        self._companions: dict[str, Companion] = {}
        self._learner: LearnerAgent | None = None
        self._restarting: asyncio.Task[None] | None = None
        self._server_restarts = 0

    # From any thread

    def run(self) -> TeamReport:
        """Blocks until the learner has done what it was for, or `stop`. Raises MosaicError."""
        check_plans(self.settings)
        report: TeamReport = uvloop.run(self._live())
        return report

    def stop(self) -> None:
        """End soon: a pursuit is interrupted. May come before `run`, too."""
        with self._lock:
            self._is_stopped = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._end.set)

    def handle(self, command: dict[str, Any]) -> Answer:
        """Do what a person wants: {"ok": …, "text": a sentence, "problems": of a plan, if any}."""
        problem = problem_with(command, self.settings.roles)
        if problem is not None:
            return problem
        with self._lock:
            if self._loop is None:
                return refused("the agents are not running")
            future = asyncio.run_coroutine_threadsafe(self._pass_on(command), self._loop)
        try:
            return future.result(HANDLE_S)
        except (TimeoutError, asyncio.CancelledError):
            return refused("the agents do not answer")

    # In the loop

    async def _live(self) -> TeamReport:
        silence_libraries()
        self._end = asyncio.Event()
        with self._lock:
            self._loop = asyncio.get_running_loop()
            if self._is_stopped:
                self._end.set()
        Container().reset()  # it would keep the loop of a team before this one
        try:
            await self._until_end(self._begin())
            if not self._end.is_set() and self._learner is not None:
                await self._until_end(self._learner.ended.wait())
        finally:
            with self._lock:
                self._loop = None
            was_ended = self._learner is not None and self._learner.ended.is_set()
            await self._finish()
        failure = self._failure or (self._learner.failure if self._learner is not None else None)
        if isinstance(failure, PasswordRefusedError):
            failure = refused_password(str(failure))
        if failure is not None:
            raise failure
        return self._report(was_stopped=not was_ended)

    async def _until_end(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do the work, unless the team is to end before it is done."""
        tasks = {asyncio.ensure_future(work), asyncio.ensure_future(self._end.wait())}
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for task in done:
            task.result()

    async def _begin(self) -> None:
        settings = self.settings
        make_directory(settings.folder, mode=0o700)
        secret = secrets.token_urlsafe(16)
        names = [LEARNER, *(item.name for item in settings.companions)]
        if settings.server is not None:
            accounts, address = external_accounts(settings.server, names), settings.server.address
        self._launch_companions()
        if settings.server is None:
            self._server = ServerProcess(settings.folder, self._server_ended)
            await self._server.start(settings.port, settings.start_patience_s)
            accounts, address = embedded_accounts(names, HOST), self._server.address
        self.trace.note(f"the XMPP server of the team is {address}")
        addresses = {name: account.address for name, account in accounts.items()}
        starts = [
            self._companions[item.name].begin(
                CompanionStart.of(
                    accounts[item.name],
                    address,
                    _without(addresses, item.name),
                    secret,
                    settings.plan_of(item),
                    settings.start_patience_s,
                    self._companion_trace(item.name) is not None,
                )
            )
            for item in settings.companions
        ]
        self._learner = self._make_learner(accounts[LEARNER], address, addresses, secret)
        await asyncio.gather(*starts, self._begin_learner(self._learner))
        self.trace.note(f"{', '.join(names)} are connected")
        self._on_ready(address)

    def _launch_companions(self) -> None:
        for item in self.settings.companions:
            companion = Companion(
                item.name,
                self.settings.folder,
                self.trace.note,
                self._fail,
                self._companion_trace(item.name),
                functools.partial(self._on_restart, item.name),
            )
            self._companions[item.name] = companion
            companion.launch()

    def _make_learner(
        self, account: Account, address: ServerAddress, addresses: dict[str, str], secret: str
    ) -> LearnerAgent:
        return LearnerAgent(
            account,
            address,
            _without(addresses, LEARNER),
            secret,
            self.settings.learner_plan,
            self.trace,
            self.hands,
            self.settings.beliefs,
        )

    async def _begin_learner(self, learner: LearnerAgent) -> None:
        try:
            await learner.begin(self.settings.start_patience_s)
        except PasswordRefusedError as error:
            raise refused_password(str(error)) from error
        except UnreachableError as error:
            raise WorkerError(
                str(error), hint="check host, port and domain of the server", field="xmpp.host"
            ) from error

    async def _pass_on(self, command: dict[str, Any]) -> Answer:
        coach = self._companions.get(self.settings.coach)
        if coach is None:
            return refused("the agents are still starting")
        if command.get("to") == coach.name:
            if command["command"] == "plan":
                return await coach.ask({"command": "learn", "text": command["text"]})
            return await coach.ask({"command": "believe", "text": command["belief"]})
        return await coach.ask(passed_on(command))

    def _server_ended(self) -> None:
        if not self._end.is_set():
            self.trace.note("the XMPP server of this run ended, and is started again")
            self._restarting = asyncio.ensure_future(self._restart_server())

    async def _restart_server(self) -> None:
        assert self._server is not None
        try:
            is_same_port = await self._server.restart(self.settings.start_patience_s)
        except MosaicError as error:
            self._fail(error)
            return
        self._server_restarts += 1
        address = self._server.address
        if not is_same_port:
            if self._learner is not None:
                self._learner.connection.move(address)
            for companion in self._companions.values():
                companion.move(address)
        self.trace.note(f"the XMPP server runs again at {address}; nothing is lost")

    def _fail(self, error: MosaicError) -> None:
        self._failure = self._failure or error
        self._end.set()

    async def _finish(self) -> None:
        self._end.set()
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.gather(self._restarting, return_exceptions=True)
        if self._learner is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._learner.finish(), _STOP_S)
        await asyncio.gather(*(companion.stop() for companion in self._companions.values()))
        if self._server is not None:
            await self._server.stop()

    def _report(self, was_stopped: bool) -> TeamReport:
        learner = self._learner
        if learner is None:
            return TeamReport(was_stopped=True)
        return TeamReport(
            learner.final_words,
            was_stopped,
            learner.pursuits,
            self._server_restarts,
            learner.connection.reconnects,
            learner.refused,
        )


def run_team(settings: TeamSettings, hands: Hands, trace: Trace) -> TeamReport:
    """A team that nobody tells anything."""
    return Team(settings, hands, trace).run()


def check_plans(settings: TeamSettings) -> None:
    """Raises ConfigError for the first plan that is wrong, with all its problems in the details."""
    plans = [(LEARNER, LEARNER, settings.learner_plan, "plan")]
    plans += [
        (item.name, item.role, settings.plan_of(item), "agents") for item in settings.companions
    ]
    for name, role, text, setting in plans:
        problems = check_plan(text, role)
        errors = [problem for problem in problems if problem.is_error]
        if errors:
            raise ConfigError(
                f"the plan of {name} is wrong: {errors[0]}",
                hint="; ".join(map(str, errors[1:4])),
                field=setting,
                problems=[problem.to_dict() for problem in problems],
            )


def _without(addresses: dict[str, str], name: str) -> dict[str, str]:
    return {other: address for other, address in addresses.items() if other != name}
