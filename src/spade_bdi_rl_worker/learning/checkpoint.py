"""Saved tables: a folder with arrays, values and a manifest, which says what each file has to be.

`arrays.npz` would be a zip of what `numpy.save` writes; here each array is a plain `.npy` without
pickle, so that nothing in a checkpoint can run. The manifest is replaced last, in one step: a
crash at any moment leaves the old checkpoint or the new one. Files are named by their content, so
the new ones are beside the old ones until then.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write, atomic_write_json, make_directory, read_bounded
from mosaic.foreign.files import parse_plain_json
from spade_bdi_rl_worker.learning.errors import TablesError

MANIFEST = "tables.json"
FORMAT, VERSION = "mosaic-q-tables", 1
MOST_BYTES = 2 * 2**30  # of all arrays together
_MOST_MANIFEST_BYTES = 4_000_000
_MOST_VALUES_BYTES = 512 * 2**20
_NAME = re.compile(r"(array|values)-[0-9a-f]{16}\.(npy|json)")
_KINDS = ("f8", "i8", "u1")  # what tables and what belongs to them are made of
_ARRAY_KEY = "__array__"  # in place of an array, in the values: its number


@dataclass(frozen=True)
class SavedTables:
    """`state` is what `QLearningRuntime.state_dict` gave; `description` is for people and cards."""

    state: dict[str, Any]
    description: dict[str, Any]
    folder: Path


def save_tables(
    folder: Path, state: Mapping[str, Any], description: Mapping[str, Any] | None = None
) -> Path:
    """Returns the manifest's path. Raises TablesError when the disk is full or fails."""
    arrays: list[np.ndarray[Any, Any]] = []
    tree = _without_arrays(state, arrays)
    files: dict[str, dict[str, Any]] = {}
    order: list[str] = []
    try:
        make_directory(folder)
        for array in arrays:
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
            order.append(_write(folder, "array", "npy", buffer.getvalue(), files))
        text = json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()
        values = _write(folder, "values", "json", text, files)
        atomic_write_json(
            folder / MANIFEST,
            {
                "format": FORMAT,
                "version": VERSION,
                "description": dict(description or {}),
                "values": values,
                "arrays": order,
                "files": files,
            },
        )
        _delete_others(folder, files)
    except OSError as error:
        raise TablesError(
            f"The tables could not be saved in {folder}: {error.strerror or error}",
            hint="make room on the disk; what was saved before stays",
        ) from error
    return folder / MANIFEST


def load_tables(path: Path) -> SavedTables:
    """`path`: the folder or its manifest. Raises TablesError that names what is damaged."""
    folder = path.parent if path.name == MANIFEST else path
    manifest = read_manifest(folder)
    files = manifest["files"]
    total = sum(record["size"] for record in files.values())
    if total > MOST_BYTES:
        raise TablesError(
            f"The tables in {folder} have {total:,} bytes; {MOST_BYTES:,} can be read",
            hint="these are no tables of a worker of MOSAIC",
        )
    data = {name: _read(folder, name, record) for name, record in files.items()}
    try:
        arrays = [_array(data[name], name) for name in manifest["arrays"]]
        tree = json.loads(data[manifest["values"]])
        state = _with_arrays(tree, arrays)
    except TablesError:
        raise
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(folder / MANIFEST, f"it does not fit its files: {error}") from error
    return SavedTables(cast(dict[str, Any], state), manifest["description"], folder)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a checkpoint says of itself; reads nothing else, so it is quick."""
    path = folder / MANIFEST
    try:
        text = read_bounded(path, _MOST_MANIFEST_BYTES)
    except (OSError, CorruptStoreError) as error:
        raise TablesError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
            hint="check the file, or take another checkpoint",
        ) from error
    if text is None:
        raise TablesError(
            f"There are no saved tables in {folder}: {MANIFEST} is missing",
            hint="give the folder of a checkpoint",
        )
    try:
        manifest = parse_plain_json(text)
        _check(manifest)
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    return cast(dict[str, Any], manifest)


def _check(manifest: Any) -> None:
    """Raises ValueError that says what is wrong."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError("it is no manifest of tables")
    if manifest.get("version") != VERSION:
        raise ValueError(f"it is of version {manifest.get('version')!r}, not {VERSION}")
    files, order = manifest.get("files"), manifest.get("arrays")
    parts = ((files, dict), (order, list), (manifest.get("description"), dict))
    if not all(isinstance(part, kind) for part, kind in parts):
        raise ValueError("it lists no files, or has no description")
    assert isinstance(files, dict)
    assert isinstance(order, list)
    for name, record in files.items():
        is_record = isinstance(record, dict) and isinstance(record.get("sha256"), str)
        size = record.get("size") if is_record else None
        if not _NAME.fullmatch(name) or not isinstance(size, int) or size < 0:
            raise ValueError(f"it names a file that is none of a checkpoint: {name[:60]!r}")
    for name in (*order, manifest.get("values")):
        if not isinstance(name, str) or name not in files:
            raise ValueError("it names a file of which it has no hash")


def _write(
    folder: Path, kind: str, ending: str, data: bytes, files: dict[str, dict[str, Any]]
) -> str:
    digest = hashlib.sha256(data).hexdigest()
    name = f"{kind}-{digest[:16]}.{ending}"
    if name not in files:
        atomic_write(folder / name, data)
    files[name] = {"sha256": digest, "size": len(data)}
    return name


def _read(folder: Path, name: str, record: Mapping[str, Any]) -> bytes:
    path = folder / name
    try:
        data = read_bounded(path, record["size"])
    except (OSError, CorruptStoreError) as error:
        raise _damaged(path, getattr(error, "strerror", None) or str(error)) from error
    if data is None:
        raise _damaged(path, "it is missing")
    if len(data) != record["size"]:
        raise _damaged(path, f"it has {len(data):,} bytes in place of {record['size']:,}")
    if hashlib.sha256(data).hexdigest() != record["sha256"]:
        raise _damaged(path, "its content is not what was saved (SHA-256 differs)")
    return data


def _damaged(path: Path, problem: str) -> TablesError:
    return TablesError(
        f"The saved tables are damaged: {path.name} in {path.parent}: {problem}",
        hint="take another checkpoint",
    )


def _array(data: bytes, name: str) -> np.ndarray[Any, Any]:
    """Raises ValueError. The header is read first: it may claim any size."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"{name} is of another version of numpy's format")
    shape, in_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or dtype.str[1:] not in _KINDS or in_columns:
        raise ValueError(f"{name} holds {dtype}, which no table does")
    count = 1
    for size in shape:
        count *= size
    if count * dtype.itemsize != len(data) - stream.tell():
        raise ValueError(f"{name} is not as long as it says")
    array = np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=True)


def _without_arrays(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY_KEY: len(arrays) - 1}
    if isinstance(value, Mapping):
        return {str(key): _without_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(part, arrays) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _with_arrays(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, dict):
        if set(value) == {_ARRAY_KEY}:
            return arrays[int(value[_ARRAY_KEY])]
        return {key: _with_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_arrays(part, arrays) for part in value]
    return value


def _delete_others(folder: Path, files: Mapping[str, Any]) -> None:
    for path in _own_files(folder):
        if path.name not in files:
            with contextlib.suppress(OSError):
                path.unlink()


def _own_files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if _NAME.fullmatch(path.name))
