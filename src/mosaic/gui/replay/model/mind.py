"""EpisodeMind: what the agent of an episode wanted and believed, step by step, as its worker told.

At step n the agent stands in the state that n actions have led to, and decides on the next one:
what is told of that decision is shown there, beside the value of the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.agents import MapLine, StepOfMind, ValuesLine, step_of_mind
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.front.human import count, decimal
from mosaic.front.run_words import action_text

NOTHING_TOLD = "What the agent wanted at this step was not told"
ENDED = "The episode has ended here: nothing is decided any more"
NOT_REPORTED = "The steps of this episode were not reported: only its map is known"
_MOST_BARS = 12
_MOST_LISTED = 24
_LONGEST_PIECE = 16  # of what has no place to break a line
_BREAK = "\u200b"
_BREAKS_AFTER = frozenset("(),_.:;/")


@dataclass(frozen=True)
class Decision:
    """Of one step."""

    mind: StepOfMind
    action: Any
    state: int | None  # where its observation is one


@dataclass(frozen=True)
class Bar:
    """What one action is worth to the agent, of all that it knows of this state."""

    name: str
    value: float
    begin: float  # from 0 to 1, where the bar stands
    end: float
    is_chosen: bool
    is_best: bool

    @property
    def text(self) -> str:
        return decimal(self.value)


@dataclass(frozen=True)
class MindText:
    """What is shown of one step."""

    note: str = ""  # in place of all else
    facts: tuple[tuple[str, str], ...] = ()  # what it is called, and what it was
    bars: tuple[Bar, ...] = ()
    more: str = ""  # of actions that have no bar
    goal: str = ""
    changes: tuple[tuple[str, str], ...] = ()  # a sign and a text


class EpisodeMind:
    def __init__(self, decisions: Mapping[int, Decision]) -> None:
        self._decisions = dict(decisions)
        self._goals = _changes_of_goal(self._decisions)

    @classmethod
    def of(cls, rows: Sequence[TrainingStep]) -> EpisodeMind | None:
        """None where the steps say nothing of the kind. Of several agents, the first."""
        decisions = {}
        for row in rows:
            mind = step_of_mind(row.info) if row.agent_id == rows[0].agent_id else None
            if mind is not None:
                decisions[row.step_index] = Decision(mind, row.action, _state(row.observation))
        return cls(decisions) if decisions else None

    def at(self, step: int) -> Decision | None:
        return self._decisions.get(step)

    @property
    def confidence(self) -> dict[int, float]:
        return {
            step: found.mind.confidence
            for step, found in self._decisions.items()
            if found.mind.confidence is not None
        }

    @property
    def has_goals(self) -> bool:
        return any(self._goals.values())

    def goal_cell(self, step: int) -> str:
        """The goal where it becomes another one."""
        return self._goals.get(step, "")

    def text_at(self, step: int, length: int, actions: Sequence[str] = ()) -> MindText:
        """`actions`: what they are called, where somebody knows that."""
        found = self.at(step)
        if found is None:
            return MindText(ENDED if step >= length else NOTHING_TOLD)
        mind = found.mind
        bars = _bars(found, actions)
        more = len(mind.q_values) - len(bars)
        return MindText(
            goal=" ".join(mind.goal.split()),
            facts=_facts(mind, _action_name(found.action, actions)),
            bars=bars,
            more=f"and {count(more)} more actions" if more else "",
            changes=_changes(mind),
        )


def told_something(row: TrainingStep) -> bool:
    return step_of_mind(row.info) is not None


def _facts(mind: StepOfMind, action: str) -> tuple[tuple[str, str], ...]:
    share = None if mind.confidence is None else min(max(mind.confidence, 0.0), 1.0)
    confidence = "" if share is None else f"{share * 100:.1f} %"
    told = (
        ("Plan", breakable(mind.plan)),
        ("Intention", breakable(mind.intention)),
        ("Confidence", confidence),
        ("Next", f"{action}, for the subgoal" if mind.is_by_subgoal else action),
    )
    return tuple((name, text) for name, text in told if text)


def _changes(mind: StepOfMind) -> tuple[tuple[str, str], ...]:
    """Beliefs that came and went, and what else happened; signs tell them apart."""
    told = [
        *(("+", text) for text in mind.added),
        *(("\u2212", text) for text in mind.removed),
        *(("\u2022", text) for text in mind.events),
    ]
    shown = [(sign, breakable(text)) for sign, text in told[:_MOST_LISTED] if text]
    left_out = mind.left_out + max(0, len(told) - _MOST_LISTED)
    if left_out:
        shown.append(("…", f"{count(left_out)} more, not listed"))
    return tuple(shown)


def _bars(found: Decision, actions: Sequence[str]) -> tuple[Bar, ...]:
    values = found.mind.q_values
    if not values:
        return ()
    low, high = min(0.0, *values), max(0.0, *values)
    span = high - low
    best = max(values)
    is_told_apart = min(values) < best

    def share(value: float) -> float:
        return (value - low) / span if span > 0 else 0.0

    return tuple(
        Bar(
            _action_name(place, actions),
            value,
            min(share(0.0), share(value)),
            max(share(0.0), share(value)),
            is_chosen=_is_action(found.action, place),
            is_best=is_told_apart and value == best,
        )
        for place, value in enumerate(values[:_MOST_BARS])
    )


def _is_action(action: Any, place: int) -> bool:
    return isinstance(action, int) and not isinstance(action, bool) and action == place


def _action_name(action: Any, actions: Sequence[str]) -> str:
    is_known = isinstance(action, int) and not isinstance(action, bool)
    if is_known and 0 <= action < len(actions) and actions[action].strip():
        return " ".join(actions[action].split())
    return action_text(action)


def _changes_of_goal(decisions: Mapping[int, Decision]) -> dict[int, str]:
    found, before = {}, ""
    for step in sorted(decisions):
        goal = decisions[step].mind.goal
        if goal != before:
            found[step] = goal or "–"
            before = goal
    return found


def _state(observation: Any) -> int | None:
    is_state = isinstance(observation, int) and not isinstance(observation, bool)
    return observation if is_state and observation >= 0 else None


def breakable(text: str) -> str:
    """The same to a reader, in one paragraph and with places where a narrow line may end."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    pieces, length = [], 0
    for letter in " ".join(plain.split()):
        pieces.append(letter)
        length = 0 if letter == " " else length + 1
        if letter in _BREAKS_AFTER or length >= _LONGEST_PIECE:
            pieces.append(_BREAK)
            length = 0
    return "".join(pieces)


# The map as it was then


def ended_at(episode: EpisodeSummary) -> int | None:
    """The training step at which it ended, where its worker says so."""
    told = episode.metadata.get("step") if isinstance(episode.metadata, dict) else None
    is_step = isinstance(told, int) and not isinstance(told, bool) and told >= 0
    return told if is_step else None


def snapshot_at(
    snapshots: Sequence[ValuesLine], episode: EpisodeSummary, length: int, step: int
) -> ValuesLine | None:
    """The newest that is not from after this step; None where all are."""
    end = ended_at(episode)
    found = None
    for snapshot in snapshots:
        if end is None:
            is_before = snapshot.episodes <= episode.episode_index
        else:
            is_before = snapshot.step <= end - length + step
        if not is_before:
            break
        found = snapshot
    return found


def snapshot_text(snapshots: Sequence[ValuesLine], found: ValuesLine | None) -> str:
    if found is not None:
        return f"Values as they were after {count(found.step)} steps of the training"
    if snapshots:
        return f"Values were first told later, after {count(snapshots[0].step)} steps"
    return "No values were told"


def actions_of(map: MapLine | None, q_values: Iterable[float]) -> tuple[str, ...]:
    """The map's names of the actions, if it speaks of as many."""
    known = map.actions if map is not None else ()
    return known if len(known) == len(tuple(q_values)) else ()
