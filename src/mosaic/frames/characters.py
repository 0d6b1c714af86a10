"""Pictures of plain characters, darker pixels with less ink: for terminals without colour."""

from __future__ import annotations

from mosaic.fastlane.tiling import Picture
from mosaic.frames.colours import brightnesses
from mosaic.frames.drawing import Drawing, Room
from mosaic.frames.resizing import fitted, resized

RAMP = b" .:-=+*#%@"
_CHARACTERS = bytes(RAMP[value * len(RAMP) // 256] for value in range(256))


class CharacterRenderer:
    def draw(self, picture: Picture, room: Room) -> Drawing:
        lines = self.lines(picture, room)
        output = "".join(f"\x1b[{number};1H{line}" for number, line in enumerate(lines, 1))
        return Drawing(output, len(lines))

    def forget(self) -> None:
        """Every picture is drawn wholly."""

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
