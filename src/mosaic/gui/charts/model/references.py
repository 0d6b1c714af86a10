"""What a return is measured by: where its environment counts as solved, and published values."""

from __future__ import annotations

from collections.abc import Mapping

from mosaic.compare.published import EVALUATION, TRAINING, target_value
from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.contracts.learner import worker_settings
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.charts.model.curve import Curve, numbers
from mosaic.gui.charts.model.metrics import evaluated_return, is_return

# Of state colours none: these are no states, and no runs.
SOLVED_COLOUR, PUBLISHED_COLOUR = "#8f9bb3", "#b48ead"


def references_for(
    metric: str, environment: str, info: EnvironmentInfo | None, algorithm: str, steps: int
) -> tuple[Curve, ...]:
    """Levels for the chart of one metric; `steps` is how long the run is to train."""
    is_evaluation = bool(evaluated_return([metric]))
    if not (is_return(metric) or is_evaluation):
        return ()
    found = []
    if info is not None and info.reward_threshold is not None:
        at = float(info.reward_threshold)
        found.append(_level("solved at", SOLVED_COLOUR, at, at, "solved", info.id))
    published = target_value(
        algorithm, environment, steps, EVALUATION if is_evaluation else TRAINING
    )
    if published is not None:
        about = (
            f"{published.algorithm} on {published.environment} after {published.steps:,} steps: "
            f"{published.text}\n{published.source}"
        )
        low, high = published.mean - published.std, published.mean + published.std
        label = f"published, {published.algorithm}"
        found.append(_level(label, PUBLISHED_COLOUR, low, high, "published", about))
    return tuple(found)


def algorithm_of(record: RunRecord) -> str:
    """As it was asked for; where a checkpoint decided, as the run itself says."""
    told = record.manifest.get("metadata")
    own = told.get("algo") if isinstance(told, Mapping) else None
    return str(worker_settings(record.config).get("algo") or own or "")


def _level(label: str, colour: str, low: float, high: float, key: str, about: str) -> Curve:
    return Curve(
        label,
        colour,
        numbers(),
        numbers(),
        level=(low, high),
        value=(low + high) / 2,
        value_name=about,
        key=f"reference:{key}",
    )
