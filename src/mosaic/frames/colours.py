"""Pixels as indices of the 216 colours every colour terminal has, or as shades of grey. Pure."""

from __future__ import annotations

from mosaic.fastlane.layout import CHANNELS

LEVELS = 6  # of red, green and blue
SHADES = (0, 95, 135, 175, 215, 255)  # of a level, as terminals show it
FIRST_TERMINAL_COLOUR = 16  # where the cube starts among a terminal's 256 colours


def _nearest_level(value: int) -> int:
    return min(range(LEVELS), key=lambda level: abs(SHADES[level] - value))


_NEAREST = [_nearest_level(value) for value in range(256)]
_CUBE = tuple(bytes(weight * level for level in _NEAREST) for weight in (36, 6, 1))
# What red, green and blue add to the brightness; together at most 255.
_BRIGHTNESS = tuple(
    bytes(int(value * part) for value in range(256)) for part in (0.299, 0.587, 0.114)
)


def cube_indices(pixels: bytes) -> bytes:
    """One byte per pixel, 0 to 215: red * 36 + green * 6 + blue, each of them a level."""
    return _summed(pixels, _CUBE)


def brightnesses(pixels: bytes) -> bytes:
    """One byte per pixel, 0 to 254."""
    return _summed(pixels, _BRIGHTNESS)


def cube_colour(index: int) -> tuple[int, int, int]:
    return SHADES[index // 36], SHADES[index // LEVELS % LEVELS], SHADES[index % LEVELS]


def _summed(pixels: bytes, tables: tuple[bytes, ...]) -> bytes:
    """The bytes of each pixel, looked up and added. As one number each channel: no loop here."""
    planes = (pixels[channel::CHANNELS].translate(table) for channel, table in enumerate(tables))
    total = sum(int.from_bytes(plane, "little") for plane in planes)
    return total.to_bytes(len(pixels) // CHANNELS, "little")
