"""Weights and states of trainings: pickles, archives in disguise, tensors that claim too much."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from tests.checkpoint_samples import save_step, weights
from tests.integration.hostile_files.case import CLEAN, Case, content, link, pipe

MODEL = "policy.cleanrl_model"


def torch_bytes(value: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


PLAIN = torch_bytes(weights(1))


def rezipped(
    change: Callable[[str, bytes], bytes],
    compression: int = zipfile.ZIP_STORED,
    source: bytes = PLAIN,
) -> bytes:
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(source)) as archive,
        zipfile.ZipFile(target, "w", compression) as changed,
    ):
        for name in archive.namelist():
            changed.writestr(name, change(name, archive.read(name)))
    return target.getvalue()


def with_pickle(program: bytes) -> Callable[[Path], object]:
    return content(
        MODEL, rezipped(lambda name, data: program if name.endswith("/data.pkl") else data)
    )


def calling(module: str, name: str, *arguments: int) -> Callable[[Path], object]:
    """A state dict whose one weight is what this call returns."""
    pushed = b"".join(b"\x8a\x08" + struct.pack("<q", number) for number in arguments)
    call = f"c{module}\n{name}\n".encode() + b"(" + pushed + b"tR"
    return with_pickle(b"\x80\x02}X\x01\0\0\0a" + call + b"s.")


class RunsACommand:
    def __reduce__(self) -> Any:
        return os.system, ("touch ../canary canary",)


def in_pickle(old: bytes, new: bytes, source: Any) -> Callable[[Path], object]:
    def change(name: str, data: bytes) -> bytes:
        if not name.endswith("/data.pkl"):
            return data
        assert old in data
        return data.replace(old, new, 1)

    return content(MODEL, rezipped(change, source=torch_bytes(source)))


def duplicated() -> bytes:
    target = io.BytesIO(PLAIN)
    with zipfile.ZipFile(target, "a") as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        info = zipfile.ZipInfo(name)
        archive.NameToInfo.clear()  # else it warns, and warnings are errors here
        archive.writestr(info, b"\x80\x02N.")
    return target.getvalue()


def training(name: str, data: bytes) -> Callable[[Path], object]:
    """A checkpoint whose manifest agrees with the forged file."""

    def build(folder: Path) -> None:
        save_step(CheckpointStore(folder, "dqn"), 10)
        state = folder / "dqn.state"
        (state / name).unlink()
        (state / name).write_bytes(data)
        manifest = json.loads((state / "manifest.json").read_text())
        record = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        manifest["generations"][0]["files"][name] = record
        (state / "manifest.json").write_text(json.dumps(manifest))

    return build


def manifest(change: Callable[[Path], object]) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        save_step(CheckpointStore(folder, "dqn"), 10)
        (folder / "dqn.state" / "manifest.json").unlink()
        change(folder / "dqn.state")

    return build


def safetensors(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def described(**tensors: tuple[str, list[int], list[int]]) -> bytes:
    return json.dumps(
        {
            name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            for name, (dtype, shape, offsets) in tensors.items()
        }
    ).encode()


GIGA = 10**9
TENSORS, VALUES = "tensors-10.safetensors", "values-10.json"
DEEP = b"[" * 100_000 + b"]" * 100_000

CASES = [
    Case("weights: nothing wrong", "weights", content(MODEL, PLAIN), CLEAN),
    Case("weights: a tensor made to size", "weights", calling("torch", "FloatTensor", GIGA)),
    Case("weights: a storage made to size", "weights", calling("torch", "FloatStorage", GIGA)),
    Case("weights: an array of bytes", "weights", calling("builtins", "bytearray", GIGA)),
    Case("weights: a tensor of nothing", "weights", calling("torch", "Tensor", 20_000, 20_000)),
    Case(
        "weights: a command",
        "weights",
        content(MODEL, torch_bytes({"a": RunsACommand()})),
        says="posix.system",
    ),
    Case("weights: a bare pickle", "weights", content(MODEL, pickle.dumps({"a": RunsACommand()}))),
    Case(
        "weights: the old format",
        "weights",
        content(MODEL, torch_bytes(weights(1), _use_new_zipfile_serialization=False)),
    ),
    Case(
        "weights: packed zeros",
        "weights",
        content(
            MODEL,
            rezipped(
                lambda name, data: bytes(2**26) if name.endswith("/data/0") else data,
                zipfile.ZIP_DEFLATED,
            ),
        ),
        says="unpack to more",
    ),
    Case(
        "weights: a shape beyond the storage",
        "weights",
        in_pickle(b"K\x03K\x02\x86", b"J\xff\xff\xff\x7fK\x02\x86", weights(1)),
        says="claims more",
    ),
    Case(
        "weights: a stride beyond the storage",
        "weights",
        in_pickle(b"K\x02K\x01\x86", b"J\xff\xff\xff\x7fK\x01\x86", weights(1)),
        says="claims more",
    ),
    Case(
        "weights: a storage beyond its record",
        "weights",
        in_pickle(b"X\x03\0\0\0cpuq\x06K\x06", b"X\x03\0\0\0cpuq\x06J\xff\xff\xff\x7f", weights(1)),
        says="claims more",
    ),
    Case(
        "weights: one number a trillion times",
        "weights",
        content(MODEL, torch_bytes({"a": torch.zeros(1).expand(10**12)})),
        says="larger than the file",
    ),
    Case("weights: two archives in one", "weights", content(MODEL, duplicated())),
    Case("weights: an archive behind another file", "weights", content(MODEL, b"GIF89a" + PLAIN)),
    Case("weights: megabytes of empty lists", "weights", with_pickle(b"\x80\x02" + b"]" * 2**23)),
    Case(
        "weights: a list of empty lists",
        "weights",
        with_pickle(b"\x80\x02](" + b"]" * 900_000 + b"e."),
    ),
    Case("weights: a memory without end", "weights", with_pickle(b"\x80\x02}r\xff\xff\xff\x7f.")),
    Case(
        "weights: bytes without end",
        "weights",
        with_pickle(b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"."),
    ),
    Case("weights: garbage for a pickle", "weights", with_pickle(bytes(range(256)))),
    Case("weights: cut off", "weights", content(MODEL, PLAIN[:-30])),
    Case("weights: pipe", "weights", pipe(MODEL)),
    Case("weights: device", "weights", link(MODEL, "/dev/zero")),
    Case(
        "state: header of 2^60 bytes",
        "training",
        training(TENSORS, safetensors(b"{}", length=2**60)),
        says="header",
    ),
    Case(
        "state: header of ten megabytes",
        "training",
        training(TENSORS, safetensors(b"{" + b" " * 10_000_000 + b"}")),
        says="header",
    ),
    Case("state: header nested deeply", "training", training(TENSORS, safetensors(DEEP))),
    Case(
        "state: tensors that overlap",
        "training",
        training(
            TENSORS,
            safetensors(described(a=("F32", [2], [0, 8]), b=("F32", [2], [4, 12])), bytes(12)),
        ),
    ),
    Case(
        "state: tensors behind the end",
        "training",
        training(TENSORS, safetensors(described(a=("F32", [GIGA], [0, 4 * GIGA])), bytes(12))),
    ),
    Case(
        "state: a shape that does not fit",
        "training",
        training(TENSORS, safetensors(described(a=("F64", [10**18, 10**18], [0, 8])), bytes(8))),
    ),
    Case(
        "state: a type of nobody",
        "training",
        training(TENSORS, safetensors(described(a=("F4096", [1], [0, 8])), bytes(8))),
    ),
    Case("state: values nested deeply", "training", training(VALUES, DEEP)),
    Case(
        "state: values of forty megabytes",
        "training",
        training(VALUES, b" " * 40 * 2**20),
        says="too large",
    ),
    Case("state: a manifest that is a pipe", "training", manifest(pipe("manifest.json"))),
    Case("state: a manifest nested deeply", "training", manifest(content("manifest.json", DEEP))),
    Case(
        "state: a manifest of five megabytes",
        "training",
        manifest(content("manifest.json", b" " * 5 * 2**20)),
        says="too large",
    ),
]
