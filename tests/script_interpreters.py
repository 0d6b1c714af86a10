"""What of ours runs in the interpreters of watched scripts, and which interpreters there are."""

from __future__ import annotations

import ast
import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mosaic
from mosaic.injection.start import HOOKS
from mosaic.telemetry.recordings.episodes import MAKER
from tests.waiting import PATIENCE_S

OLDEST = (3, 9)
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
SOURCES = Path(mosaic.__file__).parents[1]

# What a script's interpreter is told to import: our sitecustomize, the hooks that wake up later,
# and the simulator with what makes environments again.
ENTRY_POINTS = (
    "mosaic.injection.site.sitecustomize",
    *(f"mosaic.injection.hooks.{name}" for name in sorted(set(HOOKS.values()))),
    "mosaic.replay.simulator",
    MAKER.partition(":")[0],
)


@functools.cache
def script_modules() -> dict[str, Path]:
    """Every module that these import, in whichever function, and where it is."""
    found: dict[str, Path] = {}
    waiting = list(ENTRY_POINTS)
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if path is not None and name not in found:
            found[name] = path
            waiting += _imported(ast.parse(path.read_text()))
            waiting.append(name.rpartition(".")[0])  # its package is executed first
    return dict(sorted(found.items()))


def _file_of(module: str) -> Path | None:
    path = SOURCES / module.replace(".", "/")
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((each for each in candidates if module and each.is_file()), None)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Without what only a type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _executed(child)


def interpreter(version: str) -> str:
    """A Python of this version; the test is skipped where there is none."""
    found = _interpreter(version)
    if not found:
        pytest.skip(f"there is no python{version} on PATH or in pyenv")
    return found


@functools.cache
def _interpreter(version: str) -> str:
    name = f"python{version}"
    candidates = [shutil.which(name) or "", *map(str, _pyenv_versions(name))]
    return next(filter(None, (_program(each, version) for each in candidates if each)), "")


def _pyenv_versions(name: str) -> list[Path]:
    root = os.environ.get("PYENV_ROOT", "")
    if not root and shutil.which("pyenv"):
        done = subprocess.run(["pyenv", "root"], capture_output=True, text=True, timeout=PATIENCE_S)
        root = done.stdout.strip()
    return sorted(Path(root, "versions").glob(f"*/bin/{name}")) if root else []


def _program(python: str, version: str) -> str:
    """The interpreter that this one starts: some choose a version, and may have none to choose."""
    program = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S
    )
    found, _, path = done.stdout.strip().partition("\n")
    return path if found == version else ""
