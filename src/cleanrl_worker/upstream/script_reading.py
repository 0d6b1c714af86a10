"""What an upstream script can be told and needs, read from its source: it is never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cleanrl_worker.upstream.argparse_reading import argparse_parameters
from cleanrl_worker.upstream.dataclass_reading import dataclass_parameters
from cleanrl_worker.upstream.parameters import Parameter
from mosaic.worker import ConfigError

ARGPARSE, TYRO = "argparse", "tyro"
_LARGEST_BYTES = 2_000_000


@dataclass(frozen=True)
class Script:
    path: Path
    generation: str
    parameters: Mapping[str, Parameter]
    imports: tuple[str, ...]  # packages it cannot start without

    @property
    def name(self) -> str:
        return self.path.stem


def read_script(path: Path) -> Script:
    """Raises ConfigError for what is no script that takes flags."""
    tree = _parse(path)
    for generation, read in ((TYRO, dataclass_parameters), (ARGPARSE, argparse_parameters)):
        if parameters := {parameter.name: parameter for parameter in read(tree)}:
            return Script(path, generation, parameters, tuple(dict.fromkeys(_imports(tree))))
    raise ConfigError(
        f"'algo': {path} takes no flags that can be read",
        hint="scripts that use argparse, or tyro with a dataclass, can be run; for others there is "
        "`mosaic watch`",
        field="algo",
    )


def _parse(path: Path) -> ast.Module:
    try:
        size = path.stat().st_size
        if size > _LARGEST_BYTES:
            raise ValueError(f"{size} bytes are too many for a script")
        return ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(
            f"'algo': {path} cannot be read: {error}", hint="is it the right file?", field="algo"
        ) from error


def _imports(tree: ast.Module) -> Iterator[str]:
    """Of the module itself; what functions and `try` import may be missing."""
    for statement in tree.body:
        match statement:
            case ast.Import(names=names):
                yield from (item.name.partition(".")[0] for item in names)
            case ast.ImportFrom(module=str() as module, level=0):
                yield module.partition(".")[0]
