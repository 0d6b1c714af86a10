"""What the half-block renderer sends: read back by a little terminal that knows its codes."""

from __future__ import annotations

import random
import re

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.frames.drawing import Room
from mosaic.frames.renderers import BlockRenderer, changed_bands, changed_runs
from tests.unit.frames.pictures import COLOURS, drawn

CODE = re.compile(r"\x1b\[([\d;]*)([mH])|(▀)")
Cell = tuple[tuple[int, ...], tuple[int, ...]]


class Terminal:
    """Remembers the colours of each cell; any byte it does not understand is an error."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], Cell] = {}
        self.written = 0

    def feed(self, output: str) -> None:
        row = column = 1
        above: tuple[int, ...] = ()
        below: tuple[int, ...] = ()
        position = 0
        while position < len(output):
            code = CODE.match(output, position)
            assert code, repr(output[position : position + 20])
            position = code.end()
            if code[3]:
                self.cells[row, column] = above, below
                self.written += 1
                column += 1
            elif code[2] == "H":
                row, column = (int(number) for number in code[1].split(";"))
            elif code[1] == "0":
                above = below = ()
            else:
                numbers = [int(number) for number in code[1].split(";")]
                half = len(numbers) // 2
                assert (numbers[0], numbers[half]) == (38, 48)
                above, below = tuple(numbers[2:half]), tuple(numbers[half + 2 :])

    def shown(self) -> Picture:
        height = max(row for row, _ in self.cells)
        width = max(column for _, column in self.cells)
        pixels = b""
        for row in range(1, height + 1):
            for half in (0, 1):
                for column in range(1, width + 1):
                    pixels += bytes(self.cells[row, column][half])
        return Picture(width, 2 * height, pixels)


def test_a_cell_is_the_pixel_above_on_the_pixel_below() -> None:
    drawing = BlockRenderer(True).draw(drawn("R", "B"), Room(1, 1))
    assert drawing.output == "\x1b[1;1H\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m"
    assert drawing.rows == 1


def test_cells_that_look_alike_share_their_code() -> None:
    output = BlockRenderer(True).draw(drawn("RRG", "RRG"), Room(3, 1)).output
    red, green = "38;2;255;0;0;48;2;255;0;0", "38;2;0;255;0;48;2;0;255;0"
    assert output == f"\x1b[1;1H\x1b[{red}m▀▀\x1b[{green}m▀\x1b[0m"


def test_256_colours_where_there_are_no_more() -> None:
    output = BlockRenderer(False).draw(drawn("RW", "B."), Room(2, 1)).output
    assert output == "\x1b[1;1H\x1b[38;5;196;48;5;21m▀\x1b[38;5;231;48;5;16m▀\x1b[0m"


def test_the_whole_picture_arrives() -> None:
    picture = drawn("RGBW", "WBGR", "....", "R.R.")
    terminal = Terminal()
    terminal.feed(BlockRenderer(True).draw(picture, Room(4, 2)).output)
    assert terminal.shown() == picture


def test_only_cells_that_changed_are_drawn_again() -> None:
    renderer, terminal, room = BlockRenderer(True), Terminal(), Room(8, 2)
    before = drawn("RRRRRRRR", "RRRRRRRR", "........", "........")
    after = drawn("RRRRRRRR", "RRRRRRRG", "........", "........")
    terminal.feed(renderer.draw(before, room).output)
    terminal.written = 0
    output = renderer.draw(after, room).output
    terminal.feed(output)
    assert output.startswith("\x1b[1;8H")
    assert terminal.written == 1
    assert terminal.shown() == after


def test_nothing_is_sent_for_the_same_picture() -> None:
    renderer, picture = BlockRenderer(True), drawn("RG", "BW")
    renderer.draw(picture, Room(2, 1))
    assert renderer.draw(picture, Room(2, 1)).output == ""


def test_a_cleared_screen_is_drawn_wholly() -> None:
    renderer, picture = BlockRenderer(True), drawn("RG", "BW")
    first = renderer.draw(picture, Room(2, 1))
    renderer.forget()
    assert renderer.draw(picture, Room(2, 1)) == first


def test_another_room_is_drawn_wholly() -> None:
    renderer, picture = BlockRenderer(True), drawn("RGBW", "WBGR", "....", "R.R.")
    renderer.draw(picture, Room(2, 1))
    terminal = Terminal()
    terminal.feed(renderer.draw(picture, Room(4, 2)).output)
    assert terminal.shown() == picture


@pytest.mark.parametrize("size", [(20, 10), (47, 33), (160, 83), (7, 3), (10, 90)])
def test_what_is_on_the_screen_is_always_the_last_picture(size: tuple[int, int]) -> None:
    chance = random.Random(4)
    renderer, terminal, room = BlockRenderer(True), Terminal(), Room(20, 5)
    width, height = size
    pixels = bytearray(width * height * 3)
    for _ in range(60):
        for _ in range(chance.choice((0, 1, 5, 60, 400))):
            at = chance.randrange(width * height) * 3
            pixels[at : at + 3] = chance.choice(list(COLOURS.values()))
        picture = Picture(width, height, bytes(pixels))
        terminal.feed(renderer.draw(picture, room).output)
        afresh = Terminal()
        afresh.feed(BlockRenderer(True).draw(picture, room).output)
        assert terminal.shown() == afresh.shown()


def test_bands_that_cannot_be_divided_evenly_share_a_row() -> None:
    before = drawn("R", "R", "R")
    assert changed_bands(before.pixels, drawn("R", "G", "R"), 2) == [0, 1]
    assert changed_bands(before.pixels, drawn("G", "R", "R"), 2) == [0]
    assert changed_bands(before.pixels, before, 2) == []


def test_an_odd_number_of_rows_fills_whole_cells() -> None:
    terminal = Terminal()
    drawing = BlockRenderer(True).draw(drawn("RR", "GG", "BB"), Room(2, 9))
    terminal.feed(drawing.output)
    assert drawing.rows == 2
    assert terminal.shown().height == 4


def test_text_is_lines_without_positions() -> None:
    text = BlockRenderer(True).text(drawn("RG", "BW", "RG", "BW"), Room(2, 2))
    lines = text.splitlines()
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert "H" not in text and lines[0].endswith("\x1b[0m")


def test_runs_close_to_each_other_are_one() -> None:
    before = [b"a"] * 20
    after = list(before)
    after[2] = after[5] = after[15] = b"b"
    assert changed_runs(before, after) == [(2, 6), (15, 16)]


def test_a_row_that_mostly_changed_is_one_run() -> None:
    assert changed_runs([b"a"] * 6, [b"a", b"b", b"b", b"a", b"b", b"b"]) == [(1, 6)]
