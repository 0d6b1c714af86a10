"""The page of the command line is derived from the parser; `make lint` compares the two."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import command_line_page  # noqa: E402

TEXT = "By hand.\n\n<!-- commands: go -->\nold\n<!-- end of commands -->\n\nMore by hand.\n"


def sample_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tool")
    commands = parser.add_subparsers()
    go = commands.add_parser("go", help="start moving")
    go.add_argument("places", metavar="PLACE", nargs="+", help="where to, see --by")
    go.add_argument("--by", choices=("bike", "train"), required=True)
    speed = go.add_mutually_exclusive_group()
    speed.add_argument("--speed", type=int, default=20, metavar="N", help="in km/h")
    speed.add_argument("--slow", action="store_true", help="at ease")
    go.add_argument("--secret", help=argparse.SUPPRESS)
    return parser


def test_a_section_has_the_usage_the_arguments_and_what_excludes_what() -> None:
    assert command_line_page.page(TEXT, sample_parser()) == (
        "By hand.\n\n<!-- commands: go -->\n\n"
        "### `tool go`\n\n`tool go PLACE ... --by bike|train [options]`\n\nStart moving.\n\n"
        "| argument | meaning |\n|---|---|\n"
        "| `PLACE` | where to, see `--by` |\n"
        "| `--by bike\\|train` |  |\n"
        "| `--speed N` | in km/h; default: 20; not with `--slow` |\n"
        "| `--slow` | at ease; not with `--speed` |\n\n"
        "<!-- end of commands -->\n\nMore by hand.\n"
    )


def test_what_is_written_stays_as_it_is_when_written_again() -> None:
    once = command_line_page.page(TEXT, sample_parser())
    assert command_line_page.page(once, sample_parser()) == once


@pytest.mark.parametrize("names", ["stay", "go stay", "go go"])
def test_every_command_is_on_the_page_once(names: str) -> None:
    with pytest.raises(command_line_page.PageError):
        command_line_page.page(TEXT.replace(": go", f": {names}"), sample_parser())


def test_the_page_is_as_the_parser_is() -> None:
    from mosaic.cli.main import build_parser

    text = command_line_page.PAGE.read_text()
    assert command_line_page.page(text, build_parser()) == text
