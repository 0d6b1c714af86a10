"""Runs the tests of the window as they are never run otherwise: they must not depend on their
order, on a font, on the scale of a screen, or on how soon something arrives.

    python tools/window_matrix.py                     everything, more than an hour on two cores
    python tools/window_matrix.py alone fonts         only these
    python tools/window_matrix.py shuffled --seed 7   the order of an earlier run
    python tools/window_matrix.py late --seed 7       the delays of an earlier run
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "tests/gui"
# Fonts that come with what the tests need anyway: a broad one and a narrow one.
FONT_FILES = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FONTS = ("DejaVuSerif.ttf", "STIXGeneral.ttf")
SCALES = ("1.0", "1.25", "2.0")
NOTHING_COLLECTED = 5  # pytest's status for a file whose tests are all left out
LAST_LINES = 60
LATE_SEEDS = 3


class Variation(NamedTuple):
    name: str
    where: str
    variables: dict[str, str]


def alone(_: int) -> Iterator[Variation]:
    for file in sorted((ROOT / FOLDER).glob("test_*.py")):
        yield Variation(f"{file.name} alone", f"{FOLDER}/{file.name}", {})


def shuffled(seed: int) -> Iterator[Variation]:
    yield Variation(f"in the order of seed {seed}", FOLDER, {"MOSAIC_TEST_ORDER": str(seed)})


def in_other_fonts(_: int) -> Iterator[Variation]:
    for name in FONTS:
        path = FONT_FILES / name
        assert path.exists(), path
        yield Variation(f"in {name}", FOLDER, {"MOSAIC_TEST_FONT": str(path)})


def scaled(_: int) -> Iterator[Variation]:
    for scale in SCALES:
        yield Variation(f"at scale {scale}", FOLDER, {"QT_SCALE_FACTOR": scale})


def late(seed: int) -> Iterator[Variation]:
    for number in range(seed, seed + LATE_SEEDS):
        yield Variation(f"late by seed {number}", FOLDER, {"MOSAIC_TEST_LATE": str(number)})


KINDS: dict[str, Callable[[int], Iterator[Variation]]] = {
    "alone": alone,
    "shuffled": shuffled,
    "fonts": in_other_fonts,
    "scales": scaled,
    "late": late,
}


def passes(variation: Variation) -> bool:
    """Says how it went in one line, and all about a failure."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", variation.where, "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, **variation.variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = result.stdout.splitlines()
    is_good = result.returncode in (0, NOTHING_COLLECTED)
    summary = lines[-1] if lines else "it said nothing"
    word = "ok  " if is_good else "FAIL"
    print(f"{word} {variation.name}: {summary}", flush=True)
    if not is_good:
        print("\n".join(lines[-LAST_LINES:]), flush=True)
    return is_good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    wanted = parser.parse_args()
    kinds = wanted.kinds or list(KINDS)
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    found = [passes(variation) for kind in kinds for variation in KINDS[kind](wanted.seed)]
    print(f"{sum(found)} of {len(found)} passed")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
