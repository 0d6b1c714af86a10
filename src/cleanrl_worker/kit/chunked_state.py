"""Big states in chunks: a checkpoint rewrites only the chunks that changed since the last one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import WorkerError

Array = NDArray[Any]

CHUNK_ROWS = 2**14
CHUNK_BYTES = 32 * 2**20


@runtime_checkable
class ChunkedState(Protocol):
    """Stands in a state wherever a list of chunks does; each chunk is a mapping of arrays.

    Equal versions mean equal values, wherever and whenever in this process they are met: the
    checkpoint then refers to the file it already has.
    """

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Mapping[str, Array]]: ...

    def chunk(self, index: int) -> Mapping[str, Array]: ...

    def version(self, index: int) -> Hashable: ...


class RingChunks:
    """The written rows of a ring, cut into fixed ranges. Views: valid until the next write.

    `written` counts the rows ever written, so the version of a range follows from it and costs the
    writer nothing. `lineage` sets apart rings, and histories that filled the same ring.
    """

    def __init__(self, arrays: Mapping[str, Array], written: int, lineage: Hashable) -> None:
        self._arrays = arrays
        self._written = written
        self._lineage = lineage
        first = next(iter(arrays.values()))
        self._rows = len(first)
        row_bytes = sum(array.nbytes for array in arrays.values()) // self._rows
        self._chunk_rows = max(1, min(CHUNK_ROWS, CHUNK_BYTES // max(1, row_bytes)))

    def __len__(self) -> int:
        return -(-min(self._written, self._rows) // self._chunk_rows)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        return (self.chunk(index) for index in range(len(self)))

    def chunk(self, index: int) -> Mapping[str, Array]:
        start, end = self._bounds(index)
        end = min(end, self._written)
        return {name: array[start:end] for name, array in self._arrays.items()}

    def version(self, index: int) -> Hashable:
        start, end = self._bounds(index)
        laps, position = divmod(self._written, self._rows)
        this_lap = min(max(position - start, 0), end - start)
        return self._lineage, start, laps * (end - start) + this_lap

    def _bounds(self, index: int) -> tuple[int, int]:
        start = index * self._chunk_rows
        return start, min(start + self._chunk_rows, self._rows)


def fill_ring(arrays: Mapping[str, Array], chunks: Iterable[Mapping[str, Array]]) -> int:
    """Put saved chunks back, one at a time, so that memory holds the state only once.

    Returns the number of rows. Raises WorkerError when they do not fit.
    """
    row = 0
    for chunk in chunks:
        count = len(next(iter(chunk.values()), ()))
        for name, array in arrays.items():
            saved = chunk.get(name)
            fits = (
                saved is not None
                and saved.shape == (count, *array.shape[1:])
                and saved.dtype == array.dtype
                and row + count <= len(array)
            )
            if not fits:
                raise WorkerError(
                    f"The saved replay buffer does not fit: {name} is {_form(saved)}, "
                    f"expected rows of {_form(array[0])}, {len(array)} at most",
                    hint="resume with the environment, num_envs and buffer_size it was saved with",
                )
            array[row : row + count] = saved
        row += count
    return row


def _form(array: Array | None) -> str:
    return "missing" if array is None else f"{np.dtype(array.dtype).name} {list(array.shape)}"
