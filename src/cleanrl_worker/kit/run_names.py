"""Names of run folders: `<env>__<exp>__<seed>__<timestamp>`, safe as one path component."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

_SEPARATOR = "__"


class RunName(NamedTuple):
    env_id: str
    exp: str
    seed: int
    timestamp: int


def run_name(env_id: str, exp: str, seed: int, timestamp: int) -> str:
    """`/`, `:` and whatever else a file name should not hold is written as `%2F`, `%3A`, …"""
    return _SEPARATOR.join([_escaped(env_id), _escaped_part(exp), str(seed), str(timestamp)])


def parse_run_name(name: str) -> RunName | None:
    """What `run_name`, or CleanRL, put into the name; None when it is no such name."""
    parts = name.rsplit(_SEPARATOR, 3)
    if len(parts) != 4 or not all(parts):
        return None
    env_id, exp, seed, timestamp = parts
    if not (seed.isdecimal() and timestamp.isdecimal()):
        return None
    return RunName(unquote(env_id), unquote(exp), int(seed), int(timestamp))


def _escaped(text: str) -> str:
    return quote(text, safe="")


def _escaped_part(text: str) -> str:
    """Holds no separator and begins none, so that names are split where they were joined."""
    escaped = _escaped(text).replace(_SEPARATOR, "%5F%5F")
    return "%5F" + escaped[1:] if escaped.startswith("_") else escaped
