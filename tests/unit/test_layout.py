"""Holds the layout to its rules: sizes, names, what core may know, what documents may claim."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import log_events  # noqa: E402

SOURCES = [path for path in (ROOT / "src").rglob("*.py") if "generated" not in path.parts]
BANNED_NAMES = re.compile(r"(utils?|helpers?|common|misc|.*_manager|.*_handler)$")
WORKER_PACKAGES = sorted(
    path.name for path in (ROOT / "src").iterdir() if path.name.endswith("_worker")
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_readable(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400, "split it"
    assert not BANNED_NAMES.match(path.stem), "name it for what it holds"
    assert ast.get_docstring(ast.parse(text)), "say in one sentence what it is for"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_stay_short(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 70, f"{node.name} has {length} lines"


def test_core_never_names_a_worker() -> None:
    for path in SOURCES:
        if "mosaic" in path.relative_to(ROOT / "src").parts[:1]:
            text = path.read_text()
            for package in WORKER_PACKAGES:
                name = package.removesuffix("_worker")
                assert not re.search(rf"\b{package}\b|[\"']{name}[\"']", text), f"{path}: {name}"


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"])
def test_documents_name_only_paths_that_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    named = re.findall(r"`((?:src|tests|docs|tools|proto|benchmarks|\.ci)/[\w./-]*)`", text)
    named += re.findall(r"\]\(((?!http)[\w./-]+)\)", text)
    assert named
    for path in named:
        assert (ROOT / path).exists(), f"{document} names {path}"


def test_whole_files_are_written_in_one_place_only() -> None:
    pattern = re.compile(r"\.write_(text|bytes)\(|open\([^)]*[\"']w")
    for path in SOURCES:
        if path.name != "files.py" and "misbehaving" not in path.parts:
            assert not pattern.search(path.read_text()), f"{path}: use mosaic.files.atomic_write"


def test_log_events_are_noun_past_verb_and_the_page_is_current() -> None:
    events = log_events.log_events()
    assert events
    for event in events:
        assert log_events.EVENT_NAME.fullmatch(event.name), event
    assert log_events.PAGE.read_text() == log_events.page(events), "run `make docs`"
