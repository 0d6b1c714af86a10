"""Pictures of plain characters."""

from __future__ import annotations

from mosaic.fastlane.tiling import Picture
from mosaic.frames.drawing import Room
from mosaic.frames.renderers import CharacterRenderer
from tests.unit.frames.pictures import drawn


def test_bright_pixels_have_more_ink() -> None:
    assert CharacterRenderer().lines(drawn("W.", ".W"), Room(4, 2)) == ["@@  ", "  @@"]


def test_green_is_brighter_than_blue() -> None:
    (line,) = CharacterRenderer().lines(drawn("GB"), Room(4, 1))
    assert line == "++.."


def test_every_shade_has_a_character() -> None:
    pixels = b"".join(bytes([value] * 3) for value in range(256))
    (line,) = CharacterRenderer().lines(Picture(256, 1, pixels), Room(512, 1))
    assert list(dict.fromkeys(line)) == list(" .:-=+*#%@")


def test_lines_are_put_into_their_places() -> None:
    drawing = CharacterRenderer().draw(drawn("W", "."), Room(2, 2))
    assert drawing == ("\x1b[1;1H@@\x1b[2;1H  ", 2)
    assert CharacterRenderer().text(drawn("W", "."), Room(2, 2)) == "@@\n  \n"
