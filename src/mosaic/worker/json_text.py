"""Any value a worker may hand over, as compact strict JSON text in ASCII.

Telemetry must never end a training: what JSON cannot say becomes a string that says it.
Non-finite numbers become "NaN", "Infinity" and "-Infinity". Arrays of numpy, torch and jax are
recognised by their `tolist` and `dtype`, so none of them is imported here.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from json import encoder as json_encoder
from typing import Any

from mosaic.contracts.events import number_to_json

MAX_DEPTH = 32
# A larger array (an image, say) is described, not copied: replay re-creates it from the seed.
MAX_ARRAY_ITEMS = 4096
_MAX_DESCRIPTION = 200


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


def encode(value: Any) -> str:
    """JSON text of any value: one look-up by its type, then the cheapest way for that type."""
    kind = type(value)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        encoder = _ENCODERS[kind] = _choose_encoder(kind)
    return encoder(value)


def encode_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{number_to_json(value)}"'


def _choose_encoder(kind: type) -> Callable[[Any], str]:
    if issubclass(kind, bool | type(None)):
        return _encode_any
    if issubclass(kind, int):
        return int.__repr__
    if issubclass(kind, float):
        return _encode_float
    if hasattr(kind, "tolist") and hasattr(kind, "dtype"):
        if hasattr(kind, "__len__"):
            return _encode_array
        # numpy's integers; `int()` is several times faster than their `item()`.
        if hasattr(kind, "__index__"):
            return _encode_integer
    return _encode_any


_ENCODERS: dict[type, Callable[[Any], str]] = {}


def _encode_float(value: float) -> str:
    return encode_number(float(value))


def _encode_integer(value: Any) -> str:
    return repr(int(value))


def _encode_array(value: Any) -> str:
    # Nine digits hold a float32 exactly, and take half the space and the time of a double's.
    if value.dtype == "float32":
        shape = tuple(value.shape)
        if len(shape) == 1 and shape[0] <= MAX_ARRAY_ITEMS:
            template = _TEMPLATES.get(shape)
            if template is None:
                template = _TEMPLATES[shape] = "[" + ",".join(["%.9g"] * shape[0]) + "]"
            text = template % tuple(value.tolist())
            if "n" not in text:  # as in nan and inf
                return text
    return _encode_any(_plain_array(value))


_TEMPLATES: dict[tuple[int, ...], str] = {}


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
    described = {"dtype": str(value.dtype), "shape": [int(length) for length in shape]}
    if hasattr(value, "tobytes"):
        described["crc32"] = zlib.crc32(value.tobytes())
    return described


def _described(value: Any) -> str:
    # An address would make two runs with the same seed differ.
    is_bare = type(value).__repr__ is object.__repr__
    text = f"<{type(value).__qualname__}>" if is_bare else repr(value)[:_MAX_DESCRIPTION]
    return _unicode(text)


def _unicode(text: str) -> str:
    """Lone surrogates are not Unicode text."""
    return text.encode("utf-8", "replace").decode()
