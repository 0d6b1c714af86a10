"""Any value becomes strict JSON text, and a frozen one never changes afterwards."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.worker.json_text import MAX_ARRAY_ITEMS, encode, freeze, frozen_text, to_json


def refuse(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def decoded(text: str) -> Any:
    assert text.isascii()
    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (-(10**30), -(10**30)),
        (True, True),
        (None, None),
        ("snow ☃ 😀", "snow ☃ 😀"),
        (0.1, 0.1),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float64("inf"), "Infinity"),
        (np.float32(1.5), 1.5),
        (np.float32("nan"), "NaN"),
        (np.int64(7), 7),
        (np.uint8(255), 255),
        (np.bool_(True), True),
        (np.str_("text"), "text"),
        (np.array(5), 5),
        (np.zeros((2, 2), bool), [[False, False], [False, False]]),
        (np.array([1, 2, 3]), [1, 2, 3]),
        (np.array([0.1, math.nan]), [0.1, "NaN"]),
        (np.array([1.0, -math.inf], np.float32), [1.0, "-Infinity"]),
        (np.array([[1.5, 2.5]], np.float32), [[1.5, 2.5]]),
        (np.array([], np.float32), []),
        ((14, 10, 0), [14, 10, 0]),
        ({"image": np.array([1], np.uint8), "mission": "go"}, {"image": [1], "mission": "go"}),
        (OrderedDict(position=np.array([0.5], np.float32)), {"position": [0.5]}),
        ({1: np.int64(2), (3, 4): [math.nan]}, {"1": 2, "(3, 4)": ["NaN"]}),
        ({"deep": [{"deeper": (math.inf,)}]}, {"deep": [{"deeper": ["Infinity"]}]}),
        ({3, 1, 2}, [1, 2, 3]),
        pytest.param({"set": frozenset({"b", "a"})}, {"set": ["a", "b"]}, id="a set of texts"),
        (PurePosixPath("a/b"), "PurePosixPath('a/b')"),
        pytest.param(object(), "<object>", id="an object"),
        ("\ud800", "?"),
        ({"\ud800": "\udfff"}, {"?": "?"}),
        (np.array(["a", "b"]), ["a", "b"]),
    ],
    ids=repr,
)
def test_value_becomes_strict_json(value: Any, expected: Any) -> None:
    assert decoded(encode(value)) == expected
    assert to_json(value) == expected


def test_float32_vector_keeps_every_bit_in_nine_digits() -> None:
    values = np.random.default_rng(0).normal(size=60).astype(np.float32)
    text = encode(values)
    assert np.array_equal(np.array(decoded(text), np.float32), values)
    assert max(len(number) for number in text[1:-1].split(",")) <= 15


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=70))
def test_any_float32_vector_comes_back_exactly(numbers: list[float]) -> None:
    vector = np.array(numbers, np.float32)
    assert np.array_equal(np.array(decoded(encode(vector)), np.float32), vector)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_any_json_like_value_is_encoded_strictly(value: Any) -> None:
    assert decoded(encode(value)) == to_json(value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, bool])
@pytest.mark.parametrize("shape", [(4,), (100,), (7, 7, 3)])
def test_frozen_array_ignores_later_changes(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    frozen = freeze(array)
    array[:] = 0
    assert decoded(frozen_text(frozen)) == np.ones(shape, dtype).tolist()


def test_frozen_dict_ignores_later_changes() -> None:
    observation = {"image": np.ones(3), "inner": {"count": 1}}
    frozen = freeze(observation)
    observation["image"][:] = 0  # type: ignore[index]
    observation["inner"]["count"] = 2  # type: ignore[index]
    assert decoded(frozen_text(frozen)) == {"image": [1, 1, 1], "inner": {"count": 1}}


def test_image_is_described_instead_of_copied() -> None:
    image = np.zeros((96, 96, 3), np.uint8)
    described = decoded(encode(image))
    assert described["shape"] == [96, 96, 3]
    assert described["dtype"] == "uint8"
    image[0, 0, 0] = 1
    assert decoded(encode({"image": image}))["image"]["crc32"] != described["crc32"]
    assert image.size > MAX_ARRAY_ITEMS


def test_value_that_contains_itself_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "..." in encode(endless)


class BrokenRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_value_that_cannot_say_what_it_is_gets_the_name_of_its_type() -> None:
    assert decoded(encode({"odd": BrokenRepr()})) == {"odd": "<BrokenRepr>"}


class Tensor:
    """What torch and jax have in common, without either."""

    dtype = "torch.float32"
    shape = (2,)

    def __len__(self) -> int:
        return 2

    def tolist(self) -> list[float]:
        return [0.5, 1.5]


def test_array_of_another_library_is_recognised_by_its_methods() -> None:
    assert decoded(encode(Tensor())) == [0.5, 1.5]
    assert decoded(encode({"hidden": Tensor()})) == {"hidden": [0.5, 1.5]}
