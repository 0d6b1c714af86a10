"""Sixels, read back by a small decoder."""

from __future__ import annotations

import random
import re

from mosaic.frames.drawing import Room
from mosaic.frames.renderers import SixelRenderer, sixels
from tests.unit.frames.pictures import drawn

TOKEN = re.compile(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)(.)|([$-])|([?-~])")


def read_sixels(output: str) -> tuple[list[list[int | None]], dict[int, tuple[int, ...]]]:
    """(rows of colour indices, palette in percent)"""
    match = re.fullmatch(r'\x1bP0;1q"1;1;(\d+);(\d+)(.*)\x1b\\', output)
    assert match, output[:40]
    width, height, body = int(match[1]), int(match[2]), match[3]
    rows: list[list[int | None]] = [[None] * width for _ in range(height)]
    palette: dict[int, tuple[int, ...]] = {}
    position = column = top = colour = 0
    while position < len(body):
        token = TOKEN.match(body, position)
        assert token, repr(body[position : position + 20])
        position = token.end()
        if token[1]:
            palette[int(token[1])] = int(token[2]), int(token[3]), int(token[4])
        elif token[5]:
            colour = int(token[5])
        elif token[8] == "$":
            column = 0
        elif token[8] == "-":
            column, top = 0, top + 6
        else:
            bits = ord(token[7] or token[9]) - 63
            end = column + int(token[6] or 1)
            for row in range(6):
                if bits >> row & 1:
                    rows[top + row][column:end] = [colour] * (end - column)
            column = end
    return rows, palette


def test_every_pixel_arrives() -> None:
    chance = random.Random(1)
    rows = [bytes(chance.choice((0, 5, 30, 215)) for _ in range(40)) for _ in range(18)]
    found, palette = read_sixels(sixels(rows, 40))
    assert found == [list(row) for row in rows]
    assert set(palette) == {0, 5, 30, 215}
    assert palette[215] == (100, 100, 100)


def test_long_runs_are_short() -> None:
    output = sixels([bytes(600)] * 6, 600)
    assert "!600~" in output
    assert len(output) < 60


def test_a_picture_is_scaled_to_whole_bands() -> None:
    drawing = SixelRenderer().draw(drawn("R.", ".R"), Room(4, 2, (10, 20)))
    assert drawing.output.startswith("\x1b[1;1H")
    rows, palette = read_sixels(drawing.output.removeprefix("\x1b[1;1H"))
    assert (len(rows[0]), len(rows)) == (40, 36)
    assert drawing.rows == 2
    assert (palette[rows[0][0] or 0], palette[rows[0][39] or 0]) == ((100, 0, 0), (0, 0, 0))
    assert (palette[rows[35][0] or 0], palette[rows[35][39] or 0]) == ((0, 0, 0), (100, 0, 0))
