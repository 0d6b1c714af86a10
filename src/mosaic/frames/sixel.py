"""Sixel graphics: six rows of pixels at a time, colour after colour, in 216 colours."""

from __future__ import annotations

import re

from mosaic.fastlane.tiling import Picture
from mosaic.frames.colours import cube_colour, cube_indices
from mosaic.frames.drawing import Drawing, Room
from mosaic.frames.resizing import fitted, resized

BAND = 6  # rows of pixels in a sixel
_EMPTY = 63  # the character for "no pixel of this colour"; each bit adds one row
_RUNS = re.compile(rb"(.)\1{3,}", re.DOTALL)
_TO_CHARACTERS = bytes(min(255, bits + _EMPTY) for bits in range(256))


class SixelRenderer:
    def draw(self, picture: Picture, room: Room) -> Drawing:
        width, height, rows = _size(picture, room)
        return Drawing(f"\x1b[1;1H{sixels(_indexed(picture, width, height), width)}", rows)

    def forget(self) -> None:
        """Every picture is drawn wholly."""

    def text(self, picture: Picture, room: Room) -> str:
        width, height, _ = _size(picture, room)
        return sixels(_indexed(picture, width, height), width) + "\n"

    def farewell(self) -> str:
        return ""


def _size(picture: Picture, room: Room) -> tuple[int, int, int]:
    """(width, height) in pixels and rows covered; whole bands only, or the screen may scroll."""
    cell_width, cell_height = room.cell
    width, height = fitted(
        picture.width, picture.height, room.columns * cell_width, room.rows * cell_height
    )
    height = max(BAND, height // BAND * BAND)
    return width, height, -(-height // cell_height)


def _indexed(picture: Picture, width: int, height: int) -> list[bytes]:
    """Rows of colour indices, in the new size."""
    indices = cube_indices(resized(picture, width, height).pixels)
    return [indices[start : start + width] for start in range(0, len(indices), width)]


def sixels(rows: list[bytes], width: int) -> str:
    """Escape codes for rows of colour indices (0 to 215), all of this width."""
    used = sorted(set(b"".join(rows)))
    palette = "".join(f"#{index};2;{_percent(index)}" for index in used)
    bands = [_band(rows[top : top + BAND], width) for top in range(0, len(rows), BAND)]
    return f'\x1bP0;1q"1;1;{width};{len(rows)}{palette}{"-".join(bands)}\x1b\\'


def _percent(index: int) -> str:
    return ";".join(str(round(value * 100 / 255)) for value in cube_colour(index))


def _band(rows: list[bytes], width: int) -> str:
    """Each colour draws its pixels of the six rows, then returns to the left edge."""
    lines = []
    for colour in sorted(set(b"".join(rows))):
        bits = 0
        for number, row in enumerate(rows):
            if colour in row:
                # A byte per column: whole rows are looked up and combined as one number.
                table = bytes(colour) + bytes([1 << number]) + bytes(255 - colour)
                bits |= int.from_bytes(row.translate(table), "little")
        characters = bits.to_bytes(width, "little").translate(_TO_CHARACTERS)
        short = _RUNS.sub(lambda run: b"!%d%s" % (len(run[0]), run[1]), characters)
        lines.append(f"#{colour}{short.decode('ascii')}")
    return "$".join(lines)
