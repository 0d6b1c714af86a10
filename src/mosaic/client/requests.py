"""Requests to the daemon. What the wire cannot carry is refused at once, by the field's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from mosaic.contracts.schema_check import shown
from mosaic.errors import ConfigError

M = TypeVar("M", bound=Message)

_INTEGERS = {
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
}
_WORDS = {
    FieldDescriptor.CPPTYPE_STRING: "text, whole characters of Unicode",
    FieldDescriptor.CPPTYPE_DOUBLE: "an ordinary number",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
}


def new_request(kind: type[M], **fields: Any) -> M:
    """Of this kind of message; ConfigError when a value is none that its field can hold."""
    # Whatever can be gone through only once would be used up by the first try.
    given = {name: list(value) if _is_repeated(value) else value for name, value in fields.items()}
    try:
        return kind(**given)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refusal(kind, given) from error


def _is_repeated(value: Any) -> bool:
    """Whether it stands for several values, as a list does."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _refusal(kind: type[Message], fields: Mapping[str, Any]) -> ConfigError:
    for name, value in fields.items():
        try:
            kind(**{name: value})
        except (TypeError, ValueError, OverflowError):
            return ConfigError(
                f"{name} is {shown(value)}; it must be {_wanted(kind, name)}", field=name
            )
    raise AssertionError("each field alone is accepted")


def _wanted(kind: type[Message], name: str) -> str:
    field = kind.DESCRIPTOR.fields_by_name[name]
    if field.message_type is not None:
        return "a mapping of text and whole numbers"
    if field.cpp_type in _INTEGERS:
        least, most = _INTEGERS[field.cpp_type]
        return f"a whole number from {least:,} to {most:,}"
    return _WORDS.get(field.cpp_type, "something else")
