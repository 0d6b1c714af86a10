"""Numbers on the command line; what is none is refused in words."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def natural(text: str) -> int:
    """0, 1, 2, …"""
    return _whole(text, 0, math.inf)


def positive(text: str) -> int:
    """1, 2, 3, …"""
    return _whole(text, 1, math.inf)


def whole_between(least: int, most: int) -> Callable[[str], int]:
    return lambda text: _whole(text, least, most)


def number_between(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text[:40]} is not between {least:g} and {most:g}")
        return value

    return parse


def _whole(text: str, least: int, most: float) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{text[:40]} is less than {least}")
    if value > most:
        raise argparse.ArgumentTypeError(f"{text[:40]} is more than {most}")
    return value
