"""What the agents ask of the worker: hands that act and learn, and a trace of what happens inside.

Nothing here needs SPADE: whoever implements the two protocols imports this module alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

GoalEvent = Literal["added", "achieved", "failed", "dropped"]
IntentionEvent = Literal["start", "end", "fail"]
Direction = Literal["in", "out"]
Belief = float | int | str | bool

KINDS = ("explore", "exploit", "subgoal")


class PursuitRefusedError(Exception):
    """Raised by hands that cannot do what a plan asks for, with a sentence that says why.

    The plan fails, as any other that goes wrong, and the sentence becomes a note.
    """


@dataclass(frozen=True)
class PursuitReport:
    """How a pursuit of some episodes went."""

    episodes: int  # played
    reached: int = 0  # episodes that reached the subgoal
    mean_return: float = 0.0
    was_interrupted: bool = False
    # The run is over: its budget is used up, or it was asked to stop. The agents end.
    is_over: bool = False


class Hands(Protocol):
    """What plans can do in the world."""

    def pursue(self, kind: str, target: str, episodes: int) -> PursuitReport:
        """Play up to so many episodes. Blocks, in a thread of its own; one pursuit at a time.

        `kind` is one of KINDS; `target` names the state of a subgoal and is empty otherwise.
        """

    def interrupt(self) -> None:
        """End the pursuit that is under way within a tenth of a second; from another thread.

        Without a pursuit it does nothing. It is repeated until the pursuit has ended, so one that
        comes a moment too early need not be remembered.
        """

    def beliefs(self) -> dict[str, Belief]:
        """What the agent shall know before it decides: `{"episodes": 200, "success_rate": 0.4}`."""


class Trace(Protocol):
    """Everything that happens inside an agent, for telemetry; called from the agents' thread."""

    def belief(self, added: bool, text: str, source: str) -> None: ...

    def goal(self, event: GoalEvent, text: str) -> None: ...

    def plan(self, name: str, trigger: str) -> None: ...

    def intention(self, event: IntentionEvent, text: str) -> None: ...

    def message(self, direction: Direction, peer: str, performative: str, text: str) -> None: ...

    def note(self, text: str) -> None: ...


class NoTrace:
    """A trace that nobody reads."""

    def belief(self, added: bool, text: str, source: str) -> None: ...

    def goal(self, event: GoalEvent, text: str) -> None: ...

    def plan(self, name: str, trigger: str) -> None: ...

    def intention(self, event: IntentionEvent, text: str) -> None: ...

    def message(self, direction: Direction, peer: str, performative: str, text: str) -> None: ...

    def note(self, text: str) -> None: ...
