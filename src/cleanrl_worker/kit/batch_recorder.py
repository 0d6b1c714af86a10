"""BatchRecorder: writes in a thread of its own what a batch did, at most a second later.

The training only appends bytes to a list. Whatever goes wrong here ends the recording, never the
training.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.process_messages import pack
from cleanrl_worker.environments.slot_states import slot_states
from mosaic.contracts.recording_file import MAX_UNPACKED_BYTES, EpisodeEnd
from mosaic.worker.recording import RecordingFacts, RecordingWriter

FLUSH_INTERVAL_S = 1.0
_MAX_ROWS = 400_000  # two per step: if the disk is slower than that, the training waits for it
_BLOCK_BYTES = MAX_UNPACKED_BYTES // 2  # room for the ends of episodes


class BatchRecorder:
    """`rows` takes, for each step, the bytes of all actions and then those of all rewards."""

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
            self._look_at_end()
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
        self._look_at_end()

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

    def _look_at_end(self) -> None:
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
