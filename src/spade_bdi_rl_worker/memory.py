"""What agents have come to believe, kept in a checkpoint and given back to those of a resumed run.

A plan file says what its agent believes at first. A resumed agent believes what it did when the
checkpoint was saved instead: its plans are the same, the beliefs among them are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mosaic.errors import ConfigError
from spade_bdi_rl_worker.inner_life import LEARNER

if TYPE_CHECKING:
    from spade_bdi_rl_worker.agents.settings import TeamSettings

_MOST_BELIEFS = 5_000
_LONGEST = 2_000
_NAME = re.compile(r"[a-z]\w*")
_CLOSING = {"(": ")", "[": "]"}


def with_beliefs(plan: str, beliefs: Sequence[str]) -> str:
    """The plan with these beliefs in place of those in it. Lines keep their numbers."""
    kept = ["" if _is_initial(line) else line for line in plan.split("\n")]
    return "\n".join([*kept, *(f"{belief}." for belief in beliefs), ""])


def with_memory(settings: TeamSettings, memory: Any) -> TeamSettings:
    """`memory`: of each agent the beliefs, by its name. Raises ConfigError for what is none."""
    known = _checked(memory)
    return replace(
        settings,
        plan=_remembered(settings.learner_plan, known.get(LEARNER)),
        companions=tuple(
            replace(item, plan=_remembered(settings.plan_of(item), known.get(item.name)))
            for item in settings.companions
        ),
    )


def _remembered(plan: str, beliefs: Sequence[str] | None) -> str:
    return plan if beliefs is None else with_beliefs(plan, beliefs)


def _checked(memory: Any) -> dict[str, list[str]]:
    if not isinstance(memory, Mapping):
        return {}
    found: dict[str, list[str]] = {}
    for name, beliefs in memory.items():
        texts: list[Any] = beliefs if isinstance(beliefs, list) else [None]
        if len(texts) > _MOST_BELIEFS or not all(_is_belief(text) for text in texts):
            raise ConfigError(
                f"The checkpoint does not say what {str(name)[:40]} believed",
                hint="begin a training with its tables (--warm-start)",
                field="extras.checkpoint_path",
            )
        found[str(name)] = texts
    return found


def _is_belief(text: Any) -> bool:
    """A checkpoint may be anybody's: nothing in it becomes a plan."""
    return isinstance(text, str) and len(text) <= _LONGEST and end_of_term(text) == len(text)


def _is_initial(line: str) -> bool:
    """Whether the line is a belief and nothing else; not a rule, a plan or a goal."""
    text = line.strip()
    end = end_of_term(text)
    rest = text[end:].strip() if end else ""
    return rest[:1] == "." and (rest[1:].strip() == "" or rest[1:].strip().startswith("//"))


def end_of_term(text: str) -> int:
    """Where a term such as `seen("a)", 1)[source(coach)]` ends; 0 where there is none."""
    name = _NAME.match(text)
    if name is None:
        return 0
    end = name.end()
    for opening in _CLOSING:
        if text[end : end + 1] == opening:
            end = _end_of_group(text, end)
            if not end:
                return 0
    return end


def _end_of_group(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`; 0 where none does."""
    open_ones: list[str] = []
    is_quoted = False
    place = start
    while place < len(text):
        letter = text[place]
        if letter == "\n" or (not is_quoted and text[place : place + 2] in ("//", "/*")):
            return 0
        if is_quoted and letter == "\\":
            place += 1
        elif letter == '"':
            is_quoted = not is_quoted
        elif not is_quoted and letter in _CLOSING:
            open_ones.append(_CLOSING[letter])
        elif not is_quoted and letter in _CLOSING.values():
            if letter != open_ones.pop():
                return 0
            if not open_ones:
                return place + 1
        place += 1
    return 0
