"""Following a run: a live bar on a terminal, a plain line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from mosaic.cli.failures import INTERRUPTED, outcome_status
from mosaic.cli.interruption import certain_interrupt
from mosaic.cli.run_view import note_line, progress_line, say_end
from mosaic.cli.terminal import cut, is_terminal, printable, say, say_aside, say_json
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import duration
from mosaic.front.run_words import progress_parts, remaining_s, remarks_of, state_word

if TYPE_CHECKING:
    from mosaic.client import TrainerClient

PLAIN_INTERVAL_S = REMARKS_INTERVAL_S = 2.0
CLOCK_WIDTH = len("0:00:00")
GAPS = 6  # between six columns, and one to spare


class View(Protocol):
    def __enter__(self) -> View: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, record: RunRecord) -> None: ...
    def note(self, remark: str) -> None: ...


class SilentView:
    def __enter__(self) -> SilentView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, record: RunRecord) -> None:
        pass

    def note(self, remark: str) -> None:
        pass


class PlainView(SilentView):
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


class LiveView:
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

    def __enter__(self) -> LiveView:
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


class Remarks:
    """What people should know about a run, said as soon as it is known, each once."""

    def __init__(self, client: TrainerClient, run_id: str) -> None:
        self._client, self._run_id = client, run_id
        self._said: set[str] = set()
        self._next_look = time.monotonic() + REMARKS_INTERVAL_S

    def say_new(self, view: View) -> None:
        if time.monotonic() < self._next_look:
            return
        for remark in remarks_of(self._client.get_run(self._run_id)):
            if remark not in self._said:
                self._said.add(remark)
                view.note(remark)
        self._next_look = time.monotonic() + REMARKS_INTERVAL_S


def choose_view(as_json: bool) -> View:
    if as_json:
        return SilentView()
    return LiveView() if is_terminal(sys.stdout) else PlainView()


def follow_to_the_end(client: TrainerClient, run_id: str, as_json: bool) -> int:
    """Show the run until it is over; the exit status says how it ended. Ctrl-C lets it go on."""

    def say_goodbye() -> None:
        say_aside(
            f"\nDetached: the run goes on.\n"
            f"  stop it    mosaic stop {run_id}\n"
            f"  its log    mosaic logs -f {run_id}"
        )

    try:
        with certain_interrupt(say_goodbye):
            with choose_view(as_json) as view:
                remarks = Remarks(client, run_id)
                for record in client.watch([run_id]):
                    view.show(record)
                    if record.is_over:
                        break
                    remarks.say_new(view)
            record = client.get_run(run_id)
    except KeyboardInterrupt:
        say_goodbye()
        return INTERRUPTED
    if as_json:
        say_json(record.to_dict())
    else:
        say_end(record)
    return outcome_status(record)
