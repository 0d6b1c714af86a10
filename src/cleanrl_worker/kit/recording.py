"""Recording what environments do, so that every episode can be simulated again."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.batch import Array, EnvBatch, Episode, Step, slot_states
from cleanrl_worker.environments.denormals import are_flushed
from cleanrl_worker.environments.making import LOOP, PROCESSES
from cleanrl_worker.environments.processes.messages import pack
from mosaic.contracts.recording_file import MAX_UNPACKED_BYTES, EpisodeEnd
from mosaic.fastlane.settings import Settings
from mosaic.worker.recording import RecordingFacts, RecordingWriter

FLUSH_INTERVAL_S = 1.0
_MAX_ROWS = 400_000  # two per step: if the disk is slower than that, the training waits for it
_BLOCK_BYTES = MAX_UNPACKED_BYTES // 2  # room for the ends of episodes
# Until the next keyframe: what simulating one environment again takes, and steps. The latter
# because the actions on the way travel to whoever replays.
KEYFRAME_REPLAY_S = 2.0
KEYFRAME_STEPS = 20_000
# With each further amount of this the keyframes become half as frequent.
KEYFRAME_THINNING_BYTES = 64_000_000
_CHECK_EVERY = 64  # steps; what is done more often has to be cheap


class BatchRecorder:
    """Writes what a batch did in a thread of its own. What goes wrong ends the recording only.

    `rows` takes, for each step, the bytes of all actions and then those of all rewards.
    """

    def __init__(self, path: Path, limit_bytes: int, note: Callable[[str], None]) -> None:
        self.rows: list[bytes] = []
        self.given = self._stored = np.dtype(np.int64)  # of the actions
        self.is_over = False
        self._path, self._limit, self._note = path, limit_bytes, note
        self._writer: RecordingWriter | None = None
        self._ends: list[EpisodeEnd] = []
        self._keyframes: list[tuple[int, Mapping[str, Any]]] = []
        self._next_step = self._next_episode = 0
        self._writing = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_writing, name="recording", daemon=True)

    def open(
        self,
        action_space: spaces.Space[Any],
        slots: int,
        first_step: int,
        first_episode: int,
        **facts: Any,
    ) -> None:
        """Whatever was in `rows` before is forgotten."""
        self.given, self._stored = action_types(action_space)
        shape = action_space.shape or ()
        self.rows.clear()
        self._next_step, self._next_episode = first_step, first_episode
        with self._writing:
            self._writer = RecordingWriter(
                self._path,
                RecordingFacts(
                    slots=slots,
                    action_dtype=self._stored.str,
                    action_shape=shape,
                    action_bytes=self._stored.itemsize * int(np.prod(shape, dtype=np.int64)),
                    **facts,
                ),
                self._limit,
            )
            self._note_if_ended()
        self._thread.start()

    @property
    def keyframe_bytes(self) -> int:
        return self._writer.keyframe_bytes if self._writer is not None else 0

    def add_end(self, end: EpisodeEnd) -> None:
        """Before its last step enters `rows`, so that no step is written without its end."""
        self._ends.append(end)

    def add_keyframe(self, step: int, state: Mapping[str, Any]) -> None:
        """`state` must not change any more."""
        self._keyframes.append((step, state))

    def relieve(self) -> None:
        """Write now if too much is waiting."""
        if len(self.rows) > _MAX_ROWS:
            self.flush()

    def flush(self) -> None:
        with self._writing:
            try:
                self._write()
            except Exception as error:  # noqa: BLE001 (no training shall end for it)
                self.give_up(f"{type(error).__name__}: {error}")

    def close(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.flush()
        if self._writer is not None:
            self._writer.close()
        self.is_over = True

    def _keep_writing(self) -> None:
        while not self._stopping.wait(FLUSH_INTERVAL_S) and not self.is_over:
            self.flush()

    def _write(self) -> None:
        writer, count = self._writer, len(self.rows) // 2 * 2
        rows = self.rows[:count]
        del self.rows[:count]
        if writer is None or self.is_over:
            return
        keyframes, self._keyframes[:] = list(self._keyframes), []
        for step, state in keyframes:
            writer.write_keyframe(step, [pack(part) for part in slot_states(state)])
        if rows:
            at_once = 2 * max(1, _BLOCK_BYTES // len(rows[0] + rows[1]))
            for start in range(0, count, at_once):
                self._write_rows(writer, rows[start : start + at_once])
        self._note_if_ended()

    def _write_rows(self, writer: RecordingWriter, rows: list[bytes]) -> None:
        steps = len(rows) // 2
        end_step = self._next_step + steps
        # Other ends may have come meanwhile, of steps that are not among these rows.
        ends = [end for end in self._ends if end.end_step <= end_step]
        del self._ends[: len(ends)]
        actions = np.frombuffer(b"".join(rows[::2]), self.given)
        writer.write_steps(
            self._next_step,
            steps,
            actions.astype(self._stored, copy=False).tobytes(),
            b"".join(rows[1::2]),
            self._next_episode,
            ends,
        )
        self._next_step = end_step
        self._next_episode += len(ends)

    def _note_if_ended(self) -> None:
        if self._writer is not None and self._writer.why_ended and not self.is_over:
            self.give_up(self._writer.why_ended)

    def give_up(self, reason: str) -> None:
        """Record nothing more, and say why."""
        if not self.is_over:
            self.is_over = True
            self._note(f"episodes are not recorded any more: {reason}")


def action_types(space: spaces.Space[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """As algorithms give actions, and as they are stored."""
    if isinstance(space, spaces.Discrete):
        return np.dtype(np.int64), np.min_scalar_type(int(space.n) - 1)
    dtype = np.dtype(space.dtype)
    return dtype, dtype


class KeyframeSchedule:
    """How often the exact state is recorded, so that every episode is near one.

    `share`: the part of a batch step's duration that one environment takes.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._steps = 0
        self._seconds = 0.0
        self._is_first = True

    def add(self, steps: int, step_s: float) -> None:
        """So many steps of the batch were taken, one of which took so long."""
        self._steps += steps
        self._seconds += steps * step_s * self._share

    def is_due(self, keyframe_bytes: int) -> bool:
        scarcity = 2 ** (keyframe_bytes // KEYFRAME_THINNING_BYTES)
        return (
            self._is_first
            or self._steps >= KEYFRAME_STEPS * scarcity
            or self._seconds >= KEYFRAME_REPLAY_S * scarcity
        )

    def restart(self) -> None:
        self._steps, self._seconds, self._is_first = 0, 0.0, False


Note = Callable[[str], None]


class RecordedBatch(EnvBatch):
    """Steps the batch inside, and notes actions, rewards and episodes. `begin` starts it.

    The batch does exactly what it would do without: keyframes are taken as checkpoints are.
    """

    def __init__(
        self, envs: EnvBatch, recorder: BatchRecorder, settings: Mapping[str, Any]
    ) -> None:
        """`settings`: arguments of `make_env_batch`, for the replay."""
        self.num_envs = envs.num_envs
        self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.vectorization, self.exactness = envs.vectorization, envs.exactness
        self.view = envs.view
        self._envs = envs
        self._take_step = envs.step
        self._recorder = recorder
        self._settings = dict(settings)
        self._given = recorder.given
        self._add: Callable[[bytes], None] = _forget
        self._due: float = math.inf
        self._begins: list[tuple[int, bool]] = []  # first step; whether it began before
        self._schedule = KeyframeSchedule(_share(envs))

    def begin(self, global_step: int, episodes: int, is_resumed: bool) -> None:
        """Record from the next step on; so many episodes are over."""
        envs = self._envs
        in_process = envs.vectorization != PROCESSES
        self._clock = self._due = global_step // self.num_envs
        self._begins = [(self._clock, is_resumed)] * self.num_envs
        settings = {
            **self._settings,
            "vectorization": envs.vectorization if in_process else LOOP,
            "flushes_denormals": in_process and are_flushed(),
        }
        self._recorder.open(
            envs.action_space,
            self.num_envs,
            self._clock,
            episodes,
            env_id=settings["env_id"],
            settings=settings,
            exactness=envs.exactness,
            is_resumed=is_resumed,
        )
        self._given = self._recorder.given
        self._add = self._recorder.rows.append

    def step(self, actions: Array) -> Step:
        if self._clock >= self._due:
            return self._checking_step(actions)
        step = self._take_step(actions)
        self._clock += 1
        if step.episodes:
            self._add_ends(step.episodes)
        if actions.dtype is not self._given:
            actions = actions.astype(self._given)
        self._add(actions.tobytes())
        self._add(step.rewards.tobytes())
        self.observations = step.observations
        return step

    def _checking_step(self, actions: Array) -> Step:
        recorder = self._recorder
        if recorder.is_over:
            self._due, self._add = math.inf, _forget
            return self.step(actions)
        self._due = self._clock + _CHECK_EVERY
        recorder.relieve()
        if self._schedule.is_due(recorder.keyframe_bytes):
            self._take_keyframe()
        started = perf_counter()
        step = self.step(actions)
        self._schedule.add(_CHECK_EVERY, perf_counter() - started)
        return step

    def _take_keyframe(self) -> None:
        self._schedule.restart()
        try:
            state = self._envs.state_dict()
        except Exception as error:  # noqa: BLE001 (no training shall end for it)
            self._recorder.give_up(f"its state cannot be taken: {type(error).__name__}: {error}")
        else:
            self._recorder.add_keyframe(self._clock, state)

    def _add_ends(self, episodes: Sequence[Episode]) -> None:
        if self._due == math.inf:
            return
        for slot, total, length, terminated, truncated in episodes:
            first, began_before = self._begins[slot]
            self._begins[slot] = (self._clock, False)
            self._recorder.add_end(
                EpisodeEnd(
                    slot, first, self._clock, length, total, terminated, truncated, began_before
                )
            )

    def flush(self) -> None:
        """What was done so far is in the file: a checkpoint must not be ahead of it."""
        self._recorder.flush()

    def reset(self, seed: int) -> Array:
        self.observations = self._envs.reset(seed)
        return self.observations

    def state_dict(self) -> dict[str, Any]:
        return self._envs.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._envs.load_state_dict(state)
        self.exactness, self.observations = self._envs.exactness, self._envs.observations

    def render(self, index: int) -> Array:
        return self._envs.render(index)

    def open_view(self, settings: Settings, note: Note) -> None:
        self._envs.open_view(settings, note)

    def show_paused(self, is_paused: bool) -> None:
        self._envs.show_paused(is_paused)

    def close(self) -> None:
        self._recorder.close()
        self._envs.close()


def _forget(data: bytes) -> None:
    pass


def _share(envs: EnvBatch) -> float:
    """The part of a step's duration that one environment alone would take."""
    if envs.vectorization != PROCESSES:
        return 1 / envs.num_envs
    return min(envs.num_envs, os.cpu_count() or 1) / envs.num_envs


class EpisodeLog:
    """Records whole episodes that begin with a seed, one at a time."""

    def __init__(
        self,
        path: Path,
        limit_bytes: int,
        note: Callable[[str], None],
        action_space: spaces.Space[Any],
        settings: Mapping[str, Any],
    ) -> None:
        """`settings`: arguments of `make_env_batch`, for the replay."""
        _, self._dtype = action_types(action_space)
        self._note = note
        shape = action_space.shape or ()
        facts = RecordingFacts(
            env_id=settings["env_id"],
            settings={**settings, "vectorization": LOOP, "flushes_denormals": are_flushed()},
            slots=1,
            action_dtype=self._dtype.str,
            action_shape=shape,
            action_bytes=self._dtype.itemsize * int(np.prod(shape, dtype=np.int64)),
        )
        self._writer = RecordingWriter(path, facts, limit_bytes)
        self._note_if_ended()

    def write(
        self,
        number: int,
        seed: int,
        actions: Sequence[Any],
        rewards: Sequence[float],
        total_reward: float,
        terminated: bool,
        truncated: bool,
        values: Sequence[float] = (),
    ) -> None:
        """`values`: what the agent expected of each state it acted in, where it tells that."""
        if self._writer.why_ended:
            return
        length = len(actions)
        expected = np.array(values, dtype="<f4")
        end = EpisodeEnd(0, 0, length, length, total_reward, terminated, truncated)
        self._writer.write_episode(
            number,
            end,
            {"seed": seed},
            np.array(actions, dtype=self._dtype).tobytes(),
            np.array(rewards, dtype=np.float32).tobytes(),
            expected.tobytes() if np.isfinite(expected).any() else b"",
        )
        self._note_if_ended()

    def close(self) -> None:
        self._writer.close()

    def _note_if_ended(self) -> None:
        if self._writer.why_ended:
            self._note(f"episodes are not recorded any more: {self._writer.why_ended}")
