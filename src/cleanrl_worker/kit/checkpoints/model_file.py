"""`.cleanrl_model` files, laid out as CleanRL's: reading one never executes what is in it.

What is in a file is checked before torch sees it, so that loading takes no more memory than
three times the file and the room for its list of tensors, which is limited.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cleanrl_worker.kit.checkpoints.files import regular_size, unreadable
from cleanrl_worker.kit.checkpoints.pickle_check import MAX_BYTES as MAX_PICKLE_BYTES
from cleanrl_worker.kit.checkpoints.pickle_check import RefusedError, require_weights
from mosaic.errors import CheckpointError, WorkerError
from mosaic.foreign.files import read_regular

Weights = dict[str, Tensor]
MAX_BYTES = 8 * 2**30
_HINT = "give a .cleanrl_model file that CleanRL or MOSAIC saved"
_NO_ARCHIVE = (zipfile.BadZipFile, ValueError, RuntimeError, OverflowError, LookupError, EOFError)
_WANTED = re.compile(r"(?:GLOBAL|class|global) ([\w.]+)")  # what a pickle asked to call


class ModelFile:
    """One module: its state dict. Several: a tuple of state dicts, in this order.

    With `arguments`, a mapping of `model_weights` and `args`, as CleanRL's C51 reads it.
    """

    def __init__(self, *modules: nn.Module, arguments: Mapping[str, Any] | None = None) -> None:
        self.modules = modules
        self.arguments = arguments

    def payload(self) -> Any:
        states = tuple(
            {name: value.detach().cpu() for name, value in module.state_dict().items()}
            for module in self.modules
        )
        weights = states[0] if len(states) == 1 else states
        if self.arguments is None:
            return weights
        return {"model_weights": weights, "args": plain_arguments(self.arguments)}

    def is_finite(self) -> bool:
        """False when a weight is infinite or not a number: such a file is of no use to anybody."""
        return all(
            bool(value.isfinite().all()) for module in self.modules for value in module.parameters()
        )

    def load(self, payload: Any) -> None:
        """Raises WorkerError naming the weights that do not fit."""
        states = split_payload(payload)
        if len(states) < len(self.modules):
            raise WorkerError(
                f"The checkpoint holds {len(states)} networks, {len(self.modules)} are needed",
                hint="it was saved by another algorithm",
            )
        for module, state in zip(self.modules, states, strict=False):
            _refuse_other_shapes(module, state)
            try:
                module.load_state_dict(state)
            except RuntimeError as error:
                raise WorkerError(
                    f"The checkpoint does not fit this network: {error}",
                    hint="it was saved for another environment or algorithm",
                ) from error


def _refuse_other_shapes(module: nn.Module, state: Weights) -> None:
    """The first weights that differ say more than torch's list of all of them."""
    for name, value in module.state_dict().items():
        if name in state and state[name].shape != value.shape:
            old, new = (_sizes(tensor) for tensor in (state[name], value))
            raise WorkerError(
                f"The checkpoint does not fit this network: its {name} is {old}, and {new} is "
                "needed here",
                hint="it was saved for another environment, algorithm or network",
            )


def _sizes(tensor: Tensor) -> str:
    return "×".join(map(str, tensor.shape)) or "one number"


def plain_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those a file without pickle can hold: the numbers, texts and switches."""
    return {
        name: value
        for name, value in arguments.items()
        if value is None or isinstance(value, bool | int | float | str)
    }


def split_payload(payload: Any) -> tuple[Weights, ...]:
    """The state dicts in a file of ours or of CleanRL, whose C51 wraps them with its arguments."""
    if isinstance(payload, Mapping) and "model_weights" in payload:
        payload = payload["model_weights"]
    states = payload if isinstance(payload, tuple | list) else (payload,)
    if not all(_is_weights(state) for state in states) or not any(states):
        raise WorkerError(
            "The file holds no network weights",
            hint="a .cleanrl_model file is a state dict, or a tuple of them",
        )
    return tuple(dict(state) for state in states)


def _is_weights(state: Any) -> bool:
    return isinstance(state, Mapping) and all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()
    )


def load_payload(path: Path) -> Any:
    """The weights alone, laid out as in the file. Raises CheckpointError."""
    size = regular_size(path)
    if size > MAX_BYTES:
        raise CheckpointError(
            f"{path} has {size / 2**30:.0f} GiB: that is no policy network", hint=_HINT
        )
    try:
        data = read_regular(path, size)
    except OSError as error:
        raise unreadable(path, error) from error
    return parse_payload(data, path)


def parse_payload(data: bytes, path: Path) -> Any:
    """The weights in a file's content. Raises CheckpointError naming `path`."""
    try:
        program, storage_bytes = _open_archive(data)
        require_weights(program, storage_bytes)
    except RefusedError as error:
        raise CheckpointError(
            f"{path} is refused: {error}",
            hint=f"such a file could do anything when it is loaded; {_HINT}",
        ) from error
    except _NO_ARCHIVE as error:
        raise CheckpointError(
            f"{path} is no model file, or it was cut off: {error}", hint=_HINT
        ) from error
    try:
        payload = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # a forged file can make the reader fail in any way
        # Not torch's own sentence, which advises to load the file without this protection.
        wanted = _WANTED.search(str(error))
        what = f", {wanted[1]} among them" if wanted else ""
        raise CheckpointError(
            f"{path} is refused: it holds more or other things than weights{what}",
            hint=f"such a file could run commands when it is loaded; {_HINT}",
        ) from error
    try:
        states = split_payload(payload)
    except WorkerError as error:
        raise CheckpointError(f"{path}: {error.message}", hint=error.hint) from error
    for state in states:
        for name, tensor in state.items():
            _require_real(name, tensor, len(data), path)
    return payload


def serialize_payload(payload: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(payload, buffer)
    return buffer.getvalue()


def weight_hash(payload: Any) -> str:
    """SHA-256 of names, types, shapes and bits of all weights: equal hashes, equal policies."""
    digest = hashlib.sha256()
    for index, state in enumerate(split_payload(payload)):
        for name, tensor in sorted(state.items()):
            values = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            title = repr((index, name, str(tensor.dtype), tuple(tensor.shape)))
            digest.update(f"{len(title)}:{title}".encode())
            digest.update(values.numpy().data)
    return digest.hexdigest()


def _open_archive(data: bytes) -> tuple[bytes, dict[str, int]]:
    """The pickle of the archive, and the size of each storage beside it.

    torch stores its records one after the other, as they are; a compressed one, or one that shares
    its bytes with others, could unpack to terabytes.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        records = {record.filename: record for record in archive.infolist()}
        is_plain = all(record.compress_type == zipfile.ZIP_STORED for record in records.values())
        if not is_plain or sum(record.file_size for record in records.values()) > len(data):
            raise RefusedError("it claims to unpack to more than it holds")
        is_whole = min(record.header_offset for record in records.values()) == 0
        if len(records) != len(archive.infolist()) or not is_whole or archive.comment:
            raise RefusedError("it is two archives in one")
        (name,) = (name for name in records if name.endswith("/data.pkl"))
        folder = name.removesuffix("data.pkl") + "data/"
        if records[name].file_size > MAX_PICKLE_BYTES:
            raise RefusedError("its list of tensors is far too long")
        sizes = {
            other.removeprefix(folder): record.file_size
            for other, record in records.items()
            if other.startswith(folder)
        }
        return archive.read(name), sizes


def _require_real(name: str, tensor: Tensor, limit: int, path: Path) -> None:
    """A few bytes can claim to be a tensor of any size by repeating one number."""
    is_real = tensor.layout is torch.strided and tensor.device.type == "cpu"
    if not is_real or tensor.numel() * tensor.element_size() > limit:
        raise CheckpointError(
            f"{path} is refused: {name[:80]} claims to be larger than the file", hint=_HINT
        )
