"""Recorded episodes simulated again, in a batch of one environment. Needs no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.environments.families import family_of
from cleanrl_worker.environments.family_imports import headless_variables
from mosaic.contracts.replay import EpisodeStart, Moment, ReplayEnvironment
from mosaic.errors import WorkerError

_SETTINGS = {
    "env_id",
    "env_kwargs",
    "frame_stack",
    "training",
    "vectorization",
    "flushes_denormals",
}


def make_environment(settings: Mapping[str, Any]) -> ReplayEnvironment:
    """`settings` are those of a recording: arguments of `make_env_batch`, and how it counted."""
    if "env_id" not in settings or not settings.keys() <= _SETTINGS:
        raise WorkerError(
            "These are not the settings of a recording",
            hint="episodes of trainings and evaluations that were recorded can be replayed",
        )
    for name, value in headless_variables(family_of(settings["env_id"]).name).items():
        os.environ.setdefault(name, value)
    # Only now: the libraries read these variables when they are imported.
    from cleanrl_worker.environments.making import make_env_batch

    arguments = dict(settings)
    flushes_denormals = bool(arguments.pop("flushes_denormals", False))
    return BatchReplay(make_env_batch(num_envs=1, **arguments), flushes_denormals)


class BatchReplay:
    """`begin` and `step` belong into one thread: how it treats tiny numbers is the thread's."""

    runs_on = True

    def __init__(self, batch: Any, flushes_denormals: bool) -> None:
        from cleanrl_worker.environments import denormals

        self._batch = batch
        self._denormals = denormals
        self._flushes, self._flushed_before = flushes_denormals, denormals.are_flushed()
        # An environment that ends is reset within the step; this is what it looked like then.
        self._last_picture: Any = None
        self._picture_error: Exception | None = None
        self._has_ended = False

    @property
    def render_fps(self) -> float | None:
        fps: float | None = self._batch.render_fps
        return fps

    def begin(self, start: EpisodeStart) -> Any:
        self._denormals.flush(self._flushes)
        self._batch.before_reset = _nothing
        self._has_ended = False
        if "seed" in start.details:
            self._batch.reset(int(start.details["seed"]))
        else:
            self._restore(start.state)
        for action in start.lead_actions:
            self._take(action)
        self._batch.before_reset = self._remember_picture
        return self._batch.observations[0]

    def step(self, action: Any) -> Moment:
        self._has_ended, self._last_picture, self._picture_error = False, None, None
        step = self._take(action)
        # Where lives are episodes for the algorithm, the game is one for people.
        terminated = any(episode.terminated for episode in step.episodes)
        truncated = any(episode.truncated for episode in step.episodes)
        observation = step.finals.get(0, step.observations[0])
        return Moment(observation, float(step.rewards[0]), terminated, truncated)

    def picture(self) -> Any:
        if not self._has_ended:
            return self._batch.render(0)
        if self._picture_error is not None:
            raise self._picture_error
        return self._last_picture

    def close(self) -> None:
        self._batch.close()
        self._denormals.flush(self._flushed_before)

    def _take(self, action: Any) -> Any:
        import numpy as np

        return self._batch.step(np.asarray(action)[np.newaxis])

    def _restore(self, data: bytes) -> None:
        from cleanrl_worker.environments.processes.messages import unpack

        batch = self._batch
        promised = batch.exactness
        try:
            state = unpack(data)
            batch.reset(0)  # some environments are complete only then
            batch.load_state_dict(state)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise WorkerError(
                f"The recorded state does not fit the environment: {error}",
                hint="was it recorded with other versions of the environment's packages?",
            ) from error
        if batch.exactness != promised:
            raise WorkerError(
                "The environment did not come back to its recorded state",
                hint="it was recorded with other versions of its packages, or is not deterministic",
            )

    def _remember_picture(self, index: int) -> None:
        self._has_ended = True
        try:
            self._last_picture = self._batch.render(index)
        except Exception as error:  # noqa: BLE001 (whoever wants the picture shall know)
            self._picture_error = error


def _nothing(index: int) -> None:
    pass
