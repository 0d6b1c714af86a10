"""The view at natural speed: whether a run has it, which episode comes next, what is said. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.evaluation_summary import EvaluationBatch
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.front.human import age, count, decimal
from mosaic.gui.live.model.hud import DOT, LOOKS, Hud, batch_line, rate_text, short_count
from mosaic.replay.stretches import StretchStep


class ViewKind(StrEnum):
    NATURAL = "natural"
    MOSAIC = "mosaic"


VIEW_TEXTS = {ViewKind.NATURAL: "Natural speed", ViewKind.MOSAIC: "Mosaic"}
VIEW_HELP = {
    ViewKind.NATURAL: "One environment's newest recorded episode, as fast as it looks natural. "
    "A process beside the run draws it: the run pays nothing.",
    ViewKind.MOSAIC: "Samples of many environments at this moment. The run draws them itself, and "
    "spares only a small part of its time for it.",
}


_STARTING = (RunState.INIT, RunState.HSHK, RunState.RDY)


def can_be_natural(details: RunRecord | None, is_here: bool | None) -> bool:
    """Its worker says so."""
    is_able = details is not None and bool(details.capabilities.get("replay_maker"))
    return is_able and is_here is not False


def why_not_natural(record: RunRecord, details: RunRecord | None, is_here: bool | None) -> str:
    """A reason that is known without trying; empty: it may work, or nobody knows yet."""
    if is_here is False:
        return "the run is on another machine"
    if details is None or details.capabilities.get("replay_maker"):
        return ""
    if not details.capabilities and details.state in _STARTING:
        return ""  # a worker says what it can do when it has started
    return f"the worker {record.worker!r} cannot play its episodes again"


def waiting_text(progress: Progress) -> str:
    """Until there is something to show at natural speed."""
    if progress.episodes:
        return "Samples, until the newest episode is drawn."
    return "The first episode is still being played: samples until it is over."


def fallback_text(problem: str) -> str:
    """Why something else is shown than the person chose."""
    return f"Mosaic, since natural speed is not possible: {problem.rstrip('.')}." if problem else ""


# How long one episode is asked for whose recording is not written yet.
_ASKED_S = 2.0
# How long none can be played before something else is shown.
_PATIENCE_S = 10.0


class EpisodeSearch:
    """Which episode to ask for: the newest, but a recording is up to a second behind it."""

    def __init__(self) -> None:
        self._wanted: EpisodeSummary | None = None
        self._wanted_s = 0.0
        self._refused_s: float | None = None  # since when nothing else comes

    def choose(self, newest: EpisodeSummary, now_s: float) -> EpisodeSummary:
        """One that was asked for just now is asked for again: it will be there in a moment."""
        if self._wanted is None or now_s - self._wanted_s > _ASKED_S:
            self._wanted, self._wanted_s = newest, now_s
        return self._wanted

    def found(self) -> None:
        self._wanted, self._refused_s = None, None

    def refused(self, now_s: float) -> bool:
        """Whether to give up."""
        if self._refused_s is None:
            self._refused_s = now_s
        return now_s - self._refused_s > _PATIENCE_S


# A picture that is later than this does not make the next ones come sooner.
_LATEST_S = 0.1


class Pacer:
    """When the next picture is due."""

    def __init__(self) -> None:
        self._due_s: float | None = None

    def delay(self, now_s: float, interval_s: float) -> float:
        """How long to wait before the next picture, which is seen for `interval_s`."""
        if self._due_s is None or now_s - self._due_s > _LATEST_S:
            self._due_s = now_s
        delay = max(0.0, self._due_s - now_s)
        self._due_s += interval_s
        return delay


_RATE_WINDOW_S = 3.0


class RateMeter:
    """Pictures a second that were really painted, of late."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now_s: float, painted: int) -> None:
        """`painted`: so many so far."""
        self._samples.append((now_s, painted))
        while len(self._samples) > 2 and now_s - self._samples[1][0] >= _RATE_WINDOW_S:
            self._samples.popleft()

    def clear(self) -> None:
        self._samples.clear()

    def per_second(self, tiles: int = 1) -> float | None:
        """Of each tile; None: not known yet."""
        if len(self._samples) < 2:
            return None
        (began, before), (now, after) = self._samples[0], self._samples[-1]
        return (after - before) / (now - began) / max(1, tiles) if now > began else None


def rate_words(per_second: float | None) -> str:
    if per_second is None:
        return "– pictures/s"
    digits = 0 if per_second >= 9.95 else 1
    return f"{per_second:.{digits}f} pictures/s"


@dataclass(frozen=True)
class NaturalPicture:
    """What is shown now, and of which episode."""

    step: StretchStep
    episode: EpisodeSummary
    steps: int  # of the episode, as they are shown: what it reports may count frames instead
    number: int  # of all pictures so far

    @property
    def interval_s(self) -> float:
        return 1 / self.step.pace.pictures_per_second


RUN_NUMBERS_HELP = (
    "Of the episode in the picture: its step and the rewards so far. Of the run: all its steps, "
    "and steps a second over about the last ten seconds"
)


def natural_hud(
    shown: NaturalPicture,
    progress: Progress,
    status: str,
    now: float,
    evaluation: EvaluationBatch | None = None,
) -> Hud:
    """`now`: by the clock on the wall, as the timestamps of episodes are."""
    step, parts = shown.step, _episode_parts(shown, now)
    speed = progress.steps_per_second
    run = DOT.join(
        [f"run: step {count(progress.steps)}", "–/s" if speed is None else rate_text(speed)]
    )
    of = f" of {count(shown.steps)}" if step.is_newest else ""
    place = f"step {count(step.step):>5}{of}"
    so_far = f"return so far {decimal(step.total)}"
    return Hud(
        LOOKS.get(status, ""),
        status,
        DOT.join([*parts, *_evaluation_parts(evaluation)]),
        DOT.join([place, so_far, run]),
        DOT.join([*parts[:2], *_evaluation_parts(evaluation, "batch", "ep")]),
        DOT.join([place, f"run {short_count(progress.steps)}"]),
        RUN_NUMBERS_HELP,
    )


def _evaluation_parts(evaluation: EvaluationBatch | None, *words: str) -> list[str]:
    return [] if evaluation is None else ["(Eval)", batch_line(evaluation, *words)]


def _episode_parts(shown: NaturalPicture, now: float) -> list[str]:
    episode = shown.episode
    number = f"episode {count(episode.episode_index)}"
    if not shown.step.is_newest:
        # Its number is not known: other environments ended theirs in between.
        number = f"before {number}"
    parts = [number, f"return {decimal(episode.total_reward)}", age(episode.timestamp, now)]
    times = shown.step.pace.times
    return parts if times == 1 else [*parts, f"{times:.1f}× its own speed"]
