"""The documentation says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mosaic.contracts.run_state import FailureKind
from mosaic.errors import error_codes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
TROUBLESHOOTING = (DOCS / "runbooks" / "troubleshooting.md").read_text()


@pytest.mark.parametrize("code", sorted(error_codes()))
def test_troubleshooting_names_every_error_code(code: str) -> None:
    cls = error_codes()[code]
    if cls.__module__.startswith("mosaic."):  # what tests define is of no use to anybody
        assert f"| `{code}` |" in TROUBLESHOOTING


@pytest.mark.parametrize("kind", FailureKind)
def test_troubleshooting_names_every_reason_of_failure(kind: FailureKind) -> None:
    numbered = {FailureKind.EXIT_CODE: "exit_code_N", FailureKind.SIGNAL: "signal_N"}
    assert f"| `{numbered.get(kind, kind.value)}` |" in TROUBLESHOOTING


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not target.startswith(("http://", "https://", "#", "mailto:")):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (DOCS / "index.md").read_text()
    for page in DOCS.rglob("*.md"):
        folder, name = page.parent.relative_to(DOCS), page.stem
        if name == "index":
            continue
        assert f"{folder}/*" in contents or f"{folder}/{name}" in contents, page
