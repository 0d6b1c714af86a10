"""The graphics protocol of kitty, read back as the terminal does."""

from __future__ import annotations

import base64
import os
import re
import zlib

from mosaic.fastlane.tiling import Picture
from mosaic.frames.drawing import Room
from mosaic.frames.renderers import KittyRenderer, covered_cells, image
from tests.unit.frames.pictures import drawn


def read_image(output: str) -> tuple[dict[str, str], bytes]:
    """(keys, pixels)"""
    chunks = re.findall(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\", output)
    keys = dict(pair.split("=") for pair in chunks[0][0].split(","))
    assert [chunk[0][-3:] for chunk in chunks] == ["m=1"] * (len(chunks) - 1) + ["m=0"]
    assert all(len(data) <= 4096 and len(data) % 4 == 0 for _, data in chunks)
    return keys, zlib.decompress(base64.b64decode("".join(data for _, data in chunks)))


def test_the_pixels_arrive() -> None:
    picture = drawn("RGB", "WWW")
    keys, pixels = read_image(image(picture, 3, 1))
    assert pixels == picture.pixels
    assert (keys["s"], keys["v"], keys["f"], keys["o"]) == ("3", "2", "24", "z")
    assert (keys["c"], keys["r"]) == ("3", "1")


def test_a_large_picture_comes_in_chunks() -> None:
    picture = Picture(100, 80, os.urandom(100 * 80 * 3))
    output = image(picture, 10, 4)
    assert output.count("\x1b_G") > 2
    assert read_image(output)[1] == picture.pixels


def test_the_next_picture_takes_the_place_of_the_last_and_is_taken_away() -> None:
    renderer = KittyRenderer()
    first, second = (
        read_image(renderer.draw(drawn(colour), Room(4, 4)).output)[0] for colour in "RG"
    )
    assert first["i"] == second["i"] != "0"
    assert first["p"] == second["p"]
    assert f"i={first['i']}" in renderer.farewell()


def test_the_terminal_never_answers() -> None:
    renderer = KittyRenderer()
    output = renderer.draw(drawn("R"), Room(4, 4)).output
    assert "q=2" in output and "q=2" in renderer.farewell()


def test_proportions_are_those_of_the_terminals_cells() -> None:
    square = drawn("RR", "RR")
    assert covered_cells(square, Room(80, 20, (10, 20))) == (40, 20)
    assert covered_cells(square, Room(80, 20, (10, 10))) == (20, 20)
    assert covered_cells(square, Room(10, 20, (10, 20))) == (10, 5)


def test_as_text_the_cursor_ends_below_the_picture() -> None:
    text = KittyRenderer().text(drawn("RR", "RR"), Room(8, 4))
    assert text.startswith("\n" * 4 + "\x1b[4A\x1b_G")
    assert text.endswith("\x1b[4B\r")
