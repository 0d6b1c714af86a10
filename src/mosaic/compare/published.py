"""How a group stands against published values of the same algorithm, environment and budget. Pure.

A value counts as reached when the group's interval meets the published mean ± two deviations.
Environments of another version are not the same task, and a shorter training is not the same
budget: then it is said why there is no check, instead of a wrong one.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic.compare.statistics import Estimate

WITHIN, BELOW, ABOVE, UNCHECKED = "within", "below", "above", "not checked"
TRAINING, EVALUATION = "training", "evaluation"
# A run ends with its last whole batch, a little before or after the number it was given.
_BUDGET_SLACK = 0.02
# Published values are rounded to two digits.
_ROUNDING = 0.005
_DEVIATIONS = 2.0
_VERSION = re.compile(r"(NoFrameskip)?-v(\d+)$")


@dataclass(frozen=True)
class PublishedValue:
    algorithm: str
    environment: str
    steps: int
    kind: str  # of the return: while training, or of a separate evaluation
    mean: float
    std: float
    source: str

    @property
    def low(self) -> float:
        return self.mean - _DEVIATIONS * self.std - _ROUNDING

    @property
    def high(self) -> float:
        return self.mean + _DEVIATIONS * self.std + _ROUNDING

    def is_of_budget(self, steps: float) -> bool:
        """Whether a training of this many steps has come as far as the published one."""
        return steps >= self.steps * (1 - _BUDGET_SLACK)

    @property
    def text(self) -> str:
        return f"{self.mean:,.2f} ± {self.std:,.2f}"


@dataclass(frozen=True)
class ReferenceCheck:
    label: str
    verdict: str
    sentence: str
    published: PublishedValue | None = None
    measured: Estimate | None = None


@functools.cache
def published_values() -> tuple[PublishedValue, ...]:
    file = resources.files("mosaic.compare") / "published.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    sources = data["sources"]
    return tuple(
        PublishedValue(**{**item, "source": sources[item["source"]]}) for item in data["values"]
    )


def find_published(
    algorithm: str,
    environment: str,
    steps: float,
    kind: str = TRAINING,
    values: Sequence[PublishedValue] | None = None,
) -> PublishedValue | str:
    """The value to compare with, or a sentence that says why there is none."""
    known = [
        value
        for value in (published_values() if values is None else values)
        if value.algorithm == algorithm and value.kind == kind
    ]
    same_task = [value for value in known if value.environment == environment]
    if not same_task:
        for value in known:
            if task_name(value.environment) == task_name(environment):
                return (
                    f"{environment} is not {value.environment}, for which {value.text} is "
                    f"published: train on {value.environment} to compare."
                )
        return f"No value of {algorithm or 'this algorithm'} on {environment} is known here."
    nearest = min(same_task, key=lambda value: abs(value.steps - steps))
    reached = [value for value in same_task if value.is_of_budget(steps)]
    if not reached:
        return (
            f"Published after {nearest.steps:,} steps ({nearest.text}); these runs have "
            f"{steps:,.0f}."
        )
    return max(reached, key=lambda value: value.steps)


def target_value(
    algorithm: str, environment: str, steps: int, kind: str = TRAINING
) -> PublishedValue | None:
    """What a training of so many steps is on its way to: the next budget, else the largest."""
    known = [
        value
        for value in published_values()
        if (value.algorithm, value.environment, value.kind) == (algorithm, environment, kind)
    ]
    ahead = [value for value in known if value.steps >= steps * (1 - _BUDGET_SLACK)]
    if ahead:
        return min(ahead, key=lambda value: value.steps)
    return max(known, key=lambda value: value.steps, default=None)


def task_name(environment: str) -> str:
    return _VERSION.sub("", environment.removeprefix("ALE/"))


def check(
    label: str,
    published: PublishedValue,
    measured: Estimate,
    seeds: int,
    changed_parameters: Sequence[str] = (),
) -> ReferenceCheck:
    # The values themselves are read where scipy is not installed.
    from mosaic.compare.statistics import estimate_text, seeds_text

    low = measured.value if measured.low is None else measured.low
    high = measured.value if measured.high is None else measured.high
    verdict = BELOW if high < published.low else ABOVE if low > published.high else WITHIN
    sentence = (
        f"{label}: {estimate_text(measured)} over {seeds_text(seeds)} "
        f"is {verdict} the published range of {published.algorithm} on {published.environment} "
        f"({published.text} after {published.steps:,} steps)."
    )
    if changed_parameters:
        sentence += f" Its parameters are not the defaults: {', '.join(changed_parameters)}."
    return ReferenceCheck(label, verdict, sentence, published, measured)
