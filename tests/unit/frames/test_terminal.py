"""Keys as terminals send them, and which way of drawing a terminal gets."""

from __future__ import annotations

import pytest

from mosaic.frames.drawing import Room
from mosaic.frames.renderers import BlockRenderer
from mosaic.frames.terminal import chosen_style, is_worth_asking, keys_in, renderer_for, tells_sixel
from tests.unit.frames.pictures import drawn


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"", []),
        (b" q+", [" ", "q", "+"]),
        (b"\x1b[C\x1b[D\x1bOC", ["right", "left", "right"]),
        (b"\x1b[5~\x1b[6~", ["page up", "page down"]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1bOH", ["home", "end", "home", "end", "home"]),
        (b"\x1b", []),
        (b"\x1b[", ["["]),
        (b"\x1b[1;5C7", ["7"]),
        ("ä".encode(), []),
        (b"\xff\x00\x04", ["\x00", "\x04"]),
    ],
)
def test_keys_have_names(typed: bytes, keys: list[str]) -> None:
    assert keys_in(typed) == keys


@pytest.mark.parametrize(
    ("variables", "has_sixel", "style"),
    [
        ({"TERM": "xterm-256color"}, False, "blocks"),
        ({"TERM": "xterm-256color"}, True, "sixel"),
        ({"TERM": "xterm-kitty"}, False, "kitty"),
        ({"TERM": "xterm", "KITTY_WINDOW_ID": "1"}, True, "kitty"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1", "TMUX": "/tmp/x"}, False, "blocks"),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1", "STY": "7.x"}, False, "blocks"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, "ascii"),
    ],
)
def test_the_best_a_terminal_can_do(variables: dict[str, str], has_sixel: bool, style: str) -> None:
    assert chosen_style("auto", variables, has_sixel) == style


def test_what_is_asked_for_is_taken() -> None:
    for style in ("blocks", "kitty", "sixel", "ascii"):
        assert chosen_style(style, {"TERM": "xterm-kitty"}, True) == style
        assert not is_worth_asking(style, {})
    assert is_worth_asking("auto", {"TERM": "xterm"})
    assert not is_worth_asking("auto", {"TERM": "xterm-kitty"})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"\x1b[?62;4;22c", True),
        (b"\x1b[?4c", True),
        (b"typed\x1b[?1;2;4c", True),
        (b"\x1b[?64;1;22;41c", False),
        (b"\x1b[?62;4", False),
        (b"", False),
        (b"4", False),
    ],
)
def test_answers_about_sixel(answer: bytes, expected: bool) -> None:
    assert tells_sixel(answer) is expected


@pytest.mark.parametrize(
    ("colorterm", "code"), [("truecolor", "38;2;"), ("24bit", "38;2;"), ("", "38;5;")]
)
def test_as_many_colours_as_the_terminal_has(colorterm: str, code: str) -> None:
    renderer = renderer_for("blocks", {"COLORTERM": colorterm})
    assert isinstance(renderer, BlockRenderer)
    assert code in renderer.draw(drawn("R", "G"), Room(1, 1)).output
