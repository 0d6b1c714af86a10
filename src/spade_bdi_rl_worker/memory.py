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
# A belief on a line of its own; not a rule (:-), a plan or a goal.
_INITIAL = re.compile(r"^[ \t]*[a-z]\w*(?:\([^\n]*\))?(?:\[[^\n]*\])?[ \t]*\.[ \t]*(?://[^\n]*)?$")


def with_beliefs(plan: str, beliefs: Sequence[str]) -> str:
    """The plan with these beliefs in place of those in it. Lines keep their numbers."""
    kept = [
        "" if _INITIAL.fullmatch(line) and ":-" not in line else line for line in plan.split("\n")
    ]
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
        texts = beliefs if isinstance(beliefs, list) else [None]
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
    return isinstance(text, str) and len(text) <= _LONGEST and bool(_INITIAL.fullmatch(f"{text}."))
