"""What every way of drawing in a terminal has in common."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mosaic.fastlane.tiling import Picture

AUTO, BLOCKS, KITTY, SIXEL, ASCII = STYLES = ("auto", "blocks", "kitty", "sixel", "ascii")
USUAL_CELL = (8, 16)  # pixels, where the terminal does not say


class Room(NamedTuple):
    """Where a picture may go: cells of a terminal, from its top left corner."""

    columns: int
    rows: int
    cell: tuple[int, int] = USUAL_CELL  # width and height in pixels


class Drawing(NamedTuple):
    output: str  # moves the cursor as it likes
    rows: int  # how many are covered


class Renderer(Protocol):
    """Draws pictures one over the other. Used by one thread."""

    def draw(self, picture: Picture, room: Room) -> Drawing:
        """The picture at the top left of the screen, or what of it is new."""

    def forget(self) -> None:
        """The screen has been cleared: the next picture is redrawn in full."""

    def text(self, picture: Picture, room: Room) -> str:
        """The picture where the cursor is, as lines that may be scrolled."""

    def farewell(self) -> str:
        """What takes the picture away, where clearing the screen does not."""
