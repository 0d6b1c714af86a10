"""Cuts the power of a writer at every moment and in every way, and has what is left recovered.

A writer is a module in `tests.crash_states.writers` with the functions of the protocol below. It
uses the project's own code for writing as for recovering; what it adds is only what must be true.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from tests.crash_states.operations import Recording
from tests.crash_states.power_cut import Effort, PowerCut, power_cuts

Announce = Callable[[str], None]
MOST_COMPLAINTS = 20


class Writer(Protocol):
    def prepare(self, root: Path) -> None:
        """Put into the folder what is there from before, long since safe on the disk."""

    def write(self, root: Path, announce: Announce) -> None:
        """Runs in a process of its own; announces what it begins and what it has acknowledged."""

    def recover(self, root: Path) -> Any:
        """Open what a power cut left, as the program would at its next start, and describe it.

        A coroutine function, where the program needs an event loop.
        """

    def complaint(self, recovered: Any, said: Sequence[str]) -> str:
        """What is wrong with that, after what had been announced; empty when nothing is."""


@dataclass
class Tally:
    writer: str
    operations: int
    states: int = 0
    distinct: int = 0
    recovered: int = 0
    complaints: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.writer}: {self.operations} operations, {self.states:,} crash states, "
            f"{self.distinct:,} distinct, {self.recovered:,} recovered"
        )


def writer_called(name: str) -> Writer:
    """A module, or an object in one: "trash", "careless_files.in_place"."""
    module, _, member = name.partition(".")
    found = importlib.import_module(f"tests.crash_states.writers.{module}")
    return cast("Writer", getattr(found, member) if member else found)


def prove(
    name: str,
    recording: Recording,
    root: Path,
    effort: Effort,
    most_complaints: int = MOST_COMPLAINTS,
) -> Tally:
    """`root` is the folder of the recording: paths inside files stay true."""
    writer = writer_called(name)
    tally = Tally(name, len(recording.changes))
    outcomes: dict[bytes, Any] = {}
    bad: set[bytes] = set()
    judged: set[tuple[bytes, int]] = set()
    # One event loop, with its threads, for thousands of states.
    with asyncio.Runner() as runner:
        for cut in power_cuts(recording, effort):
            tally.states += 1
            digest = cut.disk.digest
            if (digest, len(cut.said)) in judged:
                continue
            judged.add((digest, len(cut.said)))
            if digest not in outcomes:
                outcomes[digest] = _recovered(writer, cut, root, runner)
            complaint = _judged(writer, outcomes[digest], cut)
            if complaint:
                bad.add(digest)
                tally.complaints.append(complaint)
                if len(tally.complaints) == most_complaints:
                    break
    tally.distinct = len(outcomes)
    tally.recovered = tally.distinct - len(bad)
    return tally


def _recovered(writer: Writer, cut: PowerCut, root: Path, runner: asyncio.Runner) -> Any:
    shutil.rmtree(root)
    root.mkdir()
    cut.disk.write_below(root)
    try:
        recovered = writer.recover(root)
        return runner.run(recovered) if inspect.iscoroutine(recovered) else recovered
    except Exception as error:  # noqa: BLE001 (whatever it is, the state was not recovered)
        return error


def _judged(writer: Writer, outcome: Any, cut: PowerCut) -> str:
    if isinstance(outcome, Exception):
        problem = f"{type(outcome).__name__}: {outcome}"
    else:
        problem = writer.complaint(outcome, cut.said)
    if not problem:
        return ""
    return (
        f"{problem}\n  power cut before: {cut.before}\n  announced: {', '.join(cut.said) or '-'}\n"
        + "".join(f"  {what}\n" for what in cut.damage)
    )
