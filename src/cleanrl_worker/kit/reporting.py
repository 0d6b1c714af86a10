"""Reporter: where a training tells what happens. The worker's run is one, a terminal another."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from mosaic.worker.control import Control

RECENT_EPISODES = 100
_LIVE_INTERVAL_S = 0.2
_LOG_INTERVAL_S = 10.0  # where lines cannot be overwritten


class Reporter(Protocol):
    """The part of `mosaic.worker.Run` a training needs, so that it also works without a run."""

    def metric(self, name: str, value: float, step: int) -> None: ...

    def episode(
        self,
        *,
        episode_index: int,
        total_reward: float,
        steps: int,
        terminated: bool,
        truncated: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> None: ...

    def progress(self, *, steps: int, total_steps: int | None = None) -> None: ...

    def should_stop(self) -> bool: ...

    def flush(self) -> None:
        """What was reported so far is kept, whatever kills this process now."""

    def checkpoint_saved(
        self,
        path: Path,
        step: int,
        sha256: str = "",
        metric: float | None = None,
        is_best: bool = False,
        is_final: bool = False,
    ) -> None: ...

    def checkpoint_loaded(self, path: Path, step: int) -> None: ...

    def note(self, text: str) -> None:
        """A sentence for people: what was chosen, how a schedule goes on."""


class ScalarWriter(Protocol):
    """TensorBoard, W&B: files and services that take scalars."""

    def scalar(self, name: str, value: float, step: int) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class TerminalReporter:
    """Shows a training on a terminal: one line that is updated, and one for each event.

    `control` is what Ctrl-C sets.
    """

    def __init__(
        self,
        control: Control,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._control = control
        self._stream = stream or sys.stderr
        self._clock = clock
        self._is_live = self._stream.isatty()
        self._interval_s = _LIVE_INTERVAL_S if self._is_live else _LOG_INTERVAL_S
        self._returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        self._steps, self._total = 0, 0
        self._started_at, self._started_step = clock(), 0
        self._shown_at = -1e9
        self._width = 0
        self._announced_stop = False

    def metric(self, name: str, value: float, step: int) -> None:
        """The live line shows what matters; the rest is in TensorBoard."""

    def episode(
        self,
        *,
        episode_index: int,
        total_reward: float,
        steps: int,
        terminated: bool,
        truncated: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._returns.append(total_reward)

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        if total_steps is not None:  # the first report of a training, or of a resumed one
            self._total = total_steps
            self._started_at, self._started_step = self._clock(), steps
        self._steps = steps
        now = self._clock()
        if now - self._shown_at >= self._interval_s:
            self._shown_at = now
            self._show(now)

    def should_stop(self) -> bool:
        is_stopping = self._control.needs_attention and self._control.settle()
        if is_stopping and not self._announced_stop:
            self._announced_stop = True
            self._say("stopping: a last checkpoint is saved (Ctrl-C again to give up)")
        return is_stopping

    def checkpoint_saved(
        self,
        path: Path,
        step: int,
        sha256: str = "",
        metric: float | None = None,
        is_best: bool = False,
        is_final: bool = False,
    ) -> None:
        kind = "final checkpoint" if is_final else "checkpoint"
        score = "" if metric is None else f", return {metric:.1f}"
        self._say(f"{kind} at step {step:,}{score}{' (best)' if is_best else ''}: {path}")

    def checkpoint_loaded(self, path: Path, step: int) -> None:
        self._say(f"resumed at step {step:,} from {path}")

    def note(self, text: str) -> None:
        self._say(text)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self._show(self._clock())
        if self._is_live and self._width:
            self._stream.write("\n")
        self._stream.flush()

    def _say(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}\n" if self._is_live else f"{text}\n")
        self._stream.flush()
        self._width = 0

    def _show(self, now: float) -> None:
        elapsed = max(now - self._started_at, 1e-9)
        line = progress_line(
            self._steps, self._total, self._started_step, elapsed, list(self._returns)
        )
        if self._is_live:
            # Blanks over what is left of a longer line before.
            self._stream.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()


def progress_line(
    steps: int, total: int, started_step: int, elapsed_s: float, returns: list[float]
) -> str:
    """`step 12,000/500,000 (2%)  return 81.3  16,700 steps/s  29 s left`."""
    share = f" ({100 * steps / total:.0f}%)" if total else ""
    parts = [f"step {steps:,}/{total:,}{share}" if total else f"step {steps:,}"]
    if returns:
        parts.append(f"return {sum(returns) / len(returns):.1f}")
    speed = (steps - started_step) / elapsed_s
    if steps > started_step:
        parts.append(f"{speed:,.0f} steps/s")
        if total > steps:
            parts.append(f"{_duration((total - steps) / speed)} left")
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole % 60:02} s" if minutes else f"{whole} s"
