"""`mosaic logs` and `mosaic events`: what a run says.

On a terminal colours are shown; all other orders in a log are taken out.
"""

from __future__ import annotations

import argparse
import codecs
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import natural
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import (
    COLOUR_ORDER,
    RESET,
    has_colour,
    paint,
    printable,
    printable_json,
    say,
    say_json,
    say_to_stderr,
    text_width,
)
from mosaic.contracts.events import EventType
from mosaic.contracts.metrics import LogMatch
from mosaic.errors import RequestError
from mosaic.front.human import amount
from mosaic.front.references import HELP, resolve_run, resolve_runs

if TYPE_CHECKING:
    from mosaic.wire.answers import LogChunk


def add(commands: Any) -> None:
    logs = commands.add_parser(
        "logs",
        help="output of a run's worker",
        description=(
            "Shows the worker's output, or with --search lines with a text in the logs of these "
            "runs, or of all, newest first. Elsewhere than on a terminal the output comes byte for "
            "byte. On one, colours are kept to the end of their line, progress bars write over "
            "themselves, and whatever else steers terminals (clipboard, title, cursor, direction "
            "of text) is shown or left out."
        ),
    )
    logs.add_argument(
        "runs", metavar="RUN", nargs="*", help=f"{HELP}; with --search any number, none means all"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="stay until the run is over")
    which = logs.add_mutually_exclusive_group()
    which.add_argument(
        "--stdout",
        dest="stream",
        action="store_const",
        const="stdout",
        default="",
        help="only standard output",
    )
    which.add_argument(
        "--stderr", dest="stream", action="store_const", const="stderr", help="only standard error"
    )
    logs.add_argument(
        "--tail", type=natural, default=0, metavar="N", help="last N lines only; default: all"
    )
    logs.add_argument("--search", metavar="TEXT", help="only lines with this text, of any runs")
    logs.add_argument("--regex", action="store_true", help="TEXT is a regular expression")
    logs.add_argument("-i", "--ignore-case", action="store_true", help="with --search")
    logs.add_argument(
        "--limit", type=natural, default=1000, metavar="N", help="with --search (default 1000)"
    )
    logs.add_argument("--json", action="store_true", help="with --search: JSON lines")
    logs.set_defaults(handler=show_logs)

    events = commands.add_parser(
        "events",
        help="events of a run, as JSON lines",
        description="Shows the journal of a run as JSON lines.",
    )
    events.add_argument("run", metavar="RUN", help=HELP)
    events.add_argument("-f", "--follow", action="store_true", help="stay until the run is over")
    events.add_argument(
        "--type",
        action="append",
        default=[],
        choices=[kind.value for kind in EventType],
        metavar="TYPE",
        help=f"only this type (repeatable): {', '.join(EventType)}",
    )
    events.set_defaults(handler=show_events)


def show_logs(arguments: argparse.Namespace) -> int:
    if arguments.search is not None:
        return search_logs(arguments)
    if arguments.regex or arguments.ignore_case or arguments.json:
        raise RequestError("--regex, --ignore-case and --json go with --search TEXT")
    if len(arguments.runs) != 1:
        raise RequestError("Name one run", hint="only --search takes several, or none for all")
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.runs[0])
        chunks = client.stream_log(run_id, arguments.stream, arguments.tail, arguments.follow)
        # Whoever searches or stores a log gets its bytes; a terminal would obey them.
        show = _show_on_terminal if sys.stdout.isatty() else _pass_on
        show(chunks)
    return 0


def _pass_on(chunks: Iterable[LogChunk]) -> None:
    for chunk in chunks:
        sys.stdout.buffer.write(chunk.data)
        sys.stdout.buffer.flush()


def _show_on_terminal(chunks: Iterable[LogChunk]) -> None:
    columns, is_coloured = shutil.get_terminal_size().columns, has_colour(sys.stdout)
    outputs: dict[str, TerminalLog] = {}
    try:
        for chunk in chunks:
            if chunk.stream not in outputs:
                outputs[chunk.stream] = TerminalLog(columns, is_coloured)
            sys.stdout.write(outputs[chunk.stream].feed(chunk.data))
            sys.stdout.flush()
    finally:
        for output in outputs.values():
            sys.stdout.write(output.end())
        sys.stdout.flush()


def show_events(arguments: argparse.Namespace) -> int:
    is_terminal = sys.stdout.isatty()
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        for batch in client.stream_events(run_id, 0, arguments.type, arguments.follow):
            lines = [line.rstrip(b"\n") for line in batch.lines]
            if is_terminal:
                for line in lines:
                    print(printable_json(line.decode(errors="replace")))
                sys.stdout.flush()
            else:
                sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines))
                sys.stdout.buffer.flush()
    return 0


NOTHING_FOUND = 1  # as grep has it


def search_logs(arguments: argparse.Namespace) -> int:
    if arguments.follow or arguments.tail:
        raise RequestError("--search goes through whole logs, so not with --follow or --tail")
    if not arguments.limit:
        raise RequestError("--limit 0 would find nothing")
    found = 0
    with open_client(arguments) as client:
        run_ids = resolve_runs(client, arguments.runs)
        names: dict[str, str] = {}
        for match in client.search_logs(
            arguments.search,
            run_ids,
            is_regex=arguments.regex,
            ignore_case=arguments.ignore_case,
            stream=arguments.stream,
            limit=arguments.limit,
        ):
            found += 1
            if arguments.json:
                say_json(asdict(match), indent=None)
                continue
            if match.run_id not in names:
                names[match.run_id] = client.get_run(match.run_id).run_name
            say(match_line(match, names[match.run_id]))
    if found == arguments.limit:
        say_to_stderr(f"stopped after {amount(found, 'line')} (--limit)")
    return 0 if found else NOTHING_FOUND


def match_line(match: LogMatch, run_name: str) -> str:
    place = f"{match.run_id} {printable(run_name)} {match.stream}:{match.line_number}:"
    return f"{paint(place, 'dim')} {printable(match.line)}"


_TAB_WIDTH = 8
_PARAMETERS = r"\x1b\[[0-?]{0,64}[ -/]{0,4}"
_PIECES = re.compile(
    rf"(?P<plain>[ -~]+)|(?P<end>\n|\r+\n?)|(?P<order>{_PARAMETERS}[@-~])|(?P<one>.)", re.DOTALL
)
_BEGUN_ORDER = re.compile(rf"(\x1b|{_PARAMETERS})\Z")
_LONGEST_BEGUN = 70


class TerminalLog:
    """One output of a run, chunk by chunk, as a terminal may show it.

    Where the chunks are cut makes no difference: what is undecided waits for the next one.
    Colours end with their line, other orders are taken out. A bar that writes over itself after a
    carriage return still does, while it fits into one row; otherwise each state gets a line.
    """

    def __init__(self, columns: int, has_colour: bool) -> None:
        self._columns = columns
        self._has_colour = has_colour
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._is_coloured = False
        self._width = 0  # of what stands in the present row, at most

    def feed(self, data: bytes) -> str:
        return self._shown(self._waiting + self._decoder.decode(data))

    def end(self) -> str:
        """What was left undecided, and no colour that outlasts the log."""
        rest = self._shown(self._waiting + self._decoder.decode(b"", final=True))
        undecided, self._waiting = self._waiting, ""
        return rest + printable(undecided.rstrip("\r")) + self._reset()

    def _shown(self, text: str) -> str:
        decided, self._waiting = _decided(text)
        return "".join(map(self._piece, _PIECES.finditer(decided)))

    def _piece(self, match: re.Match[str]) -> str:
        text = match[0]
        if match.lastgroup == "order":
            return self._colour(text)
        if match.lastgroup == "end":
            return self._new_line() if text.endswith("\n") else self._rewound()
        self._width += _TAB_WIDTH if text == "\t" else text_width(text)
        return printable(text)

    def _colour(self, order: str) -> str:
        if not self._has_colour or not COLOUR_ORDER.fullmatch(order):
            return ""
        self._is_coloured = order not in ("\x1b[m", RESET)
        return order

    def _reset(self) -> str:
        was_coloured, self._is_coloured = self._is_coloured, False
        return RESET if was_coloured else ""

    def _new_line(self) -> str:
        self._width = 0
        return self._reset() + "\n"

    def _rewound(self) -> str:
        """Back to the beginning of the row, with nothing of a longer text left in it."""
        if self._width >= self._columns:  # it has gone on in further rows
            return self._new_line()
        blank, self._width = " " * self._width, 0
        return f"{self._reset()}\r{blank}\r" if blank else ""


def _decided(text: str) -> tuple[str, str]:
    """The text, and the end of it that only the next bytes can explain."""
    without_returns = text.rstrip("\r")
    if without_returns != text:
        return without_returns, "\r"
    begun = _BEGUN_ORDER.search(text, max(0, len(text) - _LONGEST_BEGUN))
    return (text[: begun.start()], begun[0]) if begun else (text, "")
