"""What every action is worth in every state, again and again, in a file beside the run.

First where the states are on the map of the environment. When is a matter of counts, not of time,
but for checkpoints: a run that is repeated writes the same. Larger tables are told less often, so
that it costs next to nothing. The file is bounded: where it would become larger than MAX_BYTES,
every second line of values is dropped, and they come half as often.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic.contracts.manifest import AgentsArtifact
from mosaic.files import atomic_write, write_all
from mosaic.foreign.files import read_regular
from mosaic.worker import Run
from spade_bdi_rl_worker.learning.state_map import NoMapError, map_fields
from spade_bdi_rl_worker.trace_file import FILE_NAME as TRACE_NAME
from spade_bdi_rl_worker.trace_file import OLDER_NAME

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.kernels import Floats
    from spade_bdi_rl_worker.learning.runtime import QLearningRuntime

AGENTS_FOLDER = "agents"  # below the run's outputs
FILE_NAME = "values.jsonl"
MAX_BYTES = 16 * 2**20
# Between two lines, for each number in them. A number costs as much as a few steps that are not
# reported, and a fraction of one that is.
STEPS_PER_VALUE, STEPS_PER_VALUE_FULL = 50, 1
_DIGITS = 4  # that count
_MOST_DIGITS = 290  # before or behind the point


class ValuesFile:
    """For the thread that plays, and the main one once that has ended.

    `give_up` hears why nothing is written (any more), in a sentence. Without a folder, and for a
    world without a map, nothing is written.
    """

    def __init__(
        self,
        folder: Path | None,
        runtime: QLearningRuntime,
        give_up: Callable[[str], None],
        *,
        is_full: bool = True,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """`is_full`: every step is reported, which takes so much longer."""
        self._path = None if folder is None else folder / FILE_NAME
        self._runtime = runtime
        self._give_up = give_up
        self._max_bytes = max_bytes
        self._map = ""  # its line
        self._mapped = -1  # states that are in it
        self._size = 0
        # Steps between two lines, for each number in them.
        self._pace = STEPS_PER_VALUE_FULL if is_full else STEPS_PER_VALUE
        self._last_step: int | None = None
        self._is_there = False
        if self._path is not None:
            self._begin(self._path)

    @property
    def is_there(self) -> bool:
        """Whether there is a file that says something."""
        return self._is_there

    def write_next(self) -> None:
        """For moments that come by the number of episodes: writes if it is time."""
        if self._is_due:
            self._write(can_wait=True)

    def write(self) -> None:
        """For moments that are told in any case."""
        self._write(can_wait=False)

    @property
    def _is_due(self) -> bool:
        runtime, last = self._runtime, self._last_step
        numbers = runtime.world.n_states * runtime.world.n_actions
        return last is None or runtime.steps - last >= self._pace * numbers

    def _write(self, *, can_wait: bool) -> None:
        runtime = self._runtime
        if self._path is None or runtime.steps == self._last_step:
            return
        text = _line(
            "values", step=runtime.steps, episodes=runtime.episodes, values=rounded(runtime)
        )
        try:
            if runtime.world.n_states != self._mapped:
                self._draw_map()
                text = self._map + text
            if self._size + len(text) > self._max_bytes:
                self._thin(len(text))
                if can_wait and not self._is_due:
                    return
            self._append(text)
            self._last_step = runtime.steps
        except (NoMapError, OSError) as error:
            self._end(error)

    def _begin(self, path: Path) -> None:
        try:
            self._draw_map()
            if not self._map:
                self._path = None
                return
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._size = path.stat().st_size if path.exists() else 0
            if self._size:
                # Of an attempt before this one, which may have been killed within a line.
                self._append("\n")
            self._append(self._map)
            self._is_there = True
        except (NoMapError, OSError) as error:
            self._end(error)

    def _draw_map(self) -> None:
        world = self._runtime.world
        self._mapped = world.n_states
        fields = map_fields(world)
        self._map = "" if fields is None else _line("map", **fields)

    def _append(self, text: str) -> None:
        assert self._path is not None
        data = text.encode()
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)
        self._size += len(data)

    def _thin(self, needed: int) -> None:
        assert self._path is not None
        lines = [
            line
            for line in read_regular(self._path, 2 * self._max_bytes).splitlines(keepends=True)
            if b'"kind":"values"' in line[:100]
        ]
        size = self._max_bytes + 1
        while lines and size + needed > self._max_bytes:
            self._pace *= 2
            lines = lines[::2] if len(lines) > 1 else []
            size = len(self._map) + sum(map(len, lines))
        self._last_step = int(json.loads(lines[-1])["step"]) if lines else None
        self._draw_map()  # anew, so that the file begins otherwise than the one before
        atomic_write(self._path, b"".join([self._map.encode(), *lines]))
        self._size = len(self._map) + sum(map(len, lines))

    def _end(self, error: NoMapError | OSError) -> None:
        path, self._path = self._path, None
        if isinstance(error, OSError):
            self._give_up(f"what the tables are worth is not kept any more: {error.strerror}")
            return
        self._is_there = False
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        self._give_up(f"what the tables are worth cannot be shown on the map: {error}")


def agents_artifact(run: Run[Any], values: ValuesFile, *, has_trace: bool) -> AgentsArtifact:
    """What the manifest of the run says about files of its agents."""
    if run.directory is None or run.output_directory is None:
        return AgentsArtifact()
    folder = (run.output_directory / AGENTS_FOLDER).relative_to(run.directory)
    trace = (str(folder / TRACE_NAME), str(folder / OLDER_NAME)) if has_trace else ("", "")
    return AgentsArtifact(*trace, str(folder / FILE_NAME) if values.is_there else "")


def rounded(runtime: QLearningRuntime) -> list[list[float] | None]:
    """By state; None for one that was not met, and of which nothing was known beforehand."""
    table = runtime.q_table()
    is_known = (runtime.visits() > 0).any(axis=1)
    is_known |= (table != runtime.settings.initial_value).any(axis=1)
    is_known &= np.isfinite(table).all(axis=1)
    rows = _significant(np.where(is_known[:, None], table, 0.0)).tolist()
    return [row if known else None for row, known in zip(rows, is_known.tolist(), strict=True)]


def _significant(table: Floats) -> Floats:
    """To so many digits that count; such that they are short when they are written."""
    sizes = np.floor(np.log10(np.where(table == 0.0, 1.0, np.abs(table))))
    behind = np.clip(_DIGITS - 1 - sizes, -_MOST_DIGITS, _MOST_DIGITS)
    factors = 10.0 ** np.abs(behind)
    with np.errstate(over="ignore"):  # in the one of the two that is not taken
        found: Floats = np.where(
            behind >= 0,
            np.round(table * factors) / factors,
            np.round(table / factors) * factors,
        )
    return found


def _line(kind: str, **fields: Any) -> str:
    said = {"timestamp": round(time.time(), 6), "kind": kind, **fields}
    return json.dumps(said, separators=(",", ":")) + "\n"
