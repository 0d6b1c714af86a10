"""What runs in the interpreter of a script needs no Python newer than 3.9.

tests/integration/watching/test_watch_interpreters.py has the interpreters do it.
"""

from __future__ import annotations

import ast
import builtins

import pytest
import vermin

from tests.script_interpreters import OLDEST, script_modules

SCRIPT_MODULES = script_modules()


@pytest.mark.parametrize("module", SCRIPT_MODULES)
def test_it_needs_nothing_that_the_oldest_python_lacks(module: str) -> None:
    source = SCRIPT_MODULES[module].read_text()
    ast.parse(source, feature_version=OLDEST)
    assert needed_version(source) <= OLDEST
    assert unions_at_run_time(source) == []


def test_all_that_the_hooks_and_the_simulator_need_is_looked_at() -> None:
    assert {
        "mosaic",
        "mosaic.contracts.ledger",
        "mosaic.injection.ledger_writer",
        "mosaic.injection.hooks.gymnasium_hooks",
        "mosaic.fastlane.slot_writer",
        "mosaic.replay.playback",
        "mosaic.errors",
    } <= SCRIPT_MODULES.keys()
    # They are the worker's own.
    assert not {"mosaic.watch", "mosaic.worker", "mosaic.runhost"} & SCRIPT_MODULES.keys()


@pytest.mark.parametrize(
    ("source", "version"),
    [
        ("from enum import StrEnum", (3, 11)),
        ("import tomllib", (3, 11)),
        ("match x:\n    case 1: pass", (3, 10)),
        ("zip(a, b, strict=True)", (3, 10)),
        ("from dataclasses import dataclass\n@dataclass(slots=True)\nclass A: pass", (3, 10)),
        ("{1: 2} | {3: 4}", (3, 9)),
    ],
)
def test_what_newer_pythons_brought_is_recognised(source: str, version: tuple[int, int]) -> None:
    assert needed_version(source) == version


def test_unions_count_where_they_are_evaluated() -> None:
    executed = (
        "from __future__ import annotations\n"
        "Name = int | None\n"
        "is_it = isinstance(x, list | tuple)\n"
        "Both: TypeAlias = numpy.ndarray | Other\n"
    )
    assert unions_at_run_time(executed) == [2, 3, 4]
    harmless = (
        "from __future__ import annotations\n"
        "a: int | None = os.O_RDONLY | FLAGS | terminated\n"
        "def f(x: list | None) -> A | B: ...\n"
    )
    assert unions_at_run_time(harmless) == []
    assert unions_at_run_time("def f(x: list | None): ...") == [1]


def needed_version(source: str) -> tuple[int, int]:
    _, newer = vermin.detect(source)
    assert newer is not None, "it needs an older Python"
    return newer or (0, 0)


def unions_at_run_time(source: str) -> list[int]:
    """Lines with `X | Y` of types, but for annotations that are not evaluated."""
    tree: ast.AST = ast.parse(source)
    if "from __future__ import annotations" in source:
        tree = WithoutAnnotations().visit(tree)
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitOr)
        and (is_type(node.left) or is_type(node.right))
    )


class WithoutAnnotations(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, ast.Constant(""))
        return self.generic_visit(node)


def is_type(node: ast.expr) -> bool:
    """By its name: built in, or in capitals and small letters."""
    if isinstance(node, ast.Constant):
        return node.value is None
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    name = ast.unparse(node).partition("[")[0].rpartition(".")[2]
    is_named_so = name[:1].isupper() and not name.isupper()
    return is_named_so or isinstance(getattr(builtins, name, None), type) or name == "ndarray"
