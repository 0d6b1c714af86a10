"""A checkpoint as one file in the outer form of safetensors: arrays, and all else as JSON.

No pickle: nothing in such a file is run, whoever wrote it. A digest over all of its content tells
a damaged one. Reading the head alone needs no numpy.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import CheckpointError
from mosaic.files import atomic_write
from mosaic.foreign.files import open_regular

SUFFIX = ".qtable"
FORMAT = "mosaic-qtable"
VERSION = 1
MAX_BYTES = 8 * 2**30
_MAX_HEADER_BYTES = 256 * 2**20
_LENGTH_BYTES = 8
_ARRAY = "\0array"  # the key of what stands for an array in the JSON
_KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U8": "|u1", "BOOL": "|b1"}


def write_tables(path: Path, state: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Write state (with its arrays) and what is to be known of it; returns the file's SHA-256."""
    arrays: list[Any] = []
    tree = _without_arrays(state, arrays)
    names = {kind: name for name, kind in _KINDS.items()}
    header: dict[str, Any] = {}
    data = bytearray()
    for number, array in enumerate(arrays):
        start = len(data)
        data += array.tobytes()
        header[f"array-{number}"] = {
            "dtype": names[array.dtype.str],
            "shape": list(array.shape),
            "data_offsets": [start, len(data)],
        }
    about_text, tree_text = json.dumps(about), json.dumps(tree)
    header["__metadata__"] = {
        "format": FORMAT,
        "version": str(VERSION),
        "about": about_text,
        "state": tree_text,
        "sha256": _digest(header, about_text, tree_text, data),
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    content = len(text).to_bytes(_LENGTH_BYTES, "little") + text + bytes(data)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(path, content)
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path.name} cannot be written: {error.strerror}",
            hint="free some space, or give the run another home",
        ) from error
    return hashlib.sha256(content).hexdigest()


def read_about(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself, without its arrays. Raises CheckpointError."""
    with _opened(path) as file:
        about: dict[str, Any] = _parsed(_read_header(file, path)["__metadata__"]["about"], path)
    return about


def read_tables(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """State and what is to be known of it. Raises CheckpointError for what is damaged."""
    with _opened(path) as file:
        header = _read_header(file, path)
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise _damaged(path, "it is far too large")
        data = file.read()
    metadata = header.pop("__metadata__")
    wanted = _digest(header, metadata["about"], metadata["state"], data)
    if metadata.get("sha256") != wanted:
        raise _damaged(path, "its content is not what was written")
    try:
        arrays = [_array(header[f"array-{number}"], data) for number in range(len(header))]
        state = _with_arrays(_parsed(metadata["state"], path), arrays)
    except (LookupError, TypeError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(state, dict):
        raise _damaged(path, "it has no state")
    return state, _parsed(metadata["about"], path)


def _without_arrays(value: Any, arrays: list[Any]) -> Any:
    if hasattr(value, "tobytes"):
        if value.ndim == 0:
            return value.item()
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, Mapping):
        return {str(key): _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, arrays) for item in value]
    return value


def _array(entry: Mapping[str, Any], data: bytes) -> Any:
    import numpy as np

    start, end = entry["data_offsets"]
    shape, kind = tuple(map(int, entry["shape"])), np.dtype(_KINDS[entry["dtype"]])
    if not 0 <= start <= end <= len(data) or min(shape, default=0) < 0:
        raise ValueError("an array lies outside of the file")
    if math.prod(shape) * kind.itemsize != end - start:
        raise ValueError("an array has another size than it says")
    return np.frombuffer(data[start:end], dtype=kind).reshape(shape).copy()


def _digest(header: Mapping[str, Any], about: str, tree: str, data: bytes | bytearray) -> str:
    digest = hashlib.sha256()
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    for part in (json.dumps(entries, sort_keys=True).encode(), about.encode(), tree.encode(), data):
        digest.update(len(part).to_bytes(_LENGTH_BYTES, "little"))
        digest.update(part)
    return digest.hexdigest()


def _opened(path: Path) -> Any:
    try:
        return os.fdopen(open_regular(path), "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(
            f"The checkpoint {path} cannot be read: {reason}",
            hint=f"give the path of a {SUFFIX} file",
        ) from error


def _read_header(file: Any, path: Path) -> dict[str, Any]:
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    size = os.fstat(file.fileno()).st_size
    if not 0 < length <= min(size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
        raise _foreign(path)
    header = _parsed(file.read(length), path)
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise _foreign(path)
    if metadata.get("version") != str(VERSION):
        raise CheckpointError(
            f"The checkpoint {path.name} is of version {metadata.get('version')!r}, not {VERSION}",
            hint="use the version of MOSAIC that wrote it",
        )
    if not all(isinstance(metadata.get(name), str) for name in ("about", "state")):
        raise _damaged(path, "it does not say what it is")
    found: dict[str, Any] = header
    return found


def _parsed(text: str | bytes, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "its header cannot be read") from error


def _foreign(path: Path) -> CheckpointError:
    return CheckpointError(
        f"{path.name} is no checkpoint of the BDI worker",
        hint=f"give a {SUFFIX} file of such a run",
    )


def _damaged(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint {path.name} is damaged: {reason}", hint="take another one of the run"
    )
