"""Reporter: where a training tells what happens. The worker's run is one, a terminal another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol


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
