"""The ways to draw a picture in a terminal: half blocks, characters, kitty graphics, sixels."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Sequence
from itertools import chain, compress, count
from operator import add, ne
from struct import Struct

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture
from mosaic.frames.drawing import Drawing, Room
from mosaic.frames.pictures import (
    FIRST_TERMINAL_COLOUR,
    brightnesses,
    cube_colour,
    cube_indices,
    fitted,
    resized,
    resized_rows,
)

RESET = "\x1b[0m"
_UPPER_HALF = "▀"
# To go on drawing over this many unchanged cells is shorter than to move the cursor.
_SMALL_GAP = 3

Cells = Sequence[bytes]  # a row: the colour above and the colour below, as one key
Fragments = list[list[str]]


def _fragments(*texts: str) -> Fragments:
    return [[text.format(value) for value in range(256)] for text in texts]


# What each byte of a cell looks like in its escape code, which ends with the character.
_TRUE_COLOUR = _fragments("\x1b[38;2;{};", "{};", "{};", "48;2;{};", "{};", "{}m▀")
_INDEXED_COLOUR = _fragments("\x1b[38;5;{};", "48;5;{}m▀")


class BlockRenderer:
    def __init__(self, has_true_colour: bool) -> None:
        self._colour_bytes = CHANNELS if has_true_colour else 1
        self._fragments = _TRUE_COLOUR if has_true_colour else _INDEXED_COLOUR
        self._shown: list[bytes] = []  # colours of each row of cells
        self._pixels = b""  # of the picture they are from
        self._layout: tuple[int, ...] = ()  # its size, and theirs

    def draw(self, picture: Picture, room: Room) -> Drawing:
        width, rows = self._rows(picture, room)
        before = self._shown
        is_comparable = len(before) == len(rows) and len(before[0]) == len(rows[0])
        parts = []
        for number, row in enumerate(rows, 1):
            if not is_comparable:
                parts.append(f"\x1b[{number};1H{self._painted(self._cells(row, width))}")
            elif row != before[number - 1]:
                cells, old = self._cells(row, width), self._cells(before[number - 1], width)
                for start, end in changed_runs(old, cells):
                    parts.append(f"\x1b[{number};{start + 1}H{self._painted(cells[start:end])}")
        self._shown = rows
        if parts:
            parts.append(RESET)
        return Drawing("".join(parts), len(rows))

    def forget(self) -> None:
        self._shown = []

    def text(self, picture: Picture, room: Room) -> str:
        width, rows = self._rows(picture, room)
        return "".join(f"{self._painted(self._cells(row, width))}{RESET}\n" for row in rows)

    def farewell(self) -> str:
        return ""

    def _rows(self, picture: Picture, room: Room) -> tuple[int, list[bytes]]:
        """How many cells a row has, and the rows; a cell counts as twice as high as wide."""
        width, height = fitted(picture.width, picture.height, room.columns, 2 * room.rows)
        height += height % 2  # half a cell more, by stretching the picture
        layout = (*picture[:2], width, height)
        if self._shown and layout == self._layout:
            rows = self._shown.copy()
            changed = changed_bands(self._pixels, picture, len(rows))
        else:
            rows = [b""] * (height // 2)
            changed = list(range(len(rows)))
        wanted = [row for band in changed for row in (2 * band, 2 * band + 1)]
        pixels = resized_rows(picture, width, height, wanted)
        if self._colour_bytes == 1:
            pixels = bytes(FIRST_TERMINAL_COLOUR + index for index in cube_indices(pixels))
        stride = 2 * width * self._colour_bytes
        for place, band in enumerate(changed):
            rows[band] = pixels[place * stride : (place + 1) * stride]
        self._layout, self._pixels = layout, picture.pixels
        return width, rows

    def _cells(self, row: bytes, width: int) -> Cells:
        colours = Struct(f"{self._colour_bytes}s" * width)
        above, below = colours.iter_unpack(row)
        return list(map(add, above, below))

    def _painted(self, cells: Cells) -> str:
        """Neighbours that look alike share an escape code."""
        starts = [0, *compress(count(1), map(ne, cells, cells[1:]))]
        colours = b"".join([cells[start] for start in starts])
        size = len(self._fragments)
        parts = [
            map(texts.__getitem__, colours[place::size])
            for place, texts in enumerate(self._fragments)
        ]
        ends = [*starts[1:], len(cells)]
        rest = [_UPPER_HALF * (end - start - 1) for start, end in zip(starts, ends, strict=True)]
        return "".join(chain.from_iterable(zip(*parts, rest, strict=True)))


def changed_bands(before: bytes, picture: Picture, count: int) -> list[int]:
    """Which of this many bands of a picture differ from what they were: most of a scene stands."""
    stride, after = picture.width * CHANNELS, picture.pixels
    tops = [band * picture.height // count * stride for band in range(count)]
    # Bands overlap by a row where the picture cannot be divided evenly.
    ends = [-(-band * picture.height // count) * stride for band in range(1, count + 1)]
    return [
        band
        for band, (top, end) in enumerate(zip(tops, ends, strict=True))
        if before[top:end] != after[top:end]
    ]


def changed_runs(before: Cells, after: Cells) -> list[tuple[int, int]]:
    """Where two rows differ: (start, end) of each stretch to draw again."""
    changed = list(compress(count(), map(ne, before, after)))
    if 2 * len(changed) > len(after):
        return [(changed[0], changed[-1] + 1)]
    runs: list[tuple[int, int]] = []
    for index in changed:
        if runs and index - runs[-1][1] <= _SMALL_GAP:
            runs[-1] = runs[-1][0], index + 1
        else:
            runs.append((index, index + 1))
    return runs


RAMP = b" .:-=+*#%@"
_CHARACTERS = bytes(RAMP[value * len(RAMP) // 256] for value in range(256))


class CharacterRenderer:
    def draw(self, picture: Picture, room: Room) -> Drawing:
        lines = self.lines(picture, room)
        output = "".join(f"\x1b[{number};1H{line}" for number, line in enumerate(lines, 1))
        return Drawing(output, len(lines))

    def forget(self) -> None:
        """Every picture is redrawn in full."""

    def text(self, picture: Picture, room: Room) -> str:
        return "".join(f"{line}\n" for line in self.lines(picture, room))

    def farewell(self) -> str:
        return ""

    def lines(self, picture: Picture, room: Room) -> list[str]:
        # Characters count as twice as high as wide.
        width, height = fitted(2 * picture.width, picture.height, room.columns, room.rows)
        small = resized(picture, width, height)
        text = brightnesses(small.pixels).translate(_CHARACTERS).decode("ascii")
        return [text[start : start + width] for start in range(0, len(text), width)]


_CHUNK = 4096  # of base64, as the protocol demands
_FAST = 1  # compression level: a picture is shown once
_IMAGE = 77  # any number; the next picture with it takes the place of the last


class KittyRenderer:
    def draw(self, picture: Picture, room: Room) -> Drawing:
        columns, rows = covered_cells(picture, room)
        return Drawing(f"\x1b[1;1H{image(picture, columns, rows, _IMAGE)}", rows)

    def forget(self) -> None:
        """Every picture is redrawn in full."""

    def text(self, picture: Picture, room: Room) -> str:
        columns, rows = covered_cells(picture, room)
        # Room for it first: at the lower edge the screen scrolls, and the picture must not.
        return f"{chr(10) * rows}\x1b[{rows}A{image(picture, columns, rows)}\x1b[{rows}B\r"

    def farewell(self) -> str:
        return f"\x1b_Ga=d,d=I,i={_IMAGE},q=2\x1b\\"


def covered_cells(picture: Picture, room: Room) -> tuple[int, int]:
    """(columns, rows) that a picture covers when its proportions are kept."""
    cell_width, cell_height = room.cell
    width, height = fitted(
        picture.width, picture.height, room.columns * cell_width, room.rows * cell_height
    )
    return max(1, round(width / cell_width)), max(1, round(height / cell_height))


def image(picture: Picture, columns: int, rows: int, number: int = 0) -> str:
    """Escape codes that show a picture at the cursor, which stays where it is."""
    data = base64.b64encode(zlib.compress(picture.pixels, _FAST)).decode("ascii")
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    # Transmit and show (a=T) compressed RGB (f=24, o=z), never answer (q=2).
    identity = f"i={number},p=1," if number else ""
    keys = f"a=T,f=24,o=z,{identity}s={picture.width},v={picture.height},"
    keys += f"c={columns},r={rows},C=1,q=2,"
    parts = []
    for index, chunk in enumerate(chunks):
        more = int(index < len(chunks) - 1)
        parts.append(f"\x1b_G{keys if index == 0 else ''}m={more};{chunk}\x1b\\")
    return "".join(parts)


BAND = 6  # rows of pixels in a sixel
_EMPTY = 63  # the character for "no pixel of this colour"; each bit adds one row
_RUNS = re.compile(rb"(.)\1{3,}", re.DOTALL)
_TO_CHARACTERS = bytes(min(255, bits + _EMPTY) for bits in range(256))


class SixelRenderer:
    def draw(self, picture: Picture, room: Room) -> Drawing:
        width, height, rows = _size(picture, room)
        return Drawing(f"\x1b[1;1H{sixels(_indexed(picture, width, height), width)}", rows)

    def forget(self) -> None:
        """Every picture is redrawn in full."""

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
