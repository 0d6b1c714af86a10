"""A failure in two sentences, what happened and what to do, and what to offer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import FailureKind, Outcome
from mosaic.gui.runs.model.logs import printable
from mosaic.gui.state.awaited_bundles import bundle_to_install
from mosaic.gui.state.possible_actions import RunAction

_LONGEST = 300
_LONGEST_COMMAND = 48
_ENDED = " ended with "
_FOLDER = re.compile(r"^/(?:[^\s/]+/)*(?=[^\s/])")  # of the program
_TAIL = 20
# Where the daemon has no hint of its own.
_HINTS = {
    FailureKind.EXIT_CODE: "The last lines of its log usually say why.",
    FailureKind.SIGNAL: "If nobody killed it, the system may be short of memory.",
    FailureKind.WORKER_ERROR: "Change what it complains about, and start it again.",
    FailureKind.MEMORY_LIMIT: "Give it more memory, or use smaller buffers.",
    FailureKind.GPU_MEMORY: "Use smaller batches or fewer environments, or train without the GPU.",
    FailureKind.HOST_MEMORY: "Use smaller buffers or fewer environments.",
    FailureKind.PROCESS_LIMIT: "Look for a loop that starts processes.",
    FailureKind.TIME_LIMIT: "Give it more time, or let it stop when it is asked to.",
    FailureKind.LAUNCH_ERROR: "Check its interpreter and its files; `mosaic doctor` tells more.",
    FailureKind.LOST: "Start it again; with a checkpoint it can go on from there.",
    FailureKind.INTERRUPTED: "Start it again; with a checkpoint it can go on from there.",
    FailureKind.UNREADABLE: "Start it again; what was found is kept in its folder.",
    FailureKind.SECRET_LOST: "Start it again with the variables set: values are never kept.",
    FailureKind.USER_CANCEL: "",
}
_INSTALL_ADVICE = "Resubmit it: what it lacks is offered to be installed."
# What a log says when something well known is missing, and what helps; the first match counts.
_KNOWN = (
    (
        re.compile(r"no (?:cuda|nvidia)|cuda.{0,40}not available|not compiled with cuda", re.I),
        "There is no usable GPU here: start it again without CUDA.",
    ),
    (
        re.compile(r"cuda out of memory|cuda error: out of memory", re.I),
        "The GPU has too little free memory: use smaller batches or fewer environments.",
    ),
    (
        re.compile(r"No module named '?([\w.]+)", re.I),
        "The package {0} is missing in the worker's environment: install it there.",
    ),
    (
        re.compile(r"No such file or directory: '?([^'\n]{1,200})"),
        "{0} is not there: check the path.",
    ),
    (
        re.compile(r"can't open file '?([^'\n:]{1,200})"),
        "The script {0} is not there: check the path.",
    ),
    (
        re.compile(r"Environment `?([\w./:-]{1,80})`? (?:doesn't|does not) exist", re.I),
        "The environment {0} is not installed: choose another, or install its package.",
    ),
    (re.compile(r"\bMemoryError\b"), "It ran out of memory: give it more, or use smaller buffers."),
    (re.compile(r"No space left on device"), "The disk is full: delete what nobody needs."),
)


@dataclass(frozen=True)
class FailureText:
    happened: str
    advice: str
    tail: tuple[str, ...]
    offers: tuple[RunAction, ...]

    @property
    def whole(self) -> str:
        """To be pasted into a mail or an issue."""
        parts = [self.happened, self.advice, *(f"  {line}" for line in self.tail)]
        return "\n".join(part for part in parts if part)


def failure_text(record: RunRecord, can_resume: bool) -> FailureText | None:
    """None for a run that did not fail. The log's tail is only in a whole record."""
    failure = record.failure
    if record.outcome is not Outcome.FAILED or failure is None:
        return None
    tail = tuple(printable(line) for line in record.stderr_tail[-_TAIL:])
    happened = _sentence(_short_command(failure.message)) or f"The run failed ({failure.label})."
    known = _known_advice("\n".join((failure.message, *tail)))
    if bundle_to_install(failure.hint):
        known = _INSTALL_ADVICE  # whatever the message names: the bundle brings it
    advice = known or _sentence(_without_commands(failure.hint)) or _HINTS[failure.kind]
    first = (RunAction.RESUME,) if can_resume else ()
    again = (
        RunAction.RESUBMIT
        if failure.kind in (FailureKind.LOST, FailureKind.INTERRUPTED, FailureKind.SIGNAL)
        or bundle_to_install(failure.hint)  # what is missing is offered then
        else RunAction.EDIT
    )
    return FailureText(happened, advice, tail, (*first, again))


def _known_advice(text: str) -> str:
    for pattern, advice in _KNOWN:
        if match := pattern.search(text):
            return advice.format(*match.groups())
    return ""


def _short_command(message: str) -> str:
    """What went wrong comes after the command, and must not be cut off because of it."""
    command, ended, rest = message.partition(_ENDED)
    if not ended:
        return message
    program = _FOLDER.sub("", command)
    shown = program
    if len(program) > _LONGEST_COMMAND:
        shown = f"{program[:_LONGEST_COMMAND].rstrip()}…"
    # A command that stands at the beginning is not a word of the sentence.
    return f"{shown if program == command else f'“{shown}”'}{ended}{rest}"


def _without_commands(hint: str) -> str:
    """Advice to read the log in a terminal is no use beside a button that shows it."""
    return "" if "mosaic logs" in hint else hint


def _sentence(text: str) -> str:
    plain = printable(" ".join(text.split()))
    if not plain:
        return ""
    if len(plain) > _LONGEST:
        plain = f"{plain[:_LONGEST].rstrip()}…"
    whole = plain[0].upper() + plain[1:] if plain[0].isalpha() else plain
    return whole if whole.endswith((".", "!", "?", "…")) else f"{whole}."
