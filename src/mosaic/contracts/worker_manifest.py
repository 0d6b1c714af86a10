"""Manifests that announce workers living outside the daemon's own environment.

A worker's folder holds `worker.toml`; `mosaic workers add FOLDER` copies it, made absolute, to
`$MOSAIC_HOME/workers/<name>.toml`. Keys:

    name = "my_worker"
    entry_point = "my_worker:get_worker_metadata"
    python = "venv/bin/python"   # optional: default is the daemon's interpreter
    path = "src"                 # optional: folder(s) for PYTHONPATH; default: its own folder
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.errors import ConfigError

MANIFEST_FILE = "worker.toml"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_ENTRY_POINT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_KEYS = ("name", "entry_point", "python", "path")


@dataclass(frozen=True)
class WorkerManifest:
    name: str
    entry_point: str  # "package:function"
    python: str | None = None
    path: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        return self.entry_point.partition(":")[0]

    def to_toml(self) -> str:
        lines = [f"name = {_quoted(self.name)}", f"entry_point = {_quoted(self.entry_point)}"]
        if self.python:
            lines.append(f"python = {_quoted(self.python)}")
        lines.append(f"path = [{', '.join(_quoted(folder) for folder in self.path)}]")
        return "\n".join(lines) + "\n"


def is_worker_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def parse_worker_manifest(text: str, folder: Path) -> WorkerManifest:
    """Relative paths count from `folder`, where the manifest lies."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also an integer without end
        raise _invalid(f"is not valid TOML: {error}") from None
    for key in data:
        if key not in _KEYS:
            raise _invalid(f"has the unknown key {key!r}", f"known keys: {', '.join(_KEYS)}", key)
    name, entry_point, python = (data.get(key) for key in _KEYS[:3])
    if not isinstance(name, str) or not is_worker_name(name):
        raise _invalid(
            "needs a 'name' of letters, digits, '_' and '-'", 'name = "my_worker"', "name"
        )
    if not isinstance(entry_point, str) or not _ENTRY_POINT.fullmatch(entry_point):
        raise _invalid(
            "needs an 'entry_point' of the form package:function",
            f'entry_point = "{name}:get_worker_metadata"',
            "entry_point",
        )
    if python is not None and not _is_path(python):
        raise _invalid("'python' is not the path of an interpreter", "", "python")
    return WorkerManifest(
        name=name,
        entry_point=entry_point,
        python=None if python is None else _absolute(folder, python),
        path=tuple(_absolute(folder, item) for item in _folders(data.get("path", "."))),
    )


def _folders(value: Any) -> list[str]:
    folders = [value] if isinstance(value, str) else value
    if not isinstance(folders, list) or not all(map(_is_path, folders)):
        raise _invalid("'path' is neither a folder nor a list of folders", 'path = "src"', "path")
    return folders


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\x00" not in value


def _absolute(folder: Path, path: str) -> str:
    # Not resolved: the python of a virtual environment is a link that must stay one.
    return os.path.normpath(folder.absolute() / Path(path).expanduser())


def _quoted(text: str) -> str:
    # JSON's strings are TOML's too, as long as characters beyond ASCII stay as they are.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _invalid(message: str, hint: str = "", key: str = "") -> ConfigError:
    return ConfigError(f"The worker's manifest {message}", hint=hint, field=key)
