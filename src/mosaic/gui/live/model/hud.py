"""What the strip below the live frames says, with the newest batch of an evaluation.

Every number has a width of its own: a line that changes ten times a second must not jump.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.evaluation_summary import FILE_NAME, MAX_BYTES, EvaluationBatch, read_batches
from mosaic.contracts.metrics import EPISODES_IN_MEAN, MEAN_RETURN_NAME
from mosaic.contracts.run_record import Progress
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.viewer import BROKEN, ENDED, LIVE, PAUSED_NOW, STALLED, WAITING
from mosaic.frames.hud import NO_PROGRESS, slots_text
from mosaic.front.human import amount
from mosaic.gui.state.live_watch import LiveFrames

DOT = " · "
RUN_HELP = (
    "Of the run: its steps and finished episodes, the last reward of the environments in the "
    f"picture, the {MEAN_RETURN_NAME}, and steps a second over about the last ten seconds"
)
ENVIRONMENT_HELP = "Of what is in the picture: steps, episodes, last reward, mean return, steps/s"
_STEP_WIDTH, _EPISODE_WIDTH, _REWARD_WIDTH, _RETURN_WIDTH, _RATE_WIDTH = 9, 6, 6, 6, 7
# The looks of `theme.tokens.STATES` that fit what a viewer says.
LOOKS = {
    WAITING: "queued",
    LIVE: "running",
    PAUSED_NOW: "paused",
    STALLED: "stalled",
    ENDED: "canceled",
    BROKEN: "failed",
}


class Hud(NamedTuple):
    look: str  # whose icon and colour the word has
    word: str
    about: str  # which environments, and the batch of an evaluation
    numbers: str
    short_about: str = ""  # where there is little room
    short_numbers: str = ""
    help: str = ""  # which numbers these are


def hud_of(
    frames: LiveFrames,
    evaluation: EvaluationBatch | None = None,
    slot: int | None = None,
    status: str = "",
    progress: Progress = NO_PROGRESS,
) -> Hud:
    """Of one environment, where one is named, or of the run: then the numbers are its `progress`,
    the same as everywhere, as soon as it has any.

    `status` is a word of `mosaic.fastlane.viewer`, where somebody knows better than the frames.
    """
    word = status or frames.status
    tiles = [tile for tile in frames.tiles if slot in (None, tile.slot)]
    metrics = [tile.metrics for tile in tiles if tile.metrics is not None]
    is_evaluating = any(each.flags & EVALUATING for each in metrics)
    about = [slots_text(slot or 0, int(slot is not None), len(metrics))] if metrics else []
    if is_evaluating:
        about.append("(Eval)")
    short = list(about)
    if evaluation is not None:
        about.append(batch_line(evaluation))
        short = [*about[1:-1], batch_line(evaluation, "batch", "ep")]
    is_of_run = bool(metrics) and slot is None and progress != NO_PROGRESS
    line, help_text = (
        (partial(run_line, progress, metrics), RUN_HELP)
        if is_of_run
        else (partial(numbers_line, metrics), ENVIRONMENT_HELP)
    )
    return Hud(
        LOOKS.get(word, ""),
        word,
        DOT.join(about),
        line(),
        DOT.join(short),
        line(episode="ep"),
        help_text if metrics else "",
    )


def batch_line(batch: EvaluationBatch, name: str = "eval batch", unit: str = "") -> str:
    """`eval batch 3 · 50 episodes · mean 112.3 · min 90.1 · max 142.6`"""
    returns = (("mean", batch.mean), ("min", batch.lowest), ("max", batch.highest))
    episodes = f"{batch.episodes} {unit}" if unit else amount(batch.episodes, "episode")
    parts = [f"{name} {batch.number}", episodes]
    return DOT.join([*parts, *(f"{kind} {number_text(value, 1)}" for kind, value in returns)])


def run_line(progress: Progress, metrics: Sequence[Metrics], episode: str = "episode") -> str:
    """The run's own numbers; of the environments in the picture only their last reward."""
    mean, speed = progress.mean_return, progress.steps_per_second
    return _line(
        progress.steps,
        progress.episodes,
        sum(each.last_reward for each in metrics) / len(metrics),
        f"mean({EPISODES_IN_MEAN})",
        "–" if mean is None else number_text(mean, 1),
        "–/s" if speed is None else rate_text(speed),
        episode,
    )


def numbers_line(metrics: Sequence[Metrics], episode: str = "episode") -> str:
    """Of several environments: counts and rates together, rewards and returns in the mean."""
    if not metrics:
        return ""
    count = len(metrics)
    return _line(
        sum(each.steps for each in metrics),
        sum(each.episodes for each in metrics),
        sum(each.last_reward for each in metrics) / count,
        "return",
        number_text(sum(each.rolling_return for each in metrics) / count, 1),
        rate_text(sum(each.step_rate_hz for each in metrics)),
        episode,
    )


def _line(
    steps: int, episodes: int, reward: float, name: str, total: str, rate: str, episode: str
) -> str:
    return DOT.join(
        (
            f"step {f'{steps:,}':>{_STEP_WIDTH}}",
            f"{episode} {f'{episodes:,}':>{_EPISODE_WIDTH}}",
            f"reward {number_text(reward, 3):>{_REWARD_WIDTH}}",
            f"{name} {total:>{_RETURN_WIDTH}}",
            f"{rate:>{_RATE_WIDTH}}",
        )
    )


def rate_text(steps_per_second: float) -> str:
    """`842/s`, `18.4k/s`, `118k/s`, `1.2M/s`"""
    if not math.isfinite(steps_per_second) or steps_per_second < 0:
        return "–/s"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if steps_per_second >= size * 0.9995:
            number = steps_per_second / size
            return f"{number:.1f}{unit}/s" if number < 99.95 else f"{number:,.0f}{unit}/s"
    return f"{steps_per_second:.0f}/s"


def short_count(number: int) -> str:
    """All digits as long as they are few: `98,305`, `980.3k`, `1.20M`"""
    if number < 100_000:
        return f"{number:,}"
    if number < 1_000_000:
        return f"{number // 100 / 10:.1f}k"
    return f"{number / 1e6:,.2f}M" if number < 1_000_000_000 else f"{number / 1e9:,.2f}G"


def number_text(value: float, digits: int) -> str:
    """This many decimals for numbers of everyday size."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) < 1000:
        return f"{value:.{digits}f}"
    return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.1e}"


class EvaluationFile:
    """Reads again only what has changed. Used by one thread at a time."""

    def __init__(self, run_directory: Path) -> None:
        self._path = run_directory / FILE_NAME
        self._seen: tuple[int, int] | None = None
        self._batch: EvaluationBatch | None = None

    def newest_batch(self) -> EvaluationBatch | None:
        """None while there is none; what cannot be read leaves what was known."""
        try:
            about = self._path.stat()
        except OSError:
            return self._batch
        mark = about.st_mtime_ns, about.st_size
        if mark != self._seen and about.st_size <= MAX_BYTES:
            self._seen = mark
            self._batch = _newest(self._path) or self._batch
        return self._batch


def _newest(path: Path) -> EvaluationBatch | None:
    try:
        batches = read_batches(path)
    except (OSError, ValueError):
        return None
    return batches[-1] if batches else None
