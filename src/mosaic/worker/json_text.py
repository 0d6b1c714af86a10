"""Any value a worker may hand over, as compact strict JSON text in ASCII.

Telemetry must never end a training: what JSON cannot say becomes a string that says it.
Environments reuse their buffers, so `freeze` takes what a value holds now, as cheaply as it can,
and `frozen_text` makes JSON of it later, in another thread; `encode` does both at once.
Non-finite numbers become "NaN", "Infinity" and "-Infinity". Arrays of numpy, torch and jax are
recognised by their `tolist` and `dtype`, so none of them is imported here.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from collections.abc import Callable
from json import encoder as json_encoder
from typing import Any

from mosaic.contracts.events import number_to_json

MAX_DEPTH = 32
# A larger array (an image, say) is described, not copied: replay re-creates it from the seed.
MAX_ARRAY_ITEMS = 4096
# Up to here an array is copied at once and encoded later; beyond, copies would fill the memory.
SMALL_ARRAY_ITEMS = 64
_MAX_DESCRIPTION = 200


class JsonText(str):
    """JSON already, in ASCII and one line: whoever reports a great deal can make its text from a
    template. It is written as it is."""

    __slots__ = ()


# JSON text, a whole number, the numbers of a float32 vector, or plain lists of our own.
Frozen = str | int | tuple[float, ...] | list[Any]


def to_json(value: Any, depth: int = 0) -> Any:
    """The same value made of dict, list, str, int, finite float, bool and None only."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _unicode(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return number_to_json(float(value))
    if depth == MAX_DEPTH:
        return "..."
    if isinstance(value, dict):
        return {_unicode(str(key)): to_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)  # a fixed order, so that equal runs write equal journals
    if isinstance(value, list | tuple):
        return [to_json(item, depth + 1) for item in value]
    if hasattr(value, "tolist"):
        plain = _plain_array(value)
        if type(plain) is not type(value):
            return to_json(plain, depth + 1)
    return _described(value)


def freeze(value: Any) -> Frozen:
    """What the value holds at this moment: one look-up by its type, then the cheapest copy."""
    kind = type(value)
    freezer = _FREEZERS.get(kind)
    if freezer is None:
        freezer = _FREEZERS[kind] = _choose_freezer(kind)
    return freezer(value)


def frozen_text(frozen: Frozen) -> str:
    kind = frozen.__class__
    if kind is str:
        return frozen  # type: ignore[return-value]
    if kind is tuple:
        return _float32_text(frozen)  # type: ignore[arg-type]
    return repr(frozen) if kind is int else _encode_any(frozen)


def encode(value: Any) -> str:
    """JSON text of any value."""
    return frozen_text(freeze(value))


def encode_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{number_to_json(value)}"'


def _choose_freezer(kind: type) -> Callable[[Any], Frozen]:
    if issubclass(kind, bool | type(None)):
        return _encode_any
    if issubclass(kind, int):
        return int
    if issubclass(kind, float):
        return _encode_float
    if hasattr(kind, "tolist") and hasattr(kind, "dtype"):
        if hasattr(kind, "__len__"):
            return _make_array_freezer()
        # numpy's integers; `int()` is several times faster than their `item()`.
        if hasattr(kind, "__index__"):
            return int
    return _encode_any


# What is already text becomes a plain `str` again, by which `frozen_text` knows it.
_FREEZERS: dict[type, Callable[[Any], Frozen]] = {JsonText: str.__str__}


def _encode_float(value: float) -> str:
    return encode_number(float(value))


def _make_array_freezer() -> Callable[[Any], Frozen]:
    # Whoever has an array of numpy has imported numpy; comparing dtypes by identity is cheapest.
    numpy: Any = sys.modules.get("numpy")
    float32 = numpy.dtype("float32") if numpy else None

    def freeze_array(value: Any) -> Frozen:
        shape = value.shape
        if len(shape) == 1 and shape[0] <= SMALL_ARRAY_ITEMS:
            plain: list[Any] = value.tolist()
            return tuple(plain) if value.dtype is float32 else plain
        return _encode_any(_plain_array(value))

    return freeze_array


def _float32_text(numbers: tuple[float, ...]) -> str:
    count = len(numbers)
    template = _TEMPLATES.get(count)
    if template is None:
        # Nine digits hold a float32 exactly, in half the space and the time of a double's.
        template = _TEMPLATES[count] = "[" + ",".join(["%.9g"] * count) + "]"
    text = template % numbers
    return _encode_any(numbers) if "n" in text else text  # as in nan and inf


_TEMPLATES: dict[int, str] = {}


def _encode_any(value: Any) -> str:
    try:
        text = _strict_text(value)
    except (ValueError, TypeError, RecursionError):
        return json.dumps(to_json(value), separators=(",", ":"))
    # An escaped surrogate may be half of a pair, which readers refuse.
    if "\\ud" in text:
        return json.dumps(to_json(value), separators=(",", ":"))
    return text


def _json_default(value: Any) -> Any:
    return _plain_array(value) if hasattr(value, "tolist") else to_json(value)


def _make_strict_text() -> Callable[[Any], str]:
    """`json.dumps` builds its encoder anew at every call, which costs more than the encoding."""
    make = getattr(json_encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(
            separators=(",", ":"), allow_nan=False, check_circular=False, default=_json_default
        ).encode
    quote = json_encoder.encode_basestring_ascii
    chunks = make(None, _json_default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


_strict_text = _make_strict_text()


def _plain_array(value: Any) -> Any:
    """Lists and numbers; a description where there would be too many of them."""
    shape = tuple(getattr(value, "shape", ()))
    if math.prod(shape) <= MAX_ARRAY_ITEMS:
        return value.tolist()
    described: dict[str, Any] = {
        "dtype": str(value.dtype),
        "shape": [int(length) for length in shape],
    }
    if hasattr(value, "tobytes"):
        described["crc32"] = zlib.crc32(value.tobytes())
    return described


def _described(value: Any) -> str:
    # An address would make two runs with the same seed differ.
    kind: Any = type(value)
    if kind.__repr__ is object.__repr__:
        return f"<{kind.__qualname__}>"
    try:
        return _unicode(repr(value)[:_MAX_DESCRIPTION])
    except Exception:  # noqa: BLE001 (foreign code: a broken repr must not stop the journal)
        return f"<{kind.__qualname__}>"


def _unicode(text: str) -> str:
    """Lone surrogates are not Unicode text."""
    return text.encode("utf-8", "replace").decode()
