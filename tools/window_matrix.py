"""Runs the tests of the window as they are never run otherwise: they must not depend on their
order, on a font, on the scale of a screen, or on how soon something arrives.

    python tools/window_matrix.py                     everything, half an hour on two cores
    python tools/window_matrix.py alone looks         only these
    python tools/window_matrix.py looks --seed 7      the orders of an earlier run
    python tools/window_matrix.py late --seed 7       the delays of an earlier run

What a variation sets is in its name, as variables: with them pytest does the same again, or with
some of them, to find out which one it is.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "tests/gui"
# Fonts that come with what the tests need anyway: a broad one and a narrow one.
FONT_FILES = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
# Each scale once, with another font than ours where there is one; each in an order of its own.
LOOKS = (("", "1.0"), ("DejaVuSerif.ttf", "1.25"), ("STIXGeneral.ttf", "2.0"))
NOTHING_COLLECTED = 5  # pytest's status for a file whose tests are all left out
LAST_LINES = 60
LATE_SEEDS = 3
AT_ONCE = 2


class Variation(NamedTuple):
    where: str
    variables: dict[str, str]

    @property
    def name(self) -> str:
        return " ".join([*(f"{name}={text}" for name, text in self.variables.items()), self.where])


def alone(_: int) -> Iterator[Variation]:
    for file in sorted((ROOT / FOLDER).glob("test_*.py")):
        yield Variation(f"{FOLDER}/{file.name}", {})


def looks(seed: int) -> Iterator[Variation]:
    for number, (font, scale) in enumerate(LOOKS, seed):
        variables = {"MOSAIC_TEST_ORDER": str(number), "QT_SCALE_FACTOR": scale}
        if font:
            path = FONT_FILES / font
            assert path.exists(), path
            variables["MOSAIC_TEST_FONT"] = str(path)
        yield Variation(FOLDER, variables)


def late(seed: int) -> Iterator[Variation]:
    for number in range(seed, seed + LATE_SEEDS):
        yield Variation(FOLDER, {"MOSAIC_TEST_LATE": str(number)})


KINDS: dict[str, Callable[[int], Iterator[Variation]]] = {
    "looks": looks,
    "late": late,
    "alone": alone,
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
    told = [f"{word} {variation.name}: {summary}", *([] if is_good else lines[-LAST_LINES:])]
    print("\n".join(told) + "\n", end="", flush=True)  # at once: others talk meanwhile
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
    variations = [variation for kind in kinds for variation in KINDS[kind](wanted.seed)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(passes, variations))
    print(f"{sum(found)} of {len(found)} passed")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
