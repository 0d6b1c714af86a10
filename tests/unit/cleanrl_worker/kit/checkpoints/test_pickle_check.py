"""Everything torch.save makes of a state dict passes; everything beside it does not."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from cleanrl_worker.kit.checkpoints.model_file import parse_payload, serialize_payload
from cleanrl_worker.kit.checkpoints.pickle_check import RefusedError, require_weights
from mosaic.errors import CheckpointError

PATH = Path("policy.cleanrl_model")
DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32),
    *(
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
        torch.complex64,
        torch.uint16,
        torch.uint32,
    ),
]


def pickle_of(data: bytes) -> tuple[bytes, dict[str, int]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/data.pkl"))
        folder = name.removesuffix("data.pkl") + "data/"
        sizes = {
            info.filename.removeprefix(folder): info.file_size
            for info in archive.infolist()
            if info.filename.startswith(folder)
        }
        return archive.read(name), sizes


def shared_storage() -> dict[str, torch.Tensor]:
    base = torch.arange(24.0).reshape(4, 6)
    return {"all": base, "rows": base[1:3], "turned": base.T, "none": base[:0], "one": base[0, 0]}


@pytest.mark.parametrize(
    "payload",
    [
        nn.Sequential(nn.Conv2d(4, 32, 8), nn.BatchNorm2d(32), nn.Linear(3, 2)).state_dict(),
        OrderedDict(a=nn.Parameter(torch.ones(3))),
        tuple(nn.Linear(2, 2).state_dict() for _ in range(3)),
        {str(dtype): torch.ones(3, 2).to(dtype) for dtype in DTYPES},
        shared_storage(),
        {
            "model_weights": {"a": torch.ones(1)},
            "args": {"lr": 1e-3, "n": [1, None], "s": "ä" * 300},
        },
    ],
    ids=["module", "parameter", "several", "types", "shared", "with arguments"],
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_weights_of_every_kind_load(payload: Any, protocol: int) -> None:
    buffer = io.BytesIO()
    torch.save(payload, buffer, pickle_protocol=protocol)
    if protocol == 2:  # torch itself reads no other without a warning
        assert str(parse_payload(buffer.getvalue(), PATH)) == str(payload)
    else:
        require_weights(*pickle_of(buffer.getvalue()))


def test_hundreds_of_layers_are_no_problem() -> None:
    state = {f"layers.{index}.weight": torch.zeros(1) for index in range(3000)}
    assert len(parse_payload(serialize_payload(state), PATH)) == 3000


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_pickle_passes_or_is_refused_and_torch_agrees(data: st.DataObject) -> None:
    whole = serialize_payload({"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)})
    program, sizes = pickle_of(whole)
    changed = bytearray(program)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        require_weights(bytes(changed), sizes)
    except RefusedError:
        return
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, changed if name.endswith("/data.pkl") else old.read(name))
    try:
        parse_payload(target.getvalue(), PATH)
    except CheckpointError as error:
        assert str(PATH) in error.message


def test_a_name_with_an_escape_that_means_nothing_is_damage() -> None:
    with pytest.raises(RefusedError, match="damaged"):
        require_weights(b"ct\\orch\n_utils\n.", {})


def test_calls_of_any_other_function_are_named() -> None:
    for protocol in (2, 3, 4, 5):
        with pytest.raises(RefusedError, match=r"builtins?_*\.print among them"):
            require_weights(pickle.dumps(print, protocol), {})
