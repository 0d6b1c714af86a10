"""Keys as terminals send them."""

from __future__ import annotations

import pytest

from mosaic.frames.terminal import keys_in


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
