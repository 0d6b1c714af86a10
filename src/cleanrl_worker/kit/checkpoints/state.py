"""The state of a training: what it is made of, and how it becomes tensors and a JSON tree.

Without loss and without pickle. In the tree, JSON values stand for themselves and an object
with one `$` key for what JSON lacks. Big parts come in chunks, so that a checkpoint rewrites
only those that changed since the last one.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor

from mosaic.errors import WorkerError

Array = NDArray[Any]

CHUNK_ROWS = 2**14
CHUNK_BYTES = 32 * 2**20
MAX_HEADER_BYTES = 8 * 2**20  # about a hundred for each tensor; its reader allows far more
_HEADER_LENGTH_BYTES = 8
_EXACT_IN_JSON = 2**53  # readers other than Python's keep integers as doubles
_SAFETENSORS_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}


class Stateful(Protocol):
    """Modules and optimisers of torch fit, and so do our environments, buffers and normalisers.

    A state is made of mappings with string keys, lists, torch tensors, numpy arrays and JSON
    scalars (integers of any size included); nothing else, so that no checkpoint needs pickle.
    """

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state: Any, /) -> Any: ...


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


class RawTensor(NamedTuple):
    dtype: str  # as safetensors names it
    shape: tuple[int, ...]
    data: memoryview  # of its bytes


class EncodedState(NamedTuple):
    tree: Any
    tensors: dict[str, RawTensor]


def encode_state(state: Any, keep_chunks: Callable[[ChunkedState], Any]) -> EncodedState:
    """`keep_chunks` stores a chunked part elsewhere and returns its JSON place holder.

    Raises TypeError naming the place of a value that no checkpoint can hold.
    """
    tensors: dict[str, RawTensor] = {}

    def keep_tensor(tag: str, tensor: RawTensor, path: str) -> dict[str, str]:
        # safetensors wants valid UTF-8 and keeps one name for itself.
        wanted = path.removeprefix("/").encode("ascii", "backslashreplace").decode() or "value"
        name, count = wanted, 1
        while name in tensors or name == "__metadata__":
            count += 1
            name = f"{wanted}#{count}"
        tensors[name] = tensor
        return {tag: name}

    def encode_key(key: Any, path: str) -> Any:
        if key is None or isinstance(key, bool | int | str):
            return encode(key, path)
        raise TypeError(f"{path}: a checkpoint cannot hold a key of type {type(key).__name__}")

    def encode(value: Any, path: str) -> Any:
        match value:
            case None | bool() | str():
                return value
            case np.generic():
                return keep_tensor("$scalar", _raw_array(np.asarray(value), path), path)
            case int():
                return int(value) if abs(value) < _EXACT_IN_JSON else {"$int": hex(value)}
            case float():
                finite = math.isfinite(value)
                return value if finite else {"$float": struct.pack(">d", value).hex()}
            case Tensor():
                return keep_tensor("$tensor", _raw_tensor(value, path), path)
            case np.ndarray():
                return keep_tensor("$array", _raw_array(value, path), path)
            case Mapping():
                pairs = [(key, encode(item, f"{path}/{key}")) for key, item in value.items()]
                if all(isinstance(key, str) and not key.startswith("$") for key, _ in pairs):
                    return dict(pairs)
                return {"$mapping": [[encode_key(key, path), item] for key, item in pairs]}
            case list():
                return [encode(item, f"{path}/{index}") for index, item in enumerate(value)]
            case tuple():
                return {"$tuple": encode(list(value), path)}
            case ChunkedState():
                return {"$chunks": keep_chunks(value)}
        raise TypeError(f"{path or 'the state'}: a checkpoint cannot hold a {type(value).__name__}")

    return EncodedState(encode(state, ""), tensors)


def decode_state(
    tree: Any, tensors: Mapping[str, Tensor], open_chunks: Callable[[Any], Iterable[Any]]
) -> Any:
    """What `encode_state` was given. Raises ValueError when the tree is not one of its making."""

    def tensor(name: Any) -> Tensor:
        found = tensors.get(name) if isinstance(name, str) else None
        if found is None:
            raise ValueError(f"the tensor {str(name)[:80]!r} is missing")
        return found

    def decode(node: Any) -> Any:
        if isinstance(node, list):
            return [decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        tag = next(iter(node), "")
        if len(node) != 1 or not tag.startswith("$"):
            return {key: decode(item) for key, item in node.items()}
        content = node[tag]
        match tag:
            case "$scalar":
                return tensor(content).numpy()[()]
            case "$array":
                return tensor(content).numpy()
            case "$tensor":
                return tensor(content)
            case "$int":
                return int(content, 16)
            case "$float":
                return struct.unpack(">d", bytes.fromhex(content))[0]
            case "$tuple":
                return tuple(decode(item) for item in content)
            case "$mapping":
                return {decode(key): decode(item) for key, item in content}
            case "$chunks":
                return open_chunks(content)
        raise ValueError(f"unknown tag {tag[:80]!r}")

    try:
        return decode(tree)
    except (TypeError, struct.error, RecursionError) as error:
        raise ValueError(f"the tree of values is malformed: {error}") from error


# ---- safetensors -------------------------------------------------------------------------------


def raw_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, RawTensor]:
    return {name: _raw_array(array, name) for name, array in arrays.items()}


def safetensors_pieces(tensors: Mapping[str, RawTensor]) -> Iterator[bytes | memoryview]:
    """The file piece by piece, so that no tensor is copied to be written."""
    # Wide types first keeps every tensor aligned, as the format wishes.
    ordered = sorted(tensors.items(), key=lambda item: (-_itemsize(item[1]), item[0]))
    header, end = {}, 0
    for name, tensor in ordered:
        start, end = end, end + tensor.data.nbytes
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield struct.pack("<Q", len(text)) + text
    for _, tensor in ordered:
        yield tensor.data


def parse_safetensors(data: bytes) -> dict[str, Tensor]:
    """Raises ValueError when these are no safetensors."""
    header = int.from_bytes(data[:_HEADER_LENGTH_BYTES], "little")
    if header > min(MAX_HEADER_BYTES, len(data)):
        raise ValueError("no valid safetensors: its header is longer than one can be")
    try:
        return safetensors.torch.load(data)
    except (SafetensorError, RuntimeError, ValueError, KeyError) as error:
        raise ValueError(f"no valid safetensors: {error}") from error


def _itemsize(tensor: RawTensor) -> int:
    return tensor.data.nbytes // max(1, math.prod(tensor.shape))


def _raw_array(array: NDArray[Any], path: str) -> RawTensor:
    dtype = _SAFETENSORS_NAMES.get(array.dtype.name)
    if dtype is None or type(array) is not np.ndarray or not array.dtype.isnative:
        raise TypeError(f"{path}: a checkpoint cannot hold an array of {array.dtype}")
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return RawTensor(dtype, array.shape, data.data)


def _raw_tensor(tensor: Tensor, path: str) -> RawTensor:
    dtype = _SAFETENSORS_NAMES.get(str(tensor.dtype).removeprefix("torch."))
    if dtype is None or tensor.layout is not torch.strided:
        raise TypeError(f"{path}: a checkpoint cannot hold a tensor of {tensor.dtype}")
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return RawTensor(dtype, tuple(tensor.shape), data.data)
