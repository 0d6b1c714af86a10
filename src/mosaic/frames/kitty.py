"""The graphics protocol of the terminal kitty: whole pictures, scaled by the terminal itself."""

from __future__ import annotations

import base64
import zlib

from mosaic.fastlane.tiling import Picture
from mosaic.frames.drawing import Drawing, Room
from mosaic.frames.resizing import fitted

_CHUNK = 4096  # of base64, as the protocol demands
_FAST = 1  # compression level: a picture is shown once
_IMAGE = 77  # any number; the next picture with it takes the place of the last


class KittyRenderer:
    def draw(self, picture: Picture, room: Room) -> Drawing:
        columns, rows = covered_cells(picture, room)
        return Drawing(f"\x1b[1;1H{image(picture, columns, rows, _IMAGE)}", rows)

    def forget(self) -> None:
        """Every picture is drawn wholly."""

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
