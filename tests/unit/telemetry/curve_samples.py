"""Curves of every shape with the journal lines that report them, and what they should come to."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from mosaic.contracts.events import number_to_json
from mosaic.telemetry.ingest import JournalIngest
from tests import journal_lines as lines


class Point(NamedTuple):
    step: int
    value: float
    timestamp: float


@dataclass
class Reported:
    """Lines of a journal, and per metric the points that must be in the store after them."""

    lines: list[bytes] = field(default_factory=list)
    curves: dict[str, list[Point]] = field(default_factory=dict)
    is_rising: bool = True  # whether the steps of each metric rise strictly

    def point(self, name: str, step: int, value: float) -> None:
        seq = len(self.lines)
        timestamp = 1_767_225_600.0 + seq * 0.001
        curve = self.curves.setdefault(name, [])
        self.is_rising &= not curve or step > curve[-1].step
        curve.append(Point(step, value, timestamp))
        self.lines.append(lines.metric(seq, name, number_to_json(value), at=step))

    def continue_from(self, step: int) -> None:
        self.lines.append(lines.lifecycle("checkpoint_loaded", len(self.lines), step=step))
        kept = {
            name: [point for point in curve if point.step <= step]
            for name, curve in self.curves.items()
        }
        self.curves = {name: curve for name, curve in kept.items() if curve}


VALUES = (0.0, 1.5, -2.25, 1e300, -1e-300, 1.7e308, math.nan, math.inf, -math.inf)


@st.composite
def reported(draw: st.DrawFn) -> Reported:
    chance = random.Random(draw(st.integers(0, 2**32)))
    made = Reported()
    step = draw(st.sampled_from([0, -1000, 2**53 - 100_000]))
    for _ in range(draw(st.integers(1, 4))):
        names = draw(st.sampled_from([["loss"], ["loss", "return"], ["loss", "\u00fc/\u2603", ""]]))
        count = draw(st.sampled_from([1, 63, 64, 65, 600, 2000]))
        shape = draw(st.sampled_from(["rising", "rising", "same", "random", "falling"]))
        is_strange = draw(st.booleans())
        for place in range(count):
            step += {"rising": chance.choice((1, 1, 7)), "falling": -1}.get(shape, 0)
            at = chance.randrange(-50, 50) if shape == "random" else step
            strange = is_strange and chance.random() < 0.3
            value = chance.choice(VALUES) if strange else chance.gauss(0, 1)
            made.point(names[place % len(names)], at, value)
        if draw(st.booleans()):
            made.continue_from(step - draw(st.sampled_from([0, 10, 500, 10_000])))
            step = max((c[-1].step for c in made.curves.values()), default=0)
    return made


def stored(folder: Path, journal_lines: Sequence[bytes], chunk_bytes: int = 1 << 20) -> Path:
    lines.append(folder / "events.jsonl", journal_lines)
    path = folder / "telemetry.sqlite"
    ingest = JournalIngest(lines.RUN_ID, folder / "events.jsonl", path)
    while ingest.step(chunk_bytes).has_more:
        pass
    ingest.close()
    return path


def finite(points: Sequence[Point]) -> list[float]:
    return [point.value for point in points if math.isfinite(point.value)]


def mean(points: Sequence[Point]) -> float:
    values = finite(points)
    return math.fsum(value / len(values) for value in values) if values else math.nan
