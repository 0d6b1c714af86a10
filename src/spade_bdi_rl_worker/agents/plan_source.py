"""AgentSpeak as text: parsed and built, with every problem at its line and column.

agentspeak itself writes problems to a log, in colours; here they are values. Two of its habits
are mended: letters beyond ASCII in strings come out as they went in, and an action that nobody
offers is an error before the plan runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import agentspeak
from agentspeak import lexer, parser, runtime

MAX_PLAN_BYTES = 65_536
_MAX_PROBLEMS = 20
_RESERVED = frozenset(
    ["true", "false", "not", "div", "mod", "if", "else", "while", "for", "include", "begin", "end"]
)
# What AgentSpeak code can make agentspeak raise.
PLAN_FAULTS = (
    agentspeak.AslError,
    agentspeak.AggregatedError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def _parse_string(lexeme: str) -> str:
    """Of agentspeak's own, only ASCII comes out as it went in."""
    text = lexeme[1:-1].encode("ascii", "backslashreplace").decode("ascii")
    return text.encode("ascii").decode("unicode_escape")


agentspeak.parse_string = _parse_string


@dataclass(frozen=True)
class PlanProblem:
    """Something wrong in a plan; lines and columns count from 1, 0 is nowhere in particular."""

    line: int
    column: int
    message: str
    is_error: bool = True

    def __str__(self) -> str:
        return (
            f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "is_error": self.is_error,
        }


class PlanError(Exception):
    """A plan that cannot be used, with all that is wrong with it."""

    def __init__(self, problems: list[PlanProblem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems if problem.is_error))
        self.problems = problems


@dataclass
class PlanLibrary:
    """What a text of AgentSpeak consists of, ready for an agent."""

    beliefs: list[Any] = field(default_factory=list)
    rules: list[Any] = field(default_factory=list)
    plans: list[Any] = field(default_factory=list)
    goals: list[Any] = field(default_factory=list)
    warnings: list[PlanProblem] = field(default_factory=list)


class _StopParsingError(Exception):
    """What agentspeak raises where it cannot go on; the log has said why."""


class _ProblemLog:
    """Takes the place of agentspeak's log."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.problems: list[PlanProblem] = []

    def error(self, message: str, *args: Any, loc: Any = None, extra_locs: Any = ()) -> Exception:
        self._add(message % args if args else message, loc, is_error=True)
        if len(self.problems) >= _MAX_PROBLEMS:
            raise _StopParsingError
        return _StopParsingError()

    exception = error

    def warning(self, message: str, *args: Any, loc: Any = None, extra_locs: Any = ()) -> None:
        text = message % args if args else message
        if "recovery plans are ignored" in text:
            return  # not by our agents
        # It would fail only when the plan runs, perhaps hours later.
        self._add(text, loc, is_error=text.startswith("no such action"))

    def info(self, message: str, *args: Any, loc: Any = None, extra_locs: Any = ()) -> None:
        """What comes with an error and says it again."""

    def throw(self) -> None:
        if self.has_errors:
            raise _StopParsingError

    @property
    def has_errors(self) -> bool:
        return any(problem.is_error for problem in self.problems)

    def _add(self, text: str, loc: Any, *, is_error: bool) -> None:
        line, column = (loc.lineno, self._column(loc)) if loc else (0, 0)
        problem = PlanProblem(line, column, _plainly(text), is_error)
        if problem not in self.problems:
            self.problems.append(problem)

    def _column(self, loc: Any) -> int:
        """The lexer reads a tab as four spaces; an editor counts it as one."""
        width = 0
        line = self.lines[loc.lineno - 1] if loc.lineno <= len(self.lines) else ""
        for index, character in enumerate(line):
            if width >= loc.startcol:
                return index + 1
            width += 4 if character == "\t" else 1
        return len(line) + 1


def _plainly(text: str) -> str:
    """What the parser expects, in words of somebody who has not written it."""
    if text.startswith("expected functor, got "):
        got = text.removeprefix("expected functor, got ")
        if got.strip("'") in _RESERVED:
            return f"{got} is a word of AgentSpeak and cannot be a name"
        return f"expected a name, which begins with a small letter, got {got}"
    return text


class _Tokens:
    """The lexer's tokens; to include a file is refused, for a plan has to stand alone."""

    def __init__(self, text: str, found: _ProblemLog) -> None:
        self._log = found
        self._tokens = lexer.tokenize(agentspeak.StringSource("plan", text), found)
        self._last: Any = None

    def peek(self) -> Any:
        return self._last

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        token = next(self._tokens)
        if token.token is lexer.TokenType.include.value:
            raise self._log.error("a plan cannot include files; put it all in one", loc=token.loc)
        self._last = token
        return token

    next = __next__


def parse(text: str, actions: Any) -> PlanLibrary:
    """The parts of a plan. Raises PlanError."""
    found = _ProblemLog(text)
    if len(text.encode()) > MAX_PLAN_BYTES:
        raise PlanError([PlanProblem(0, 0, f"the plan has more than {MAX_PLAN_BYTES} bytes")])
    library = PlanLibrary()
    tokens = _Tokens(text, found)
    try:
        tree = parser.parse("plan", tokens, found)
        _build(library, tree, actions, found)
    except _StopParsingError:
        pass
    except PLAN_FAULTS as error:
        loc = tokens.peek().loc if tokens.peek() else None
        deep = isinstance(error, RecursionError)
        found.error("this is nested too deeply" if deep else f"{error}", loc=loc)
    if found.has_errors:
        raise PlanError(found.problems)
    library.warnings = found.problems
    return library


def _build(library: PlanLibrary, tree: Any, actions: Any, found: _ProblemLog) -> None:
    for rule in tree.rules:
        variables: dict[str, Any] = {}
        head = rule.head.accept(runtime.BuildTermVisitor(variables))
        query = rule.consequence.accept(runtime.BuildQueryVisitor(variables, actions, found))
        library.rules.append(runtime.Rule(head, query))
    for node in tree.plans:
        library.plans.append(_build_plan(node, actions, found))
    for belief in tree.beliefs:
        library.beliefs.append(belief.accept(runtime.BuildTermVisitor({})))
    for goal in tree.goals:
        library.goals.append(goal.atom.accept(runtime.BuildTermVisitor({})))
    _warn_of_missing_plans(library, tree, found)


def _build_plan(node: Any, actions: Any, found: _ProblemLog) -> Any:
    variables: dict[str, Any] = {}
    event = node.event
    head = event.head.accept(runtime.BuildTermVisitor(variables))
    context: Any = runtime.TrueQuery()
    if node.context:
        context = node.context.accept(runtime.BuildQueryVisitor(variables, actions, found))
    body = runtime.Instruction(runtime.noop)
    if node.body:
        node.body.accept(runtime.BuildInstructionsVisitor(variables, actions, body, found))
    plan = runtime.Plan(
        event.trigger, event.goal_type, head, context, body, node.body, node.annotation
    )
    plan.trigger_text = f"{event.trigger.value}{event.goal_type.value}{event.head}"
    label = node.annotation.functor if node.annotation is not None else ""
    plan.label = label or f"{plan.trigger_text} (line {event.loc.lineno})"
    return plan


def _warn_of_missing_plans(library: PlanLibrary, tree: Any, found: _ProblemLog) -> None:
    """Goals of the text that no plan of it is for: one that comes later may be."""
    known = {
        (plan.head.functor, len(plan.head.args))
        for plan in library.plans
        if plan.goal_type is agentspeak.GoalType.achievement
    }
    posted = deque([plan.body for plan in tree.plans if plan.body])
    terms = [goal.atom for goal in tree.goals]
    while posted:
        for formula in posted.popleft().formulas:
            bodies = (getattr(formula, name, None) for name in ("body", "if_body", "else_body"))
            posted.extend(body for body in bodies if body)
            achieves = getattr(formula, "formula_type", None) in (
                agentspeak.FormulaType.achieve,
                agentspeak.FormulaType.achieve_later,
            )
            if achieves and isinstance(formula.term, parser.AstLiteral):
                terms.append(formula.term)
    for term in terms:
        if (term.functor, len(term.terms)) not in known:
            found.warning(f"no plan is for the goal !{term.signature()}", loc=term.loc)


def parse_term(text: str) -> Any:
    """One literal, such as the content of a message. Raises PlanError."""
    source = text.strip().removesuffix(".") + "."
    found = _ProblemLog(source)
    try:
        tokens = _Tokens(source, found)
        token, node = parser.parse_literal(next(tokens), tokens, found)
        if token.lexeme != ".":
            found.error(
                f"expected one belief or goal, got {token.lexeme!r} after it", loc=token.loc
            )
        term = node.accept(parser.ConstFoldVisitor(found)).accept(runtime.BuildTermVisitor({}))
    except _StopParsingError:
        term = None
    except StopIteration:
        term = None
        found.error("it ends too early")
    except PLAN_FAULTS as error:
        term = None
        found.error(f"{error or 'nested too deeply'}")
    if found.has_errors:
        raise PlanError(found.problems)
    return agentspeak.freeze(term, {}, {})


def term_text(term: Any) -> str:
    """As it would be written in a plan."""
    return str(agentspeak.asl_repr(term))
