"""Rules for strings that come from outside: labels, relative paths and secrets."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

# fullmatch everywhere: `$` would admit a trailing newline.
RUN_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ENCODED_PATH = re.compile(r"%(25)*(2e|2f|5c|00)", re.IGNORECASE)
_PATH_PIECE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=+@,-]*")
_SECRET_NAME = re.compile(
    r"(^|[_-])(api[_-]?key|secret([_-]?key)?|passw(or)?d|token|credentials?|private[_-]?key"
    r"|access[_-]?key(_id)?|auth)$",
    re.IGNORECASE,
)
SECRET_REFERENCE = "secret://"


def is_run_id(text: Any) -> bool:
    return isinstance(text, str) and RUN_ID.fullmatch(text) is not None


def label_problem(text: str) -> str | None:
    """Why this cannot be a label, or None. Labels are shown, never used as paths."""
    if not text.strip():
        return "is blank"
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text):
        return "holds control characters"
    normal = unicodedata.normalize("NFKC", text)
    if "/" in normal or "\\" in normal or ".." in normal or _ENCODED_PATH.search(normal):
        return "looks like a path"
    return None


def relative_path_problem(text: str) -> str | None:
    """Why this cannot name a folder below a run's directory, or None."""
    if not text:
        return "is empty"
    if len(text) > 255:
        return "is longer than 255 characters"
    for piece in text.split("/"):
        if piece == "..":
            return "leaves the run's directory"
        if not _PATH_PIECE.fullmatch(piece):
            return "must be a relative path of letters, digits, '.', '_' and '-'"
    return None


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def secret_spellings(value: str) -> set[str]:
    """How a value may stand in a text: as it is, in a string of JSON, and as Python shows it."""
    shown = repr(value)[1:-1]
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], shown}


def secret_fields(value: Any, path: str) -> list[str]:
    """Dotted paths of non-empty strings whose key says they are secret, however deeply nested."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            where = f"{path}.{key}"
            is_text = isinstance(item, str) and item and not item.startswith(SECRET_REFERENCE)
            if is_text and is_secret_name(str(key)):
                found.append(where)
            else:
                found.extend(secret_fields(item, where))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found.extend(secret_fields(item, f"{path}[{index}]"))
    return found
