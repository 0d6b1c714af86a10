"""Rules for strings that come from outside: ids, labels and relative paths."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# fullmatch everywhere: `$` would admit a trailing newline.
RUN_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ENCODED_PATH = re.compile(r"%(25)*(2e|2f|5c|00)", re.IGNORECASE)
_PATH_PIECE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=+@,-]*")


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
