"""The actions that plans may use: AgentSpeak's own, without those that would reach outside.

Every answer of an action counts as work of the agent that asks, so that a query which would never
end is stopped, see `Reasoner.spend`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import agentspeak
from agentspeak import stdlib

# They print on the program's output, write files, or know no server.
_HIDDEN = {
    (".abolish", 1),
    (".broadcast", 2),
    (".concat", None),
    (".control_flow", 0),
    (".dump", 0),
    (".print", None),
    (".range", 2),
    (".send", 3),
    (".unbind_all", 0),
}
_MAX_CONCAT = 100_000
# What agents of ours add, by role; None: any number of terms.
COMMON_ACTIONS: dict[str, int | None] = {".send": 3, ".note": None, ".print": None, ".drop": 1}
ROLE_ACTIONS: dict[str, dict[str, int | None]] = {
    "learner": {**COMMON_ACTIONS, ".pursue": 4, ".interrupt": 0, ".finish": 1},
    "coach": COMMON_ACTIONS,
    "observer": COMMON_ACTIONS,
}

Action = Callable[[Any, Any, Any], Iterator[None]]


class PlanActions(agentspeak.Actions):  # type: ignore[misc]
    """A table of actions that counts what they do."""

    def __init__(self) -> None:
        super().__init__()
        for key, action in stdlib.actions.actions.items():
            if key not in _HIDDEN:
                self.actions[key] = counted(action)
        for functor, action in stdlib.actions.variadic_actions.items():
            if (functor, None) not in _HIDDEN:
                self.variadic_actions[functor] = counted(action)
        self.offer(".abolish", 1, _abolish)
        self.offer(".range", 2, _range)
        self.offer(".concat", None, _concat)

    def offer(self, functor: str, arity: int | None, action: Action) -> None:
        """One more action; one of the same name and arity gives way."""
        if arity is None:
            self.variadic_actions[functor] = counted(action)
        else:
            self.actions[(functor, arity)] = counted(action)


def actions_for_checking(role: str) -> PlanActions:
    """A table that knows all names but does nothing."""
    actions = PlanActions()
    for functor, arity in ROLE_ACTIONS[role].items():
        actions.offer(functor, arity, _nothing)
    return actions


def counted(action: Action) -> Action:
    # A plain function: agentspeak makes deep copies of rules, and of all that they hold.
    def run(agent: Any, term: Any, intention: Any) -> Iterator[None]:
        agent.spend()
        for _ in action(agent, term, intention):
            yield
            agent.spend()

    return run


def _nothing(agent: Any, term: Any, intention: Any) -> Iterator[None]:
    yield


def _abolish(agent: Any, term: Any, intention: Any) -> Iterator[None]:
    """Forget every belief like this one, from whomever it comes."""
    agent.forget(agentspeak.freeze(term.args[0], intention.scope, {}))
    yield


def _range(agent: Any, term: Any, intention: Any) -> Iterator[None]:
    mark = object()
    for number in range(int(agentspeak.grounded(term.args[0], intention.scope))):
        agent.spend()
        intention.stack.append(mark)
        if agentspeak.unify(term.args[1], number, intention.scope, intention.stack):
            yield
        agentspeak.reroll(intention.scope, intention.stack, mark)


def _concat(agent: Any, term: Any, intention: Any) -> Iterator[None]:
    parts = [agentspeak.grounded(part, intention.scope) for part in term.args[:-1]]
    result: Any
    if all(isinstance(part, tuple) for part in parts):
        result = tuple(item for part in parts for item in part)
    else:
        result = "".join(agentspeak.asl_str(part) for part in parts)
    if len(result) > _MAX_CONCAT:
        raise agentspeak.AslError(f"what is joined would be longer than {_MAX_CONCAT}")
    if agentspeak.unify(term.args[-1], result, intention.scope, intention.stack):
        yield
