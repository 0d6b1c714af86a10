"""Holds the source to its layout: sizes, names, what core may know, what documents may claim.

Without an option: every fault with its place, and status 1 if there is one. With --small: modules
that may exist only to be small, for a person to judge.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import command_line_page
import log_events

from mosaic.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[1]
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 70
SMALL_MODULE_LINES = 60
BANNED_NAMES = re.compile(r"(utils?|helpers?|common|misc|.*_manager|.*_handler)$")
WHOLE_FILE_WRITES = re.compile(r"\.write_(text|bytes)\(|open\([^)]*[\"']w")
DOCUMENTS = ("ARCHITECTURE.md", "README.md", "CONTRIBUTING.md")
# Words that name a worker, or are given to what wants the name of one.
_WORKER_KEYWORDS = ("worker", "worker_name", "entry_point")


@dataclass(frozen=True)
class Module:
    path: Path  # below the root
    text: str

    @property
    def name(self) -> str:
        return ".".join(self.path.with_suffix("").parts[1:]).removesuffix(".__init__")

    @property
    def is_core(self) -> bool:
        return self.path.parts[:2] == ("src", "mosaic")

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


def modules(root: Path = ROOT) -> list[Module]:
    return [
        Module(path.relative_to(root), path.read_text())
        for path in sorted((root / "src").rglob("*.py"))
        if "generated" not in path.parts
    ]


def faults(root: Path = ROOT) -> Iterator[str]:
    found = modules(root)
    workers = worker_entry_points(root)
    for module in found:
        tree = ast.parse(module.text)
        yield from size_faults(module, tree)
        if module.is_core:
            yield from worker_names(module, tree, workers)
        is_writer = module.path.name == "files.py" or "misbehaving" in module.path.parts
        if not is_writer and WHOLE_FILE_WRITES.search(module.text):
            yield f"{module.path}: writes a whole file; use mosaic.files.atomic_write"
    for document in DOCUMENTS:
        yield from missing_paths(root, document)
    yield from log_event_faults()
    yield from command_line_faults()


def size_faults(module: Module, tree: ast.Module) -> Iterator[str]:
    if module.lines > MAX_MODULE_LINES:
        yield f"{module.path}: {module.lines} lines; split it where its second purpose begins"
    if BANNED_NAMES.match(module.path.stem):
        yield f"{module.path}: name it for what it holds"
    if module.text.strip() and not ast.get_docstring(tree):
        yield f"{module.path}: say in one sentence what it is for"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            is_loop = "algorithms" in module.path.parts  # readable top to bottom is the point
            if length > MAX_FUNCTION_LINES and not is_loop:
                yield f"{module.path}:{node.lineno}: {node.name} has {length} lines"


def worker_entry_points(root: Path = ROOT) -> dict[str, str]:
    """The name of every worker that comes along, with its package."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return {
        name: function.partition(":")[0]
        for name, function in project["entry-points"]["mosaic.workers"].items()
    }


def worker_names(module: Module, tree: ast.Module, workers: dict[str, str]) -> Iterator[str]:
    """Places where core asks for one worker by its name, in place of what it can do."""
    for name, package in workers.items():
        if module.name.startswith(package):
            continue  # the worker itself
        if not package.startswith("mosaic."):
            if re.search(rf"\b{package}\b|[\"']{name}[\"']", module.text):
                yield f"{module.path}: core names the worker {name}"
            continue
        # Its name may be an ordinary word: only where it is compared or passed is it the worker's.
        for node in ast.walk(tree):
            used: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                used = [node.left, *node.comparators]
            elif isinstance(node, ast.keyword) and node.arg in _WORKER_KEYWORDS:
                used = [node.value]
            if any(isinstance(item, ast.Constant) and item.value == name for item in used):
                yield f"{module.path}: core names the worker {name}; ask what it can do"


def missing_paths(root: Path, document: str) -> Iterator[str]:
    text = (root / document).read_text()
    named = re.findall(r"`((?:src|tests|docs|tools|proto|benchmarks|\.ci)/[\w./-]*)`", text)
    named += re.findall(r"\]\(((?!http)[\w./-]+)\)", text)
    # A walk: one module a line, below src.
    named += [f"src/{path}" for path in re.findall(r"^(\w+/[\w/]+\.py)\b", text, re.MULTILINE)]
    for path in named:
        if not (root / path).exists():
            yield f"{document}: names {path}, which does not exist"


def log_event_faults() -> Iterator[str]:
    events = log_events.log_events()
    for event in events:
        if not log_events.EVENT_NAME.fullmatch(event.name):
            yield f"{event}: an event is called noun.past_verb"
    if log_events.PAGE.read_text() != log_events.page(events):
        yield f"{log_events.PAGE.relative_to(ROOT)}: not as the source is now; run `make docs`"


def command_line_faults() -> Iterator[str]:
    path = command_line_page.PAGE
    text = path.read_text()
    try:
        wanted = command_line_page.page(text, build_parser())
    except command_line_page.PageError as error:
        yield f"{path.relative_to(ROOT)}: {error}"
        return
    if text != wanted:
        yield f"{path.relative_to(ROOT)}: not as the parser is now; run `make docs`"


def small_modules(root: Path = ROOT) -> Iterator[str]:
    """Modules under sixty lines that one module of the same folder imports, and no other."""
    found = {module.name: module for module in modules(root)}
    importers: dict[str, set[str]] = defaultdict(set)
    for module in found.values():
        for node in ast.walk(ast.parse(module.text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {node.module, *(f"{node.module}.{item.name}" for item in node.names)}
            elif isinstance(node, ast.Import):
                names = {item.name for item in node.names}
            else:
                continue
            for name in names & found.keys():
                importers[name].add(module.name)
    for name, module in found.items():
        users = importers[name]
        if module.lines >= SMALL_MODULE_LINES or len(users) != 1 or module.path.stem == "__init__":
            continue
        user = next(iter(users))
        if user.rpartition(".")[0] == name.rpartition(".")[0]:
            yield f"{module.path}: {module.lines} lines, only for {found[user].path.name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true", help="modules that may be too small")
    found = list(small_modules() if parser.parse_args().small else faults())
    for fault in found:
        sys.stdout.write(f"{fault}\n")
    return 1 if found and "--small" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
