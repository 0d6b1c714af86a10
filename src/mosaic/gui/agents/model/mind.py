"""Minds: what each agent of a run believes and wants now, made of the lines of its trace.

Bounded, whatever a run writes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from mosaic.contracts.agents import (
    BeliefLine,
    GoalLine,
    IntentionLine,
    MessageLine,
    NoteLine,
    PlanLine,
    SkippedLine,
    StateLine,
    TraceLine,
)
from mosaic.gui.value_map.model import plain

MOST_AGENTS = 32
MOST_BELIEFS = 1000
MOST_GOALS = 50
MOST_INTENTIONS = 50
MOST_MESSAGES = 500
MOST_HAPPENINGS = 300
# So long something is new, or shown although it is gone.
MARKED_S = 3.0
# Names that a reasoner gave its own variables.
_VARIABLE = re.compile(r"(?<!\w)_\w+")
_MOST_GONE = 50


@dataclass(frozen=True)
class Belief:
    text: str
    source: str
    at: float | None  # when it came, or went; None: before anybody looked
    is_gone: bool = False

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]


@dataclass(frozen=True)
class Goal:
    text: str
    plan: str
    at: float | None


@dataclass(frozen=True)
class Message:
    number: int
    at: float
    sender: str
    receiver: str
    performative: str
    text: str


@dataclass(frozen=True)
class Happening:
    """A note, or something that went wrong."""

    number: int
    at: float
    what: str  # "note", "goal failed", "goal dropped" or "plan failed"
    text: str


@dataclass(frozen=True)
class MindView:
    """One agent at one moment, for another thread to show."""

    agent: str
    role: str
    beliefs: tuple[Belief, ...]
    goals: tuple[Goal, ...]  # innermost last
    intentions: tuple[str, ...]
    messages: tuple[Message, ...]  # newest first
    happenings: tuple[Happening, ...]  # newest first
    left_out: int  # beliefs that are not listed
    achieved: int  # goals, since the trace begins
    skipped: int  # lines of the trace that were left out; they may have been those of others

    @property
    def goal(self) -> str:
        """What it says it pursues, or else the innermost of its goals."""
        told = self._said("pursuing")
        return told or (self.goals[-1].text if self.goals else "")

    @property
    def plan(self) -> str:
        """The innermost that somebody gave a name: others are called after what triggers them."""
        named = (goal.plan for goal in reversed(self.goals))
        return next((plan for plan in named if plan and plan[0] not in "+-"), "")

    @property
    def confidence(self) -> float | None:
        """What it believes about itself, from 0 to 1."""
        try:
            value = float(self._said("confidence"))
        except ValueError:
            return None
        return value if 0 <= value <= 1 else None

    def _said(self, name: str) -> str:
        """What stands in its belief of this name: `x` of `name(x)`."""
        for belief in self.beliefs:
            if belief.name == name and not belief.is_gone:
                return belief.text.partition("(")[2].removesuffix(")")
        return ""


@dataclass
class _Agent:
    role: str = ""
    beliefs: dict[tuple[str, str], Belief] = field(default_factory=dict)
    gone: dict[tuple[str, str], Belief] = field(default_factory=dict)
    came: dict[tuple[str, str], float | None] = field(default_factory=dict)  # those that are gone
    goals: list[Goal] = field(default_factory=list)
    intentions: dict[str, int] = field(default_factory=dict)  # how often each is carried out
    messages: deque[Message] = field(default_factory=lambda: deque(maxlen=MOST_MESSAGES))
    happenings: deque[Happening] = field(default_factory=lambda: deque(maxlen=MOST_HAPPENINGS))
    left_out: int = 0
    achieved: int = 0
    skipped: int = 0
    is_stated: bool = False


class Minds:
    def __init__(self) -> None:
        self._agents: dict[str, _Agent] = {}
        self._count = 0
        self.has_too_many = False  # agents

    def apply(self, lines: Iterable[TraceLine]) -> None:
        for line in lines:
            if isinstance(line, SkippedLine):
                self._skip(line)
                continue
            agent = self._agent(plain(line.agent))
            if agent is None:
                continue
            match line:
                case BeliefLine():
                    _believe(agent, line)
                case GoalLine():
                    self._pursue(agent, line)
                case PlanLine():
                    if line.trigger.startswith("+!") and agent.goals:
                        last = agent.goals[-1]
                        agent.goals[-1] = Goal(last.text, without_variables(line.name), last.at)
                case IntentionLine():
                    self._intend(agent, line)
                case MessageLine():
                    self._hear(agent, line)
                case NoteLine():
                    self._tell(agent, line.at, "note", line.text)
                case StateLine():
                    _state(agent, line)

    def views(self) -> tuple[MindView, ...]:
        return tuple(_view(name, agent) for name, agent in self._agents.items())

    def _agent(self, name: str) -> _Agent | None:
        if name not in self._agents:
            if not name:
                return None
            if len(self._agents) >= MOST_AGENTS:
                self.has_too_many = True
                return None
            self._agents[name] = _Agent()
        return self._agents[name]

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _skip(self, line: SkippedLine) -> None:
        """Nobody knows whose they were, and what they said: states follow."""
        for agent in self._agents.values():
            agent.skipped += line.count

    def _pursue(self, agent: _Agent, line: GoalLine) -> None:
        text = without_variables(line.text)
        if line.event == "added":
            agent.goals.append(Goal(text, "", line.at))
            del agent.goals[:-MOST_GOALS]
            return
        name = text.partition("(")[0]
        # By its name: what its variables stand for was not known when it was added.
        for place in range(len(agent.goals) - 1, -1, -1):
            if agent.goals[place].text.partition("(")[0] == name:
                del agent.goals[place]
                break
        if line.event == "achieved":
            agent.achieved += 1
        elif line.event in ("failed", "dropped"):
            self._tell(agent, line.at, f"goal {line.event}", text)

    def _intend(self, agent: _Agent, line: IntentionLine) -> None:
        text, known = without_variables(line.text), agent.intentions
        if line.event == "start":
            if text in known or len(known) < MOST_INTENTIONS:
                known[text] = known.get(text, 0) + 1
            return
        if known.get(text, 0) > 1:
            known[text] -= 1
        else:
            known.pop(text, None)
        if line.event == "fail":
            self._tell(agent, line.at, "plan failed", text)

    def _hear(self, agent: _Agent, line: MessageLine) -> None:
        me, peer = plain(line.agent), plain(line.peer)
        sender, receiver = (peer, me) if line.is_incoming else (me, peer)
        agent.messages.appendleft(
            Message(
                self._next(),
                line.at,
                sender,
                receiver,
                plain(line.performative),
                without_variables(line.text),
            )
        )

    def _tell(self, agent: _Agent, at: float, what: str, text: str) -> None:
        agent.happenings.appendleft(Happening(self._next(), at, what, plain(text)))


def without_variables(text: str) -> str:
    """`batch_size(_X_ac1_7f)` is `batch_size(_)`: those names mean nothing to anybody."""
    return _VARIABLE.sub("_", plain(text))


def _believe(agent: _Agent, line: BeliefLine) -> None:
    text, source = plain(line.text), plain(line.source)
    key = (text, source)
    if not line.is_added:
        was = agent.beliefs.pop(key, None)
        if was is not None:
            # Of those with one name only the last: a counter leaves nothing behind it.
            name = (was.name, source)
            agent.gone[name] = Belief(text, source, line.at, is_gone=True)
            agent.came[name] = was.at
            while len(agent.gone) > _MOST_GONE:
                oldest = next(iter(agent.gone))
                del agent.gone[oldest], agent.came[oldest]
        return
    new = Belief(text, source, line.at)
    name = (new.name, source)
    gone, came = agent.gone.pop(name, None), agent.came.pop(name, None)
    if gone is not None and gone.text == text and line.at - (gone.at or 0) < MARKED_S:
        new = Belief(text, source, came)  # it was written anew, and says what it said
    agent.beliefs.pop(key, None)
    agent.beliefs[key] = new
    if len(agent.beliefs) > MOST_BELIEFS:
        del agent.beliefs[next(iter(agent.beliefs))]
        agent.left_out += 1


def _state(agent: _Agent, line: StateLine) -> None:
    """All of it counts; what was believed before keeps its time."""
    at = line.at if agent.is_stated else None
    before = agent.beliefs
    agent.beliefs = {}
    for told, told_source in line.beliefs[:MOST_BELIEFS]:
        key = (plain(told), plain(told_source))
        agent.beliefs[key] = before.get(key) or Belief(*key, at)
    agent.goals = [
        Goal(without_variables(text), without_variables(plan), None)
        for text, plan in line.goals[-MOST_GOALS:]
    ]
    agent.gone.clear()
    agent.came.clear()
    agent.intentions.clear()
    agent.role = plain(line.role)
    agent.left_out = line.left_out + max(0, len(line.beliefs) - MOST_BELIEFS)
    agent.is_stated = True


def _view(name: str, agent: _Agent) -> MindView:
    listed = [*agent.beliefs.values(), *agent.gone.values()]
    return MindView(
        name,
        agent.role,
        tuple(sorted(listed, key=lambda one: (one.name, one.source, one.text, one.is_gone))),
        tuple(agent.goals),
        tuple(agent.intentions),
        tuple(agent.messages),
        tuple(agent.happenings),
        agent.left_out,
        agent.achieved,
        agent.skipped,
    )
