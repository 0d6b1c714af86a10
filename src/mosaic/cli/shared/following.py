"""Following runs to their end.

One run is a live bar on a terminal, a plain line now and then anywhere else; several runs (the
seeds of one experiment) end with a summary.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from mosaic.cli.shared.failures import INTERRUPTED, guaranteed_interrupt, outcome_status
from mosaic.cli.shared.run_view import note_line, progress_line, say_end
from mosaic.cli.shared.terminal import (
    cut,
    is_terminal,
    paint,
    printable,
    say,
    say_json,
    say_to_stderr,
)
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import decimal, duration
from mosaic.front.run_words import progress_parts, remaining_s, remarks_of, state_word

if TYPE_CHECKING:
    from mosaic.client import TrainerClient

PLAIN_INTERVAL_S = REMARKS_INTERVAL_S = 2.0
CLOCK_WIDTH = len("0:00:00")
GAPS = 6  # between six columns, and one to spare


class ProgressView(Protocol):
    def __enter__(self) -> ProgressView: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, record: RunRecord) -> None: ...
    def note(self, remark: str) -> None: ...


class SilentProgress:
    def __enter__(self) -> SilentProgress:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, record: RunRecord) -> None:
        pass

    def note(self, remark: str) -> None:
        pass


class PlainProgress(SilentProgress):
    """One line per change of state, and at most one per interval in between."""

    def __init__(self, interval_s: float = PLAIN_INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._last_word = ""
        self._said_at = 0.0

    def show(self, record: RunRecord) -> None:
        now = time.monotonic()
        word = state_word(record)
        if record.is_over:
            return  # the end has lines of its own
        if word != self._last_word or now - self._said_at >= self._interval_s:
            self._last_word, self._said_at = word, now
            say(progress_line(record))

    def note(self, remark: str) -> None:
        say(note_line(remark))


class LiveProgress:
    """One line that changes in place."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        def text(field: str) -> Any:
            return TextColumn(f"{{task.fields[{field}]}}", markup=False)

        console = Console(file=sys.stdout)
        self._width = console.width
        self._bar_width = 24 if console.width >= 120 else 8
        self._progress = Progress(
            text("word"),
            BarColumn(bar_width=self._bar_width),
            text("share"),
            text("detail"),
            TimeElapsedColumn(),
            text("eta"),
            console=console,
            transient=True,
            refresh_per_second=8,
        )
        self._task = self._progress.add_task(
            "", total=None, word="queued", share="", detail="", eta=""
        )

    def __enter__(self) -> LiveProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, record: RunRecord) -> None:
        fraction = record.progress.fraction
        remaining = remaining_s(record)
        word = state_word(record)
        share = "" if fraction is None else f"{fraction:4.0%}"
        eta = "" if remaining is None else f"ETA {duration(remaining)}"
        notes = [text for text in (record.waiting, record.stalled) if text]
        # Cut here: rich would shorten every column alike, the important ones too.
        taken = len(word) + self._bar_width + len(share) + CLOCK_WIDTH + len(eta) + GAPS
        detail = printable("  ".join(notes + progress_parts(record)))
        self._progress.update(
            self._task,
            total=None if fraction is None else 1.0,
            completed=fraction or 0.0,
            word=word,
            share=share,
            detail=cut(detail, max(1, self._width - taken)),
            eta=eta,
        )

    def note(self, remark: str) -> None:
        """Above the line, where it stays."""
        from rich.text import Text

        self._progress.console.print(Text.from_ansi(note_line(remark)))


class NewRemarks:
    """What people should know about a run, said as soon as it is known, each once."""

    def __init__(self, client: TrainerClient, run_id: str) -> None:
        self._client, self._run_id = client, run_id
        self._said: set[str] = set()
        self._next_look = time.monotonic() + REMARKS_INTERVAL_S

    def say_new(self, view: ProgressView) -> None:
        if time.monotonic() < self._next_look:
            return
        for remark in remarks_of(self._client.get_run(self._run_id)):
            if remark not in self._said:
                self._said.add(remark)
                view.note(remark)
        self._next_look = time.monotonic() + REMARKS_INTERVAL_S


def choose_view(as_json: bool) -> ProgressView:
    if as_json:
        return SilentProgress()
    return LiveProgress() if is_terminal(sys.stdout) else PlainProgress()


def follow_to_the_end(client: TrainerClient, run_id: str, as_json: bool) -> int:
    """Show the run until it is over; the exit status says how it ended. Ctrl-C lets it go on."""
    try:
        with guaranteed_interrupt(lambda: say_detached(run_id)):
            with choose_view(as_json) as view:
                remarks = NewRemarks(client, run_id)
                for record in client.watch([run_id]):
                    view.show(record)
                    if record.is_over:
                        break
                    remarks.say_new(view)
            record = client.get_run(run_id)
    except KeyboardInterrupt:
        say_detached(run_id)
        return INTERRUPTED
    if as_json:
        say_json(record.to_dict())
    else:
        say_end(record)
        say_solved(client, record)
    return outcome_status(record)


def say_detached(run_id: str) -> None:
    say_to_stderr(
        f"\nDetached: the run goes on.\n"
        f"  stop it    mosaic stop {run_id}\n"
        f"  its log    mosaic logs -f {run_id}"
    )


def say_solved(client: TrainerClient, record: RunRecord) -> None:
    """When its task was solved, where the catalogue knows what that means."""
    from mosaic.front.catalogue import environments
    from mosaic.front.solving import may_be_solved, solved_at

    known = next((item for item in environments() if item.id == record.env_id), None)
    threshold = known.reward_threshold if known else None
    if threshold is None or not may_be_solved(record, threshold):
        return
    found = solved_at(client.episodes(record.run_id), threshold, record.started_at)
    if found is not None:
        say(paint(f"{found.text}: {found.reason}", "green"))


SUMMARY_INTERVAL_S = 5.0


def follow_all(client: TrainerClient, run_ids: Sequence[str], as_json: bool) -> int:
    """One line per run now and then, a summary at the end; the worst outcome is the status."""
    records: dict[str, RunRecord] = {}
    said_at = 0.0
    try:
        with guaranteed_interrupt(say_goodbye):
            for record in client.watch(run_ids):
                records[record.run_id] = record
                if len(records) == len(run_ids) and all(run.is_over for run in records.values()):
                    break
                if not as_json and time.monotonic() - said_at >= SUMMARY_INTERVAL_S:
                    said_at = time.monotonic()
                    say_progress(records.values())
    except KeyboardInterrupt:
        say_goodbye()
        return INTERRUPTED
    finished = [client.get_run(run_id) for run_id in run_ids]
    if as_json:
        say_json([record.to_dict() for record in finished])
    else:
        for record in finished:
            say_end(record)
        say(summary(finished))
    return max(outcome_status(record) for record in finished)


def say_progress(records: Iterable[RunRecord]) -> None:
    for run in records:
        if run.started_at is not None and not run.is_over:
            say(f"{printable(run.run_name)}: {progress_line(run).strip()}")


def say_goodbye() -> None:
    say_to_stderr("\nDetached: the runs go on. `mosaic runs` lists them.")


def summary(records: Sequence[RunRecord]) -> str:
    """Mean and spread over the runs of each one's last 100 episodes."""
    import statistics  # slow to load, and seldom needed

    means = [run.progress.mean_return for run in records if run.progress.mean_return is not None]
    if not means:
        return f"{len(records)} runs, no episode finished"
    spread = statistics.stdev(means) if len(means) > 1 else 0.0
    return (
        f"{len(means)} of {len(records)} runs: return {decimal(statistics.fmean(means))} "
        f"± {decimal(spread)} (mean of each run's last 100 episodes ± deviation over runs)"
    )
