"""Saves a training: at intervals while it goes on, and at its end however it ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from mosaic.errors import CheckpointError
from mosaic.worker import Run
from spade_bdi_rl_worker.checkpoints import FOLDER, CheckpointFolder, Trained

if TYPE_CHECKING:
    from spade_bdi_rl_worker.hands import WorldHands
    from spade_bdi_rl_worker.learning.runtime import QLearningRuntime

_MOST_STATES = 2_000  # of a world whose policy is judged exactly, which takes their square


class Saver:
    """Called by the thread that plays, and by the main one once that has ended."""

    def __init__(
        self,
        run: Run[Any],
        runtime: QLearningRuntime,
        hands: Callable[[], WorldHands],
        trained: Trained,
        interval_s: float,
        memory: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._run = run
        self._runtime = runtime
        self._hands = hands
        self._trained = trained
        self._interval_s = interval_s
        self._memory = memory
        self._saved_at = time.monotonic()
        self._folder: CheckpointFolder | None = None
        if run.output_directory is not None:
            name = f"{trained.algo}-{trained.env_id.replace('/', '_')}"
            self._folder = CheckpointFolder(run.output_directory / FOLDER, name)

    def save_if_due(self) -> bool:
        """Whether it was."""
        is_due = bool(self._interval_s) and time.monotonic() - self._saved_at >= self._interval_s
        if is_due:
            self.save()
        return is_due

    def save(self, *, is_final: bool = False) -> None:
        runtime, run = self._runtime, self._run
        value = exact_policy_value(runtime)
        statistics = self._hands().statistics
        metric = statistics.mean_return if value is None else value
        if value is not None:
            run.metric("eval/greedy_value", value, runtime.steps)
        folder = self._folder
        self._saved_at = time.monotonic()
        if folder is None:
            return
        about = asdict(self._about())
        state = {
            "learning": runtime.state_dict(),
            "hands": self._hands().state_dict(),
            "memory": dict(self._memory()),
        }
        try:
            digest = folder.save(state, about)
            best = folder.save_best(state, about, metric)
        except CheckpointError as error:
            if is_final:
                raise
            run.note(f"no checkpoint at step {runtime.steps:,}: {error}")
            return
        run.checkpoint_saved(folder.path, runtime.steps, digest, metric, is_final=is_final)
        if best:
            run.checkpoint_saved(folder.best_path, runtime.steps, best, metric, is_best=True)
            # Whoever wants the newest gets the one that was named last.
            run.checkpoint_saved(folder.path, runtime.steps, digest, metric, is_final=is_final)

    def _about(self) -> Trained:
        runtime, world = self._runtime, self._runtime.world
        return replace(
            self._trained,
            step=runtime.steps,
            episodes=runtime.episodes,
            run_id=self._run.run_id,
            env_kwargs=dict(world.env_kwargs),
            states=world.n_states,
            actions=world.n_actions,
        )


def exact_policy_value(runtime: QLearningRuntime) -> float | None:
    """Of the best known actions; None where it cannot be computed, or is not finite."""
    from spade_bdi_rl_worker.learning.exact_value import exact_value

    world = runtime.world
    if world.table is None or world.n_states > _MOST_STATES:
        return None
    value = exact_value(world, runtime.policy())
    return value if math.isfinite(value) else None
