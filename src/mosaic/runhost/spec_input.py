"""Reads the attempt's specification from standard input and refuses what cannot be honoured.

Works on the plain dictionary: `AttemptSpec` itself is built once the worker is running, and a
test holds the table below to its fields.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_SPEC_BYTES = 16_000_000
_NONE = type(None)
_REQUIRED: dict[str, tuple[type, ...]] = {
    "run_id": (str,),
    "attempt": (int,),
    "run_directory": (str,),
    "worker_name": (str,),
    "argv": (list,),
    "cwd": (str,),
    "environment": (dict,),
}
_OPTIONAL: dict[str, tuple[type, ...]] = {
    "secrets": (dict,),
    "control_socket": (str,),
    "control": (str,),
    "stdout_events": (bool,),
    "memory_mb": (int, _NONE),
    "max_processes": (int,),
    "max_duration_s": (int, float, _NONE),
    "max_steps": (int, _NONE),
    "grace_s": (int, float),
    "log_max_bytes": (int,),
    "log_backups": (int,),
    "shm_prefixes": (list,),
    "exit_proof": (str,),
}
FIELDS = {**_REQUIRED, **_OPTIONAL}
_AT_LEAST = {
    "attempt": 0,
    "memory_mb": 1,
    "max_processes": 1,
    "max_duration_s": 0,
    "max_steps": 1,
    "grace_s": 0,
    "log_max_bytes": 1,
    "log_backups": 0,
}


class SpecError(ValueError):
    """The specification is missing, torn or wrong; nothing was started."""


def read_all(fd: int) -> bytes:
    """Everything up to end of file; a caller that died halfway leaves a torn document."""
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := os.read(fd, 65_536):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_SPEC_BYTES:
                raise SpecError("the specification is too large")
    except OSError as error:
        raise SpecError(f"standard input cannot be read: {error.strerror}") from None
    return b"".join(pieces)


def parse_spec(text: bytes) -> dict[str, Any]:
    """The known fields of the document, each of the right type; unknown ones are left out."""
    if not text.strip():
        raise SpecError("standard input was closed without a specification")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"the specification is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise SpecError("the specification is not a JSON object")
    for name in _REQUIRED:
        if name not in document:
            raise SpecError(f"'{name}' is missing")
    spec = {name: document[name] for name in FIELDS if name in document}
    for name, value in spec.items():
        _check_field(name, value)
    _check_meaning(spec)
    return spec


def _check_field(name: str, value: Any) -> None:
    if not _has_type(value, FIELDS[name]):
        raise SpecError(f"'{name}' has the wrong type: {type(value).__name__}")
    if name in _AT_LEAST and value is not None and not _AT_LEAST[name] <= value < float("inf"):
        raise SpecError(f"'{name}' is out of range: {value}")
    items = (*value.keys(), *value.values()) if isinstance(value, dict) else value
    if isinstance(value, dict | list) and not all(isinstance(item, str) for item in items):
        raise SpecError(f"'{name}' must hold strings only")


def _has_type(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _check_meaning(spec: dict[str, Any]) -> None:
    if not spec["argv"]:
        raise SpecError("'argv' is empty")
    # These two become file and group names.
    if not spec["run_id"].isalnum():
        raise SpecError("'run_id' must be letters and digits")
    if not spec["worker_name"] or "/" in spec["worker_name"] or spec["worker_name"][0] == ".":
        raise SpecError("'worker_name' cannot name a file")
    if spec.get("control", "stdin") not in ("stdin", "signals"):
        raise SpecError(f"'control' must be 'stdin' or 'signals', not {spec['control']!r}")
