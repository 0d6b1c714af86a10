"""A run in words: one line of progress, the end of a run, and everything about it."""

from __future__ import annotations

from collections.abc import Callable

from mosaic.cli.shared.terminal import paint, printable, say, say_fields
from mosaic.contracts.consent import reproduced_run
from mosaic.contracts.metrics import MEAN_RETURN_NAME
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.front.bundle_words import PROGRAM_BUNDLE, program_bundle_words, run_bundle_words
from mosaic.front.human import age, count, decimal, duration, moment
from mosaic.front.run_words import (
    elapsed_s,
    lineage_words,
    memory_words,
    origin_words,
    progress_parts,
    remaining_s,
    remarks_of,
    state_word,
    steps_text,
)

_OUTCOME_COLOURS = {Outcome.SUCCEEDED: "green", Outcome.FAILED: "red", Outcome.CANCELED: "yellow"}


def state_colour(record: RunRecord) -> str:
    if record.outcome is not None:
        return _OUTCOME_COLOURS[record.outcome]
    if record.stalled or record.state is RunState.FAULT:
        return "yellow"
    return "blue" if record.state is RunState.EXEC else ""


def progress_line(record: RunRecord, now: float | None = None) -> str:
    """The whole state of a run on one plain line."""
    elapsed = elapsed_s(record, now)
    parts = [f"{duration(elapsed):>9}" if elapsed is not None else f"{'':>9}", state_word(record)]
    fraction = record.progress.fraction
    if fraction is not None:
        parts.append(f"{fraction:4.0%}")
    parts += progress_parts(record)
    parts += [text for text in (record.waiting, record.stalled) if text]
    remaining = remaining_s(record, now)
    if remaining is not None:
        parts.append(f"ETA {duration(remaining)}")
    return printable("  ".join(parts))


def say_end(record: RunRecord) -> None:
    """How a run ended; after a failure also why, what to do, and its last words."""
    elapsed = elapsed_s(record)
    parts = [f"after {duration(elapsed)}"] if elapsed is not None else []
    parts += progress_parts(record)
    if record.stop_reason and record.outcome is Outcome.SUCCEEDED:
        parts.append(f"stopped by {record.stop_reason}")
    word = paint(state_word(record), state_colour(record))
    say(f"{word}: {printable(record.run_name)}  {printable(', '.join(parts))}")
    if record.outcome is Outcome.FAILED:
        say_failure(record)
    for remark in remarks_of(record):
        say(note_line(remark))


def note_line(remark: str) -> str:
    return f"  {paint('note:', 'yellow')} {printable(remark)}"


def say_failure(record: RunRecord) -> None:
    failure = record.failure
    if failure is not None:
        say(f"  {paint(printable(failure.label), 'red')}: {printable(failure.message)}")
        if failure.hint:
            say(f"  {paint('hint:', 'yellow')} {printable(failure.hint)}")
    if record.stderr_tail:
        say(f"  last lines of standard error (`mosaic logs --stderr {record.run_id}` has all):")
        for line in record.stderr_tail:
            say(f"  | {printable(line)}")


def say_run(record: RunRecord) -> None:
    """The sections of `mosaic show`."""
    say(paint(printable(record.run_name), "bold"))
    attempt = f" (attempt {record.attempt})" if record.attempt > 1 else ""
    say_fields(
        [
            ("id", record.run_id),
            ("worker", record.worker),
            ("environment", record.env_id),
            ("bundle", run_bundle_words(record)),
            (PROGRAM_BUNDLE, program_bundle_words(record)),
            ("reproduces", reproduced_run(record.config)),
            ("group", record.group),
            ("origin", origin_words(record)),
            ("lineage", lineage_words(record)),
            ("pinned", "yes, never cleaned up" if record.pinned else ""),
            ("tags", ", ".join(record.tags)),
            ("note", " ".join(record.note.split())),
            ("state", f"{record.state}, {state_word(record)}{attempt}"),
            ("waiting", record.waiting),
            ("stalled", record.stalled),
            ("stopped because", record.stop_reason),
            ("submitted", f"{moment(record.created_at)} ({age(record.created_at)})"),
            ("started", _known(moment, record.started_at)),
            ("finished", _known(moment, record.finished_at)),
            ("took" if record.is_over else "running for", _known(duration, elapsed_s(record))),
            ("last heartbeat", "" if record.is_over else _known(age, record.last_heartbeat_at)),
        ]
    )
    _say_section("Progress", progress_fields(record))
    gpus = ", ".join(map(str, record.gpu_slots))
    resources = [
        ("cpus", str(record.cpus)),
        ("memory", memory_words(record)),
        ("gpus", gpus),
        ("priority", str(record.priority) if record.priority else ""),
    ]
    _say_section("Resources", resources)
    if record.outcome is Outcome.FAILED or record.failure is not None:
        say(f"\n{paint('Failure', 'bold')}")
        say_failure(record)
    _say_section("Notes", [("", remark) for remark in remarks_of(record)])
    _say_section("Files", sorted(record.paths.items()))
    if record.transitions:
        say(f"\n{paint('History', 'bold')}")
        for change in record.transitions:
            say(f"  {moment(change.at)}  {change.state:<5}  {printable(change.reason)}")


def progress_fields(record: RunRecord) -> list[tuple[str, str]]:
    progress = record.progress
    now, overall = progress.steps_per_second, progress.overall_steps_per_second
    is_running = record.state is RunState.EXEC
    lost = record.quarantined_lines
    return [
        ("done", "" if progress.fraction is None else f"{progress.fraction:.1%}"),
        ("steps", steps_text(record).removesuffix(" steps") if progress.steps else ""),
        ("episodes", count(progress.episodes) if progress.episodes else ""),
        ("speed now", f"{decimal(now)} steps/s" if now and is_running else ""),
        ("speed overall", f"{decimal(overall)} steps/s" if overall else ""),
        ("last return", _known(decimal, progress.last_return)),
        ("mean return", _known(_mean_return, progress.mean_return)),
        ("time left", _known(duration, remaining_s(record))),
        ("checkpoint", record.checkpoint_uri),
        ("bad event lines", count(lost) if lost else ""),
    ]


def _mean_return(value: float) -> str:
    return f"{decimal(value)} ({MEAN_RETURN_NAME})"


def _known(show: Callable[[float], str], value: float | None) -> str:
    return "" if value is None else show(value)


def _say_section(title: str, fields: list[tuple[str, str]]) -> None:
    if any(value for _, value in fields):
        say(f"\n{paint(title, 'bold')}")
        say_fields(fields)
