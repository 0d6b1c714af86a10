"""What goes on inside the agents, followed from their traces: for the steps' info, and for a file.

Agents tell it from their thread; the thread that plays asks what has changed since the last step.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spade_bdi_rl_worker.trace_file import TraceFile

LEARNER = "learner"
# Of what is told with a step: it shall stay small.
MAX_CHANGES = 24
MAX_TEXT = 160
_MAX_DEPTH = 50
# Not kept: what the world tells, and what only goes for the moment.
_PASSING = ("percept",)
_MAX_BELIEFS = 5_000
# Of what a line of the trace lists at most.
MAX_STATED = 200
# Of messages on their way, and then of an agent that thinks about the last one.
_ON_THE_WAY_S = 3.0
_QUIET_S = 0.05
_LOOK_S = 0.005


class InnerLife:
    """What all agents believe and want, and what has changed in the learner.

    `roles`: of all agents, by their names.
    """

    def __init__(
        self, file: TraceFile, note: Callable[[str], None], roles: Mapping[str, str]
    ) -> None:
        self._file = file
        self._note = note
        self._roles = dict(roles)
        self._lock = threading.Lock()
        # By agent: goals with the plan chosen for each, innermost last.
        self._goals: defaultdict[str, list[list[str]]] = defaultdict(list)
        self._perceived: defaultdict[str, dict[tuple[str, str], None]] = defaultdict(dict)
        self._beliefs: dict[str, bool] = {}  # since the last step: came (True) or went
        self._events: list[str] = []
        self._left_out = 0
        self._memory: dict[str, dict[tuple[str, str], None]] = {}
        self._has_talked = False
        self._talked_at = 0.0
        self._on_the_way: Counter[tuple[str, str]] = Counter()  # messages, by from whom to whom
        file.states = self.states

    def trace_of(self, agent: str) -> AgentTrace:
        return AgentTrace(self, agent)

    @property
    def plans(self) -> tuple[str, ...]:
        """Those with a name that are carried out for goals of the learner, outermost first."""
        with self._lock:
            goals = self._goals[LEARNER]
            return tuple(plan for _, plan in goals if plan and plan[0] not in "+-")

    def states(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Of each agent all that it believes and wants, as the trace has it."""
        with self._lock:
            told = (*self._roles, *self._memory, *self._perceived, *self._goals)
            found = [(name, self._state(name)) for name in dict.fromkeys(told)]
        yield from found

    def forget(self, agent: str) -> None:
        """It has ended and begins anew."""
        with self._lock:
            for kept in (self._memory, self._perceived, self._goals):
                kept.pop(agent, None)
            state = self._state(agent)
        self._file.write("state", agent, **state)

    def take_changes(self) -> dict[str, Any]:
        """Beliefs and events since the last call; empty where there are none."""
        with self._lock:
            found: dict[str, Any] = {}
            added = [text for text, is_new in self._beliefs.items() if is_new]
            removed = [text for text, is_new in self._beliefs.items() if not is_new]
            if added or removed:
                found["beliefs"] = {"added": added, "removed": removed}
            if self._events:
                found["events"] = list(self._events)
            if self._left_out:
                found["left_out"] = self._left_out
            self._beliefs.clear()
            self._events.clear()
            self._left_out = 0
            return found

    def memory(self) -> dict[str, list[str]]:
        """What each agent believes by itself or was told, as it would stand in a plan."""
        with self._lock:
            return {
                agent: sorted(_with_source(text, source) for text, source in beliefs)
                for agent, beliefs in self._memory.items()
            }

    def settle(self) -> None:
        """Wait until what the learner has said has arrived, and what was answered, too.

        An answer decides what is pursued next. Whether it came before or after a decision shall
        not be a matter of speed, or a run could not be repeated.
        """
        with self._lock:
            if not self._has_talked:
                return
            self._has_talked = False
        until = time.monotonic() + _ON_THE_WAY_S
        while time.monotonic() < until:
            with self._lock:
                is_quiet = time.monotonic() - self._talked_at >= _QUIET_S
                if is_quiet and not any(self._on_the_way.values()):
                    self._has_talked = False
                    return
            time.sleep(_LOOK_S)
        with self._lock:
            self._on_the_way.clear()  # lost: a coach that died, say

    # Called by the traces

    def belief(self, agent: str, added: bool, text: str, source: str) -> None:
        self._file.write("belief", agent, added=added, text=text, source=source)
        self._remember(agent, added, (text, source))
        if agent != LEARNER:
            return
        with self._lock:
            shown = text[:MAX_TEXT]
            if self._beliefs.get(shown) is (not added):
                del self._beliefs[shown]  # it came and went
            elif len(self._beliefs) < MAX_CHANGES or shown in self._beliefs:
                self._beliefs[shown] = added
            else:
                self._left_out += 1

    def goal(self, agent: str, event: str, text: str) -> None:
        self._file.write("goal", agent, event=event, text=text)
        with self._lock:
            goals = self._goals[agent]
            if event == "added":
                goals.append([text, ""])
                del goals[:-_MAX_DEPTH]
            else:
                _drop(goals, text)
            if agent == LEARNER and event in ("failed", "dropped"):
                self._tell(f"goal {event}: {text}")

    def plan(self, agent: str, name: str, trigger: str) -> None:
        self._file.write("plan", agent, name=name, trigger=trigger)
        with self._lock:
            goals = self._goals[agent]
            if trigger.startswith("+!") and goals:
                goals[-1][1] = name

    def intention(self, agent: str, event: str, text: str) -> None:
        self._file.write("intention", agent, event=event, text=text)
        if agent == LEARNER and event == "fail":
            with self._lock:
                self._tell(f"intention failed: {text}")

    def message(self, agent: str, direction: str, peer: str, performative: str, text: str) -> None:
        self._file.write(
            "message", agent, direction=direction, peer=peer, performative=performative, text=text
        )
        with self._lock:
            self._has_talked, self._talked_at = True, time.monotonic()
            if direction == "out":
                self._on_the_way[(agent, peer)] += 1
            elif self._on_the_way[(peer, agent)]:
                self._on_the_way[(peer, agent)] -= 1
        if agent == LEARNER:
            way = "from" if direction == "in" else "to"
            with self._lock:
                self._tell(f"message {way} {peer}: {performative} {text}")

    def note(self, agent: str, text: str) -> None:
        self._file.write("note", agent, text=text)
        self._note(text if agent == LEARNER else f"{agent}: {text}")

    def _remember(self, agent: str, added: bool, belief: tuple[str, str]) -> None:
        with self._lock:
            is_passing = belief[1] in _PASSING
            known = self._perceived[agent] if is_passing else self._memory.setdefault(agent, {})
            if not added:
                known.pop(belief, None)
            elif len(known) < _MAX_BELIEFS:
                known[belief] = None

    def _state(self, agent: str) -> dict[str, Any]:
        perceived, remembered = list(self._perceived[agent]), list(self._memory.get(agent, ()))
        first = perceived[-MAX_STATED:]
        room = MAX_STATED - len(first)
        listed = [*first, *(remembered[-room:] if room else ())]  # the newest
        return {
            "role": self._roles.get(agent, ""),
            "beliefs": listed,
            "goals": [list(goal) for goal in self._goals[agent]],
            "left_out": len(perceived) + len(remembered) - len(listed),
        }

    def _tell(self, text: str) -> None:
        if len(self._events) < MAX_CHANGES:
            self._events.append(text[:MAX_TEXT])
        else:
            self._left_out += 1


class AgentTrace:
    """The trace of one agent; keeps to `agents.protocols.Trace`."""

    def __init__(self, life: InnerLife, agent: str) -> None:
        self._life = life
        self._agent = agent

    def belief(self, added: bool, text: str, source: str) -> None:
        self._life.belief(self._agent, added, text, source)

    def goal(self, event: str, text: str) -> None:
        self._life.goal(self._agent, event, text)

    def plan(self, name: str, trigger: str) -> None:
        self._life.plan(self._agent, name, trigger)

    def intention(self, event: str, text: str) -> None:
        self._life.intention(self._agent, event, text)

    def message(self, direction: str, peer: str, performative: str, text: str) -> None:
        self._life.message(self._agent, direction, peer, performative, text)

    def note(self, text: str) -> None:
        self._life.note(self._agent, text)


def _drop(goals: list[list[str]], text: str) -> None:
    """By its name: what its variables stand for was not known when it was added."""
    name = text.partition("(")[0]
    for place in range(len(goals) - 1, -1, -1):
        if goals[place][0].partition("(")[0] == name:
            del goals[place]
            return


def _with_source(text: str, source: str) -> str:
    return text if source == "self" or text.endswith("]") else f"{text}[source({source})]"
