"""Two pixels per character: an upper half block whose foreground is one, its background the other.

Only cells that changed are drawn again. Escape codes are put together from prepared fragments.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress, count
from operator import add, ne
from struct import Struct

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture
from mosaic.frames.colours import FIRST_TERMINAL_COLOUR, cube_indices
from mosaic.frames.drawing import Drawing, Room
from mosaic.frames.resizing import fitted, resized_rows

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
    """Which of so many bands of a picture differ from what they were: most of a scene stands."""
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
