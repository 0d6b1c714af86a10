"""Session: one training, seen from its algorithm. Logging, stopping, checkpoints and resuming."""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, SupportsFloat

import numpy as np
import torch

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.environments.batch import EnvBatch, Episode
from cleanrl_worker.environments.live_view import showing_pauses
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.kit.checkpoints.loading import Checkpoint
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.checkpoints.state import Stateful
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from cleanrl_worker.kit.recording import BatchRecorder, RecordedBatch
from cleanrl_worker.kit.reporting import Reporter, ScalarWriter
from mosaic.errors import CheckpointError, WorkerError
from mosaic.fastlane.settings import Settings

RECENT_EPISODES = 100
NOT_SHOWN = Settings()


class TrainingDivergedError(WorkerError):
    """A loss is not a number any more; going on would only destroy the last good weights."""

    code = "training_diverged"


class InitialState(Protocol):
    """What a new training gets before its first step."""

    def load_into(self, model: ModelFile, parts: Mapping[str, Stateful]) -> None: ...


class Session:
    """What an algorithm needs besides its maths.

    An algorithm makes its parts, names them once with `register`, and then loops:

        with session.environments() as envs:
            envs.reset(arguments.seed)
            session.register(ModelFile(agent), optimizer=optimizer, envs=envs)
            observations = envs.observations      # the first ones, or those of the checkpoint
            while session.should_continue():
                ...                               # advances session.global_step
                session.record({"losses/value_loss": loss})
                session.checkpoint_if_due()
    """

    def __init__(
        self,
        arguments: Arguments,
        device: torch.device,
        reporter: Reporter,
        writers: Sequence[ScalarWriter] = (),
        store: CheckpointStore | None = None,
        checkpoint: Checkpoint | None = None,
        video_directory: Path | None = None,
        live_view: Settings = NOT_SHOWN,
        is_paused: Callable[[], bool] = lambda: False,
        recording: Path | None = None,  # the file in which episodes are recorded
        initial_state: InitialState | None = None,
    ) -> None:
        self.arguments = arguments
        self.device = device
        self.rng = np.random.default_rng(arguments.seed)
        self.global_step = 0
        self.episodes = 0
        # The horizon of exploration: a resumed training must not become random again.
        self.planned_timesteps = arguments.total_timesteps
        self.recent_returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        self.video_directory = video_directory if arguments.capture_video else None
        self._recording = recording if arguments.record_episodes else None
        self._recorded: RecordedBatch | None = None
        self._reporter = reporter
        self._should_stop = reporter.should_stop
        self._live_view = live_view
        self._is_paused = is_paused
        self._writers = tuple(writers)
        self._store = store
        self._checkpoint = checkpoint
        self._initial_state = initial_state
        self._model: ModelFile | None = None
        self._parts: dict[str, Stateful] = {}
        self._started_at = time.perf_counter()
        self._started_step = 0
        self._saved_step = -1
        self._tried_step = -1  # of the last save, also of one that failed

    @contextmanager
    def environments(self, frame_stack: int = 4) -> Iterator[EnvBatch]:
        """Those the arguments ask for; closed in the end."""
        arguments = self.arguments
        envs = make_env_batch(
            arguments.env_id,
            arguments.num_envs,
            env_kwargs=arguments.env_kwargs,
            vectorization=arguments.vectorization,
            allow_native=arguments.accelerate,
            video_directory=self.video_directory,
            frame_stack=frame_stack,
        )
        try:
            if self._live_view.is_on:
                envs.open_view(self._live_view, self.note)
                self._should_stop = showing_pauses(
                    self._reporter.should_stop, self._is_paused, envs.show_paused
                )
            if self._recording is not None:
                envs = self._recorded = self._record(envs, self._recording, frame_stack)
            yield envs
        finally:
            envs.close()

    def _record(self, envs: EnvBatch, path: Path, frame_stack: int) -> RecordedBatch:
        arguments = self.arguments
        settings = {
            "env_id": arguments.env_id,
            "env_kwargs": dict(arguments.env_kwargs),
            "frame_stack": frame_stack,
        }
        limit_bytes = arguments.recording_limit_mb * 1_000_000
        return RecordedBatch(envs, BatchRecorder(path, limit_bytes, self.note), settings)

    # ---- what a checkpoint holds -------------------------------------------------------------

    def register(self, model: ModelFile, **parts: Stateful) -> None:
        """Name everything the training is made of; a resumed one gets its state back here."""
        self._model, self._parts = model, parts
        checkpoint = self._checkpoint
        if checkpoint is not None:
            model.load(checkpoint.weights)
            for name, part in parts.items():
                part.load_state_dict(checkpoint.part(name))
            self._load_own_state(checkpoint.part("session"))
            self._reporter.checkpoint_loaded(checkpoint.path, checkpoint.step)
        elif self._initial_state is not None:
            self._initial_state.load_into(model, parts)
            self.note("warm start: begins with the networks of another training")
        if isinstance(envs := parts.get("envs"), EnvBatch):
            self.note(f"vectorization: {envs.vectorization}")
            if checkpoint is not None:
                self.note(f"resumed at step {checkpoint.step}, {envs.exactness}")
        if self._recorded is not None:
            self._recorded.begin(self.global_step, self.episodes, self.is_resumed)
        self._started_step = self.global_step
        self._started_at = time.perf_counter()
        self._reporter.progress(steps=self.global_step, total_steps=self.arguments.total_timesteps)

    @property
    def is_resumed(self) -> bool:
        return self._checkpoint is not None

    # ---- the loop ----------------------------------------------------------------------------

    def should_continue(self) -> bool:
        """False at the end of the budget or when the run is asked to stop.

        The last checkpoint is saved here, while the environments are still open.
        """
        self._reporter.progress(steps=self.global_step)
        if not self._is_done and not self._is_told_to_stop():
            return True
        self.save_checkpoint(is_final=self._is_done)
        return False

    def _is_told_to_stop(self) -> bool:
        """Waits while the run is paused, which is no part of its speed."""
        asked_at = time.perf_counter()
        is_stopping = self._should_stop()
        self._started_at += time.perf_counter() - asked_at
        return is_stopping

    @property
    def _is_done(self) -> bool:
        return self.global_step >= self.arguments.total_timesteps

    def record_episodes(self, episodes: Sequence[Episode]) -> None:
        for episode in episodes:
            self.recent_returns.append(episode.total_reward)
            self._write("charts/episodic_return", episode.total_reward)
            self._write("charts/episodic_length", float(episode.length))
            self._reporter.episode(
                episode_index=self.episodes,
                total_reward=episode.total_reward,
                steps=episode.length,
                terminated=episode.terminated,
                truncated=episode.truncated,
                metadata={"step": self.global_step},
            )
            self.episodes += 1

    def record(self, values: Mapping[str, SupportsFloat]) -> None:
        """Scalars at the current step, and the speed beside them."""
        for name, value in values.items():
            number = float(value)
            if not math.isfinite(number):
                raise self._diverged(f"{name} is {number}")
            self._write(name, number)
        self._write("charts/SPS", self.steps_per_second)

    @property
    def steps_per_second(self) -> float:
        elapsed = time.perf_counter() - self._started_at
        return (self.global_step - self._started_step) / max(elapsed, 1e-9)

    def note(self, text: str) -> None:
        self._reporter.note(text)

    # ---- checkpoints -------------------------------------------------------------------------

    def checkpoint_if_due(self) -> None:
        """A full disk does not end a training: the next checkpoint may find room again.

        The one at the very end is left to `should_continue`, which saves it as the final one.
        """
        if self._store is None or self._is_done:
            return
        if self.global_step >= self._next_checkpoint:
            try:
                self.save_checkpoint()
            except CheckpointError as error:
                self.note(f"{error.message}; training goes on ({error.hint})")

    def save_checkpoint(self, is_final: bool = False) -> None:
        """Raises CheckpointError when it cannot be written; the ones before stay as they are."""
        if self._store is None or self._model is None:
            return
        if self.global_step == self._saved_step and not is_final:
            return
        if not self._model.is_finite():
            raise self._diverged("a weight is not a number")
        self._tried_step = self.global_step
        # Whoever resumes goes on after the checkpoint: what led to it must not be lost with us.
        if self._recorded is not None:
            self._recorded.flush()
        self._reporter.flush()
        metric = float(np.mean(self.recent_returns)) if self.recent_returns else None
        states = {name: part.state_dict() for name, part in self._parts.items()}
        saved = self._store.save(
            self.global_step,
            self._model.payload(),
            {**states, "session": self._own_state()},
            metric=metric,
            is_final=is_final,
        )
        self._saved_step = self.global_step
        self._reporter.checkpoint_saved(
            saved.path,
            saved.step,
            sha256=saved.sha256,
            metric=metric,
            is_best=saved.is_best,
            is_final=is_final,
        )

    def _diverged(self, what: str) -> TrainingDivergedError:
        saved = max(self._saved_step, self._started_step if self.is_resumed else -1)
        left = (
            f"the checkpoint at step {saved} is intact"
            if saved >= 0
            else "no checkpoint was saved yet"
        )
        return TrainingDivergedError(
            f"{what} at step {self.global_step}: the training diverged",
            hint=f"a smaller learning_rate helps most often; {left}",
        )

    @property
    def _next_checkpoint(self) -> int:
        arguments = self.arguments
        interval = arguments.checkpoint_interval or max(1, arguments.total_timesteps // 10)
        last = max(self._tried_step, self._started_step)
        return (last // interval + 1) * interval

    def _write(self, name: str, value: float) -> None:
        self._reporter.metric(name, value, self.global_step)
        for writer in self._writers:
            writer.scalar(name, value, self.global_step)

    def _own_state(self) -> dict[str, Any]:
        cuda = {"cuda_rng": torch.cuda.get_rng_state()} if self.device.type == "cuda" else {}
        version, internal, gauss = random.getstate()
        return {
            "global_step": self.global_step,
            "episodes": self.episodes,
            "planned_timesteps": self.planned_timesteps,
            "recent_returns": list(self.recent_returns),
            "numpy_rng": self.rng.bit_generator.state,
            "torch_rng": torch.get_rng_state(),
            "python_rng": [version, list(internal), gauss],
            **cuda,
        }

    def _load_own_state(self, state: Mapping[str, Any]) -> None:
        self.global_step = int(state["global_step"])
        self.episodes = int(state["episodes"])
        self.planned_timesteps = int(state["planned_timesteps"])
        self.recent_returns.extend(state["recent_returns"])
        self.rng.bit_generator.state = state["numpy_rng"]
        torch.set_rng_state(state["torch_rng"])
        version, internal, gauss = state["python_rng"]
        random.setstate((version, tuple(internal), gauss))
        if "cuda_rng" in state and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_rng"])
