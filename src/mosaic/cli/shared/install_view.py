"""Following an install to its end: a line that changes in place, or a plain line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from mosaic.cli.shared.failures import INTERRUPTED, guaranteed_interrupt
from mosaic.cli.shared.terminal import cut, is_terminal, printable, say, say_to_stderr
from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.errors import BundleError, MosaicError
from mosaic.front.bundle_words import TimeLeft, bytes_words, phase_words

PLAIN_INTERVAL_S = 2.0
BAR_WIDTH = 16
SHARE_WIDTH = len("100 %")
GAPS = 6  # between five columns, and two to spare


class SilentInstall:
    def __enter__(self) -> SilentInstall:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: InstallProgress) -> None:
        pass


class PlainInstall(SilentInstall):
    """One line per phase, and at most one per interval in between."""

    def __init__(self, interval_s: float = PLAIN_INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._left = TimeLeft()
        self._phase: InstallPhase | None = None
        self._said_at = 0.0

    def show(self, progress: InstallProgress) -> None:
        now = time.monotonic()
        left = self._left.words(progress)
        if progress.is_over:
            return  # the end has lines of its own
        if progress.phase is not self._phase or now - self._said_at >= self._interval_s:
            self._phase, self._said_at = progress.phase, now
            parts = (progress.percent.rjust(SHARE_WIDTH), phase_words(progress))
            told = (*parts, bytes_words(progress), left)
            say(printable("  ".join(part for part in told if part)))


class LiveInstall(SilentInstall):
    """One line that changes in place."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        def text(field: str) -> Any:
            return TextColumn(f"{{task.fields[{field}]}}", markup=False)

        console = Console(file=sys.stdout)
        self._width = console.width
        self._left = TimeLeft()
        self._progress = Progress(
            *(BarColumn(bar_width=BAR_WIDTH), text("share"), text("word")),
            *(text("fetched"), text("eta")),
            console=console,
            transient=True,
            refresh_per_second=8,
        )
        self._task = self._progress.add_task(
            "", total=1.0, share="", word="asking the daemon", fetched="", eta=""
        )

    def __enter__(self) -> LiveInstall:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, progress: InstallProgress) -> None:
        fetched, eta = bytes_words(progress), self._left.words(progress)
        # Cut here: rich would shorten every column alike, the important ones too.
        taken = BAR_WIDTH + SHARE_WIDTH + len(fetched) + len(eta) + GAPS
        self._progress.update(
            self._task,
            completed=progress.fraction,
            share=progress.percent.rjust(SHARE_WIDTH),
            word=cut(printable(phase_words(progress)), max(1, self._width - taken)),
            fetched=fetched,
            eta=eta,
        )


def choose_install_view(as_json: bool) -> SilentInstall:
    if as_json:
        return SilentInstall()
    return LiveInstall() if is_terminal(sys.stdout) else PlainInstall()


def follow_install(
    steps: Iterable[InstallProgress],
    name: str,
    as_json: bool,
    cancel: Callable[[], bool] | None,
) -> int:
    """Show it until it is over; raises BundleError where that is no success.

    Ctrl-C ends what this command has begun: `cancel` says whether there was still something to
    end. Without it, somebody else has begun it, and it goes on.
    """
    try:
        with guaranteed_interrupt(lambda: say_goes_on(name)), choose_install_view(as_json) as view:
            last = None
            for last in steps:
                view.show(last)
                if last.is_over:
                    break
    except KeyboardInterrupt:
        _say_interrupted(name, cancel)
        return INTERRUPTED
    raise_failure(last, name)
    return 0


def raise_failure(last: InstallProgress | None, name: str) -> None:
    """Unless this is the end of an install that is done."""
    again = f"`mosaic bundles install {name}` starts it again"
    if last is None or not last.is_over:
        raise BundleError(
            f"The daemon did not say how the install of {name} ended",
            hint="`mosaic bundles` says what became of it",
            bundle=name,
        )
    if last.phase is InstallPhase.CANCELED:
        raise BundleError(
            last.message or f"The install of {name} was canceled; nothing of it is left",
            hint=last.hint or again,
            bundle=name,
        )
    if last.phase is InstallPhase.FAILED:
        raise BundleError(
            last.message or f"The install of {name} failed",
            hint=last.hint or again,
            bundle=name,
        )


def _say_interrupted(name: str, cancel: Callable[[], bool] | None) -> None:
    if cancel is None:
        say_goes_on(name)
        return
    try:
        was_under_way = cancel()
    except MosaicError as error:
        say_to_stderr(f"\n{printable(error.message)}")
        say_goes_on(name)
        return
    if was_under_way:
        say_to_stderr(f"\nCanceled: nothing of {name} was installed.")
    else:
        say_to_stderr(f"\nIt was over already: `mosaic bundles` says what became of {name}.")


def say_goes_on(name: str) -> None:
    say_to_stderr(
        f"\nThe install of {name} goes on in the daemon.\n"
        f"  follow it  mosaic bundles install {name}\n"
        f"  cancel it  mosaic bundles cancel {name}"
    )
