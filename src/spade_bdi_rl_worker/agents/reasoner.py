"""The mind of an agent: beliefs, goals, plans and intentions, told step by step and bounded.

It is agentspeak's agent with what that one lacks: intentions take turns, a plan that fails is
handled (`-!goal`) or ends its intention alone, everything is told to a trace, and nothing that a
plan does can take for ever or grow without end:

- a step may look at so many beliefs, rules and answers of actions (MAX_EXAMINED);
- an intention may take so many steps until it waits for something (MAX_STEPS_UNTIL_WAITING);
- there are at most so many beliefs, intentions, and plans within plans.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import agentspeak
from agentspeak import GoalType, Trigger, runtime

from spade_bdi_rl_worker.agents.plan_source import (
    PLAN_FAULTS,
    PlanError,
    PlanLibrary,
    parse,
    term_text,
)
from spade_bdi_rl_worker.agents.protocols import GoalEvent, Trace

MAX_EXAMINED = 100_000
MAX_STEPS_UNTIL_WAITING = 20_000
MAX_BELIEFS = 5_000
MAX_BELIEFS_OF_ONE = 1_000  # other agent
_INNER_SOURCES = ("self", "percept")
MAX_INTENTIONS = 500
MAX_DEPTH = 2_000


class _Counted:
    """What a query looks through: a copy, since a plan may change it meanwhile, and counted."""

    def __init__(self, owner: Reasoner) -> None:
        super().__init__()
        self.owner = owner

    def _all(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in list(items):
            self.owner.spend()
            yield item


class _Beliefs(_Counted, set):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        return self._all(set.__iter__(self))


class _Rules(_Counted, list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        return self._all(list.__iter__(self))


class PlanLoopError(Exception):
    """A plan goes on and on without waiting for anything."""


class _TooManyIntentionsError(PlanLoopError):
    """Plans that begin ever more plans: whose fault it is cannot be told from one of them."""


class Reasoner(runtime.Agent):  # type: ignore[misc]
    """Synchronous: whoever drives it calls `step` while `has_work`."""

    def __init__(self, name: str, actions: Any, trace: Trace) -> None:
        super().__init__(runtime.Environment(), name)
        self.beliefs: Any = defaultdict(lambda: _Beliefs(self))
        self.rules: Any = defaultdict(lambda: _Rules(self))
        self.actions = actions
        self.trace = trace
        self.steps = 0
        self.last_failure = ""
        self.loops = 0  # intentions that were ended because they went on for ever
        # What ended an intention that the agent began by itself, not for a message.
        self.own_failure = ""
        self._is_own = False  # what is posted now
        self._examined = 0
        self._current: Any = None  # the stack whose step this is
        self._held: Counter[str] = Counter()  # beliefs, by where they come from
        self._plan_of: dict[int, Any] = {}  # by the identity of its body

    # What it knows how to do

    def learn(self, library: PlanLibrary) -> None:
        """Take plans, rules and beliefs; what is there for the same event or of the same name goes.

        A goal of the text is taken up unless one like it is being pursued: a file that was edited
        can be sent as a whole to an agent that runs with it.
        """
        fresh: defaultdict[Any, list[Any]] = defaultdict(list)
        for plan in library.plans:
            fresh[_event_key(plan)].append(plan)
            self._plan_of[id(plan.body)] = plan
        labels = {plan.label for plan in library.plans if plan.annotation is not None}
        for key, plans in self.plans.items():
            self.plans[key] = [plan for plan in plans if plan.label not in labels]
        self.plans.update(fresh)
        replaced = {rule.head.literal_group() for rule in library.rules}
        for group in replaced:
            self.rules[group].clear()
        for rule in library.rules:
            self.rules[rule.head.literal_group()].append(rule)
        for group in {belief.literal_group() for belief in library.beliefs}:
            for belief in self.beliefs[group]:
                if not belief.annots:
                    self._discard(belief)
        for belief in library.beliefs:
            self.post(Trigger.addition, GoalType.belief, belief)
        for goal in library.goals:
            if not self._pursues(goal):
                self._is_own = True
                if not self.post(Trigger.addition, GoalType.achievement, goal):
                    self.own_failure = self.last_failure
                self._is_own = False

    def learn_text(self, text: str) -> PlanLibrary:
        library = parse(text, self.actions)
        self.learn(library)
        return library

    # What comes from outside

    def post(self, trigger: Trigger, goal_type: GoalType, term: Any) -> bool:
        """An event from outside: a message, a percept. Whether it could be taken."""
        self._current = None
        self._examined = 0
        try:
            self.call(trigger, goal_type, term, runtime.Intention(), delayed=True)
        except (*PLAN_FAULTS, PlanLoopError) as error:
            what = f"{trigger.value}{goal_type.value}{term.functor}/{len(term.args)}"
            self.last_failure = f"{what} was not taken: {_say(error)}"
            self.trace.note(self.last_failure)
            return False
        return True

    def perceive(self, facts: dict[str, Any], source: str = "percept") -> None:
        """Set the beliefs of these names to these values, with events for what has changed."""
        annotation = agentspeak.Literal("source", (agentspeak.Literal(source),))
        for name, value in facts.items():
            number = float(value) if type(value) is int else value
            term = agentspeak.Literal(name, (number,), (annotation,))
            held = [belief for belief in self.beliefs[(name, 1)] if annotation in belief.annots]
            if term in held:
                continue
            for belief in held:
                self.post(Trigger.removal, GoalType.belief, belief)
            self.post(Trigger.addition, GoalType.belief, term)

    def believed(self) -> list[str]:
        """All beliefs, as text."""
        return sorted(term_text(term) for group in self.beliefs.values() for term in group)

    # Steps

    @property
    def has_work(self) -> bool:
        return any(self._is_runnable(stack) for stack in self.intentions)

    def next_deadline(self) -> float | None:
        """When, by the clock of time.time, an intention that waits goes on by itself."""
        deadline: float | None = self.shortest_deadline()
        return deadline

    def step(self) -> bool:
        """One step of the intention whose turn it is; False when all of them wait."""
        stack = next((item for item in self.intentions if self._is_runnable(item)), None)
        if stack is None:
            return False
        # The next one's turn comes first.
        self.intentions.remove(stack)
        self.intentions.append(stack)
        intention = stack[-1]
        intention.waiter = None
        self.steps += 1
        self._examined, self._current = 0, stack
        instruction = intention.instr
        try:
            self._count_step(stack)
            if instruction is None:
                self._finish(stack)
            elif instruction.f(self, intention):
                intention.instr = instruction.success
            elif instruction.failure is not None:
                intention.instr = instruction.failure
            else:
                self._fail(stack, "it found no answer", instruction)
        except _TooManyIntentionsError as error:
            self.loops += 1
            label = stack[-1].plan.label
            is_own = any([self._end(each) for each in list(self.intentions)])
            self._tell_failure(
                label, f"{error}; all of them are ended{_where(instruction)}", is_own
            )
        except PlanLoopError as error:
            self.loops += 1
            label = stack[-1].plan.label
            is_own = self._end(stack)
            self._tell_failure(label, f"{error}{_where(instruction)}", is_own)
        except PLAN_FAULTS as error:
            self._fail(stack, _say(error), instruction)
        finally:
            self._current = None
        if intention.waiter is not None:
            stack[0].spent = 0
        return True

    def spend(self) -> None:
        """Count one thing that a query looks at."""
        self._examined += 1
        if self._examined > MAX_EXAMINED:
            raise PlanLoopError(
                f"a single step has looked at more than {MAX_EXAMINED:,} beliefs, rules or answers"
            )

    def drop(self, term: Any) -> int:
        """Give up every goal that this term fits, with all that was done for it."""
        dropped = 0
        for stack in list(self.intentions):
            for index, intention in enumerate(stack):
                plan = intention.plan
                is_goal = plan.goal_type is GoalType.achievement
                if is_goal and agentspeak.unifies_annotated(term, intention.head_term):
                    dropped += 1
                    while len(stack) > index:
                        gone = stack.pop()
                        self._tell_end("dropped", gone, gone.head_term)
                    break
            if not stack:
                self.intentions.remove(stack)
        return dropped

    def forget(self, pattern: Any) -> None:
        for belief in self.beliefs[pattern.literal_group()]:
            if agentspeak.unifies_annotated(pattern, belief):
                self._discard(belief)

    def holds(self, intention: Any) -> bool:
        return any(intention in stack for stack in self.intentions)

    # What agentspeak's agent does, with what is missing there

    def call(
        self, trigger: Any, goal_type: Any, term: Any, calling_intention: Any, delayed: bool = False
    ) -> bool:
        if len(self.intentions) > MAX_INTENTIONS:
            raise _TooManyIntentionsError(f"there are more than {MAX_INTENTIONS} intentions")
        before, depth, goal = len(self.intentions), len(self._current or ()), ""
        if goal_type is GoalType.achievement and trigger is Trigger.addition:
            goal = term_text(agentspeak.freeze(term, calling_intention.scope, {}))
            self.trace.goal("added", goal)
        try:
            answer = bool(super().call(trigger, goal_type, term, calling_intention, delayed))
        except (*PLAN_FAULTS, PlanLoopError):
            if goal:
                self.trace.goal("failed", goal)  # no plan was chosen for it
            raise
        if len(self.intentions) > before:
            stack = self.intentions[-1]
            # A loop that starts itself anew counts as one.
            stack[0].spent = self._current[0].spent if self._current else 0
            stack[0].is_own = self._current[0].is_own if self._current else self._is_own
            self._tell_plan(stack[-1])
            self.trace.intention("start", stack[-1].plan.label)
        elif self._current is not None and len(self._current) > depth:
            self._tell_plan(self._current[-1])
            if len(self._current) > MAX_DEPTH:
                raise PlanLoopError(
                    f"more than {MAX_DEPTH:,} plans wait for one another; where a plan repeats"
                    " itself, begin anew with !! in place of !"
                )
        return answer

    def add_belief(self, term: Any, scope: Any) -> None:
        term = term.grounded(scope)
        group = self.beliefs[(term.functor, len(term.args))]
        if term in group:
            return
        text, source = _told(term)
        limit = MAX_BELIEFS if source in _INNER_SOURCES else MAX_BELIEFS_OF_ONE
        if self._held[source] >= limit:
            raise agentspeak.AslError(
                f"there are {limit:,} beliefs that come from {source}; no more are taken"
            )
        self._held[source] += 1
        group.add(term)
        self.trace.belief(True, text, source)

    def remove_belief(self, term: Any, intention: Any) -> bool:
        term = agentspeak.evaluate(term, intention.scope)
        mark = object()
        for belief in self.beliefs[term.literal_group()]:
            intention.stack.append(mark)
            if agentspeak.unifies_annotated(term, belief, intention.scope, intention.stack):
                self._discard(belief)
                return True
            agentspeak.reroll(intention.scope, intention.stack, mark)
        return False

    def _unachieve(self, term: Any) -> None:
        self.drop(term)

    def _tell_how(self, term: Any) -> None:
        try:
            self.learn_text(term.args[0])
        except PlanError as error:
            raise agentspeak.AslError(str(error)) from error

    def _ask_how(self, term: Any) -> bool:
        raise agentspeak.AslError("plans are not given to others")

    # Within

    def _is_runnable(self, stack: Any) -> bool:
        waiter = stack[-1].waiter if stack else None
        return bool(stack) and (waiter is None or waiter.poll(self.env))

    def _pursues(self, goal: Any) -> bool:
        stacks = ([item.head_term for item in stack] for stack in self.intentions)
        return any(agentspeak.unifies(goal, head) for heads in stacks for head in heads)

    def _count_step(self, stack: Any) -> None:
        stack[0].spent += 1
        if stack[0].spent > MAX_STEPS_UNTIL_WAITING:
            raise PlanLoopError(
                f"it took {MAX_STEPS_UNTIL_WAITING:,} steps without pursuing or waiting for"
                " anything, and seems to go on for ever"
            )

    def _discard(self, belief: Any) -> None:
        text, source = _told(belief)
        self._held[source] -= 1
        self.beliefs[belief.literal_group()].discard(belief)
        self.trace.belief(False, text, source)

    def _tell_plan(self, intention: Any) -> None:
        intention.plan = self._plan_of[id(intention.instr)]
        self.trace.plan(intention.plan.label, intention.plan.trigger_text)

    def _finish(self, stack: Any) -> None:
        done = stack.pop()
        self._tell_end("achieved", done, done.head_term.freeze(done.scope, {}))
        if not stack:
            self.intentions.remove(stack)
            self.trace.intention("end", done.plan.label)
            return
        # What the plan has found out goes into the variables of the one that asked for it.
        above = stack[-1]
        answer = done.head_term.freeze(done.scope, {})
        if not agentspeak.unify(done.calling_term, answer, above.scope, above.stack):
            self._fail(stack, f"{term_text(answer)} is not what was asked for", above.instr)

    def _fail(self, stack: Any, reason: str, instruction: Any) -> None:
        """Look for a plan that handles it, from the inside out; end the intention if none does."""
        where, is_own = _where(instruction), stack[0].is_own
        while stack:
            failed = stack.pop()
            head = failed.head_term
            if failed.plan.goal_type is not GoalType.achievement:
                continue
            self._tell_end("failed", failed, head)
            if failed.plan.trigger is Trigger.addition and self._handle(stack, failed):
                self.last_failure = f"the plan {failed.plan.label} failed{where}: {reason}"
                return
        self.intentions.remove(stack)
        self.trace.intention("fail", failed.plan.label)
        self._tell_failure(failed.plan.label, f"{reason}{where}", is_own)

    def _handle(self, stack: Any, failed: Any) -> bool:
        head = failed.head_term
        key = (Trigger.removal, GoalType.achievement, head.functor, len(head.args))
        for plan in self.plans.get(key, ()):
            intention = runtime.Intention()
            for _ in agentspeak.unify_annotated(plan.head, head, intention.scope, intention.stack):
                for _ in plan.context.execute(self, intention):
                    intention.head_term, intention.calling_term = head, failed.calling_term
                    intention.instr = plan.body
                    if not stack:
                        intention.spent, intention.is_own = failed.spent, failed.is_own
                    stack.append(intention)
                    self._tell_plan(intention)
                    return True
        return False

    def _end(self, stack: Any) -> bool:
        """Whether the agent had begun it by itself."""
        label, is_own = stack[0].plan.label, bool(stack[0].is_own)
        while stack:
            gone = stack.pop()
            self._tell_end("failed", gone, gone.head_term)
        self.intentions.remove(stack)
        self.trace.intention("fail", label)
        return is_own

    def _tell_end(self, event: GoalEvent, intention: Any, goal: Any) -> None:
        """Each goal ends once: one that a plan for its failure is about has failed before."""
        plan = intention.plan
        if plan.goal_type is GoalType.achievement and plan.trigger is Trigger.addition:
            self.trace.goal(event, term_text(goal))

    def _tell_failure(self, what: str, reason: str, is_own: bool = False) -> None:
        self.last_failure = f"the plan {what} was ended: {reason}"
        if is_own:
            self.own_failure = self.last_failure
        self.trace.note(self.last_failure)


def now() -> float:
    """The clock that `.wait` goes by."""
    return time.time()


def _event_key(plan: Any) -> tuple[Any, Any, str, int]:
    return plan.trigger, plan.goal_type, plan.head.functor, len(plan.head.args)


def _told(term: Any) -> tuple[str, str]:
    """A belief's text and who it comes from."""
    sources = [annot.args[0] for annot in term.annots if annot.functor == "source" and annot.args]
    bare = agentspeak.Literal(term.functor, term.args)
    return term_text(bare), str(sources[0]) if sources else "self"


def _where(instruction: Any) -> str:
    loc = getattr(instruction, "loc", None)
    return f" (line {loc.lineno}, column {loc.startcol + 1})" if loc else ""


def _say(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its rules ask for one another without end"
    if isinstance(error, agentspeak.AslError | PlanLoopError):
        return str(error)
    return f"{type(error).__name__}: {error}"
