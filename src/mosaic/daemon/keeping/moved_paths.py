"""Documents of a run that came from another home: paths below its runs become paths below ours.

Only strings of JSON documents are changed, and only those that lead to the folder of a run. The
journal stays as it was written: it is history, and its hash is known.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mosaic.contracts.hostile_text import RUN_ID
from mosaic.files import atomic_write_json
from mosaic.foreign_json import read_plain_json

_BELOW_A_RUN = re.compile(rf"/({RUN_ID.pattern})((?:/[^/\0]+)*)/?")


def move_paths(documents: list[Path], old_runs: str, new_runs: Path) -> None:
    if not old_runs.startswith("/") or old_runs == str(new_runs):
        return
    for path in documents:
        try:
            found = read_plain_json(path)
        except (OSError, ValueError):
            continue
        moved = moved_value(found, old_runs.rstrip("/"), str(new_runs))
        if moved != found:
            atomic_write_json(path, moved)


def moved_value(value: Any, old_runs: str, new_runs: str) -> Any:
    if isinstance(value, str):
        return _moved_text(value, old_runs, new_runs)
    if isinstance(value, list):
        return [moved_value(item, old_runs, new_runs) for item in value]
    if isinstance(value, dict):
        return {key: moved_value(item, old_runs, new_runs) for key, item in value.items()}
    return value


def _moved_text(text: str, old_runs: str, new_runs: str) -> str:
    if not text.startswith(old_runs + "/"):
        return text
    rest = text[len(old_runs) :]
    if not _BELOW_A_RUN.fullmatch(rest) or ".." in rest.split("/"):
        return text
    return new_runs + rest
