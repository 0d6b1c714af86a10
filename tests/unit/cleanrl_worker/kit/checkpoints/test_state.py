"""State encoding: whatever a training is made of comes back bit for bit, with its types."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import nn

from cleanrl_worker.kit.checkpoints.state import (
    RingChunks,
    decode_state,
    encode_state,
    parse_safetensors,
    safetensors_pieces,
)

ARRAY_TYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ARRAY_TYPES += ["float16", "float32", "float64"]
TORCH_TYPES = [getattr(torch, name) for name in [*ARRAY_TYPES, "bfloat16"]]

arrays = st.sampled_from(ARRAY_TYPES).flatmap(
    lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    dtype = draw(st.sampled_from(TORCH_TYPES))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    size = dtype.itemsize
    limit = 1 if dtype == torch.bool else 255
    count = math.prod(shape) * size
    data = draw(st.lists(st.integers(0, limit), min_size=count, max_size=count))
    flat = torch.tensor(data, dtype=torch.uint8)
    return flat.view(dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=8)
    | st.text(alphabet="\ud800/$#_", max_size=3)
)
numpy_scalars = arrays.filter(lambda array: array.ndim == 0).map(lambda array: array[()])
keys = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("__metadata__")
states = st.recursive(
    scalars | arrays | tensors() | numpy_scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


def no_chunks(value: Any) -> Any:
    raise AssertionError("no chunked state here")


def round_trip(state: Any) -> Any:
    """Through real bytes: JSON text and a safetensors file."""
    encoded = encode_state(state, no_chunks)
    pieces = safetensors_pieces(encoded.tensors)
    data = b"".join(piece if isinstance(piece, bytes) else piece.tobytes() for piece in pieces)
    tree = json.loads(json.dumps(encoded.tree, allow_nan=False))
    return decode_state(tree, parse_safetensors(data), no_chunks)


def fingerprint(value: Any) -> Any:
    """Equal only for states that agree in every type, key order and bit."""
    if isinstance(value, torch.Tensor):
        data = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return "tensor", str(value.dtype), tuple(value.shape), data
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    if isinstance(value, dict):
        return "dict", [(fingerprint(key), fingerprint(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [fingerprint(item) for item in value]
    if isinstance(value, float):
        return float, struct.pack(">d", value)
    return type(value), value


@settings(max_examples=300, deadline=None)
@given(states)
def test_every_state_comes_back_bit_for_bit(state: Any) -> None:
    assert fingerprint(round_trip(state)) == fingerprint(state)


@pytest.mark.parametrize(
    "value",
    [
        -0.0,
        math.inf,
        struct.unpack(">d", bytes.fromhex("fff8000000001234"))[0],
        2**53,
        -(2**53),
        [10**5000],  # beyond what int() reads in decimal
        np.float64(math.nan),
        np.bool_(True),
        torch.tensor(3.5),
        torch.arange(12).reshape(3, 4).T,
        np.arange(12).reshape(3, 4)[:, ::-2],
        {1: {"a": ()}, "1": [], None: 0, "$tuple": [1]},
        {"$array": "not a tag"},
        {"a/b": torch.ones(1), "a": {"b": torch.zeros(1)}},
    ],
)
def test_awkward_values_come_back(value: Any) -> None:
    assert fingerprint(round_trip(value)) == fingerprint(value)


def test_optimisers_and_random_generators_go_on_from_their_decoded_state() -> None:
    network = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    network(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = round_trip(optimizer.state_dict())
    assert list(state["state"]) == [0, 1]  # integers, as torch needs them
    other = torch.optim.Adam(network.parameters(), lr=0.5)
    other.load_state_dict(state)
    assert fingerprint(dict(other.state_dict())) == fingerprint(dict(optimizer.state_dict()))

    for kind in (np.random.PCG64, np.random.MT19937):
        rng = np.random.Generator(kind(7))
        rng.random(3)
        twin = np.random.Generator(kind(8))
        twin.bit_generator.state = round_trip(rng.bit_generator.state)
        assert twin.random() == rng.random()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a": {"b": b"bytes"}}, "/a/b: a checkpoint cannot hold a bytes"),
        ([{1, 2}], "/0: a checkpoint cannot hold a set"),
        (object(), "the state: a checkpoint cannot hold a object"),
        ({"a": np.array(["text"])}, "/a: a checkpoint cannot hold an array of <U4"),
        ({"a": np.zeros(2, ">f4")}, "/a: a checkpoint cannot hold an array of >f4"),
        ({"a": np.ma.masked_array([1], [True])}, "/a: a checkpoint cannot hold an array"),
        ({"a": np.zeros(1, np.complex128)}, "/a: a checkpoint cannot hold an array of complex128"),
        ({"a": torch.eye(2).to_sparse()}, "/a: a checkpoint cannot hold a tensor"),
        ({"a": {(1, 2): 3}}, "/a: a checkpoint cannot hold a key of type tuple"),
        ({"a": {1.5: 3}}, "/a: a checkpoint cannot hold a key of type float"),
    ],
)
def test_what_cannot_be_stored_is_named_with_its_place(state: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        encode_state(state, no_chunks)
    assert message in str(caught.value)


def test_chunked_parts_are_handed_over_at_any_depth() -> None:
    chunks = RingChunks({"rows": np.arange(3)}, 3, "ring")
    kept = []

    def keep(value: Any) -> list[str]:
        kept.append(value)
        return ["file"]

    encoded = encode_state({"deep": [{"buffer": chunks}]}, keep)
    assert kept == [chunks]
    decoded = decode_state(encoded.tree, {}, lambda names: [f"opened {name}" for name in names])
    assert decoded == {"deep": [{"buffer": ["opened file"]}]}


@pytest.mark.parametrize(
    "tree",
    [
        {"$tensor": "missing"},
        {"$array": ["a", "list"]},
        {"$python": "os.system"},
        {"$int": 5},
        {"$int": "xyz"},
        {"$float": "00"},
        {"$float": "zz"},
        {"$tuple": 3},
        {"$mapping": [[1]]},
        {"$mapping": [[{"a": 1}, 2]]},
    ],
    ids=repr,
)
def test_a_forged_tree_is_refused(tree: Any) -> None:
    with pytest.raises(ValueError, match=r"missing|unknown tag|malformed|invalid|non-hex|values"):
        decode_state(tree, {}, no_chunks)


def test_a_tree_nested_without_end_is_refused() -> None:
    tree: Any = 1
    for _ in range(100_000):
        tree = [tree]
    with pytest.raises(ValueError, match="malformed"):
        decode_state(tree, {}, no_chunks)


def test_garbage_is_no_safetensors() -> None:
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4000]}}'
    claims_too_much = struct.pack("<Q", len(header)) + header + bytes(8)
    for data in (b"", b"\0" * 7, b"\xff" * 64, struct.pack("<Q", 2**60) + b"{}", claims_too_much):
        with pytest.raises(ValueError, match="no valid safetensors"):
            parse_safetensors(data)
