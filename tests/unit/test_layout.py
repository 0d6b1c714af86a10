"""The checker of the layout finds what it is there to find; `make lint` runs it on the source."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_layout  # noqa: E402

WORKERS = {"walker": "walker_worker", "script": "mosaic.watch"}


def names_found(path: str, text: str) -> list[str]:
    module = check_layout.Module(Path(path), text)
    return list(check_layout.worker_names(module, ast.parse(text), WORKERS))


@pytest.mark.parametrize(
    "text",
    [
        'NAME = "walker"',
        "import walker_worker",
        'if worker == "script": pass',
        'f(worker="script")',
    ],
)
def test_core_that_names_a_worker_is_found(text: str) -> None:
    assert len(names_found("src/mosaic/daemon/x.py", text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/mosaic/daemon/x.py", 'KIND = "script"'),  # an ordinary word, too
        ("src/mosaic/watch/cli.py", 'f(worker="script")'),  # the worker itself
        ("src/mosaic/daemon/x.py", 'KIND = "sleepwalker"'),
    ],
)
def test_other_uses_of_such_words_are_none(path: str, text: str) -> None:
    assert names_found(path, text) == []


def test_sizes_names_and_docstrings_are_looked_at() -> None:
    def faults(path: str, text: str) -> list[str]:
        module = check_layout.Module(Path(path), text)
        return list(check_layout.size_faults(module, ast.parse(text)))

    assert not faults("src/mosaic/one.py", '"""One."""\n')
    assert faults("src/mosaic/one.py", "x = 1\n")
    assert faults("src/mosaic/utils.py", '"""One."""\n')
    assert faults("src/mosaic/one.py", '"""One."""\n' + "x = 1\n" * 600)
    long = '"""One."""\ndef f():\n' + "    x = 1\n" * 70
    assert faults("src/mosaic/one.py", long)
    assert not faults("src/cleanrl_worker/algorithms/one.py", long)


def test_a_document_that_names_what_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text(
        "See `src/here.py`, `src/gone.py` and [it](docs/gone.md).\nmosaic/walked.py  a walk\n"
    )
    (tmp_path / "src/here.py").write_text("")
    found = list(check_layout.missing_paths(tmp_path, "README.md"))
    assert [fault.split("names ")[1].split(",")[0] for fault in found] == [
        "src/gone.py",
        "docs/gone.md",
        "src/mosaic/walked.py",
    ]


def test_the_workers_are_those_of_the_entry_points() -> None:
    assert {"baseline", "script"} <= check_layout.worker_entry_points().keys()
