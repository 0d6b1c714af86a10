"""RunAction: what can be done with a run, what it is called, and why it cannot be done now."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState


class RunAction(StrEnum):
    SHOW = "run.show"
    STOP = "run.stop"
    STOP_WITH_REASON = "run.stop-with-reason"
    PAUSE = "run.pause"
    CONTINUE = "run.continue"
    RESUME = "run.resume"
    EVALUATE = "run.evaluate"
    REPLAY = "run.replay"
    RESUBMIT = "run.resubmit"
    EDIT = "run.edit"
    CONFIG = "run.config"
    FOLDER = "run.folder"
    COPY_ID = "run.copy-id"
    COPY_COMMAND = "run.copy-command"
    RENAME = "run.rename"
    TAG = "run.tag"
    NOTE = "run.note"
    PIN = "run.pin"
    UNPIN = "run.unpin"
    ARCHIVE = "run.archive"
    EXPORT_CSV = "run.export-csv"
    EXPORT_TENSORBOARD = "run.export-tensorboard"
    DELETE = "run.delete"
    COMPARE = "compare.selected"


# Those that are done with one run at a time: the leading one.
SINGLE = frozenset(
    {
        *(RunAction.SHOW, RunAction.RESUME, RunAction.EVALUATE, RunAction.REPLAY),
        *(RunAction.EDIT, RunAction.CONFIG, RunAction.FOLDER, RunAction.COPY_COMMAND),
        *(RunAction.ARCHIVE, RunAction.EXPORT_CSV, RunAction.EXPORT_TENSORBOARD),
        *(RunAction.RENAME, RunAction.NOTE),
    }
)
_FEWEST_COMPARED = 2
_PAUSABLE = (RunState.RDY, RunState.EXEC)


def problem_of(
    action: RunAction, record: RunRecord, capabilities: WorkerCapabilities | None
) -> str:
    """Why it cannot be done with this run; empty when it can.

    Capabilities are None for a worker that is not there any more.
    """
    name = record.run_name
    match action:
        case RunAction.STOP | RunAction.STOP_WITH_REASON:
            if record.stop_requested and not record.is_over:
                return f"{name} is stopping already"
            return f"{name} is over" if record.is_over else ""
        case RunAction.PAUSE:
            return _pause_problem(record, capabilities)
        case RunAction.CONTINUE:
            return "" if record.state is RunState.PAUSE else f"{name} is not paused"
        case RunAction.RESUME:
            return _policy_problem(
                record, "go on from", capabilities is None or capabilities.supports_resume
            )
        case RunAction.EVALUATE:
            return _policy_problem(
                record,
                "evaluate",
                capabilities is None or capabilities.supports_policy_load,
                must_be_over=False,
            )
        case RunAction.REPLAY:
            return "" if may_have_episodes(record) else f"{name} has no finished episode yet"
        case RunAction.ARCHIVE:
            return "" if record.is_over else f"{name} is still going on: stop it first"
        case RunAction.DELETE:
            return "" if record.is_over else f"{name} is still going on: stop it first"
        case RunAction.PIN:
            return f"{name} is pinned already" if record.pinned else ""
        case RunAction.UNPIN:
            return "" if record.pinned else f"{name} is not pinned"
    return ""


def may_have_episodes(record: RunRecord) -> bool:
    """A run that is over may have one that was broken off: it counts nowhere, and can be seen."""
    progress = record.progress
    return bool(progress.episodes or (record.is_over and progress.steps))


def selection_problem(
    action: RunAction, records: list[RunRecord], capabilities: list[WorkerCapabilities | None]
) -> str:
    """Why it cannot be done with what is selected: with none of it, or not with the first."""
    if not records:
        return "No run is selected"
    if action is RunAction.COMPARE:
        is_enough = len(records) >= _FEWEST_COMPARED
        return "" if is_enough else "Select two or more runs (Ctrl+click) to compare them"
    first = problem_of(action, records[0], capabilities[0])
    if not first or action in SINGLE:
        return first
    # Stops at the first that it fits: thousands may be selected.
    others = zip(records, capabilities, strict=True)
    is_possible = any(not problem_of(action, record, able) for record, able in others)
    return "" if is_possible else first


def possible_ids(
    action: RunAction, pairs: Iterable[tuple[RunRecord, WorkerCapabilities | None]]
) -> list[str]:
    """The ids of those it can be done with."""
    return [record.run_id for record, able in pairs if not problem_of(action, record, able)]


def row_actions(
    record: RunRecord, capabilities: WorkerCapabilities | None
) -> tuple[RunAction, ...]:
    """The two at the right of a row: what one most likely wants to do next."""
    wanted: tuple[RunAction, ...]
    if not record.is_over:
        wanted = (RunAction.CONTINUE, RunAction.PAUSE, RunAction.STOP)
    else:
        wanted = (RunAction.RESUME, RunAction.EVALUATE, RunAction.RESUBMIT)
    return tuple(item for item in wanted if not problem_of(item, record, capabilities))[:2]


def _pause_problem(record: RunRecord, capabilities: WorkerCapabilities | None) -> str:
    name = record.run_name
    if record.is_over:
        return f"{name} is over"
    if record.state is RunState.PAUSE:
        return f"{name} is paused already"
    if record.state not in _PAUSABLE or record.stop_requested:
        return f"{name} is not running"
    if capabilities is not None and not capabilities.supports_pause_resume:
        return f"The worker {record.worker} cannot pause"
    return ""


def _policy_problem(record: RunRecord, verb: str, is_able: bool, must_be_over: bool = True) -> str:
    if not is_able:
        return f"The worker {record.worker} has nothing to {verb}"
    if must_be_over and not record.is_over:
        return f"{record.run_name} is still going on"
    if not record.checkpoint_uri:
        return f"{record.run_name} has no checkpoint to {verb}"
    return ""


class ActionLook(NamedTuple):
    title: str
    icon: str
    shortcut: str = ""


ACTION_LOOKS = {
    RunAction.SHOW: ActionLook("Show in the centre", "monitor-eye"),
    RunAction.STOP: ActionLook("Stop", "stop", "Ctrl+."),
    RunAction.STOP_WITH_REASON: ActionLook("Stop with reason…", "comment-remove-outline"),
    RunAction.PAUSE: ActionLook("Pause", "pause", "Ctrl+P"),
    RunAction.CONTINUE: ActionLook("Continue", "play", "Ctrl+Shift+P"),
    RunAction.RESUME: ActionLook("Resume training", "restart", "Ctrl+R"),
    RunAction.EVALUATE: ActionLook("Evaluate…", "clipboard-check-outline", "Ctrl+E"),
    RunAction.REPLAY: ActionLook("Replay", "movie-open-play-outline", "Ctrl+Shift+R"),
    RunAction.RESUBMIT: ActionLook("Resubmit", "repeat"),
    RunAction.EDIT: ActionLook("Edit and resubmit", "pencil-outline"),
    RunAction.CONFIG: ActionLook("Open config", "code-json"),
    RunAction.FOLDER: ActionLook("Open folder", "folder-open-outline"),
    RunAction.COPY_ID: ActionLook("Copy id", "identifier"),
    RunAction.COPY_COMMAND: ActionLook("Copy command", "console"),
    RunAction.RENAME: ActionLook("Rename", "form-textbox", "F2"),
    RunAction.TAG: ActionLook("Tags…", "tag-outline", "Ctrl+T"),
    RunAction.NOTE: ActionLook("Note…", "note-edit-outline"),
    RunAction.PIN: ActionLook("Pin", "pin-outline"),
    RunAction.UNPIN: ActionLook("Unpin", "pin-off-outline"),
    RunAction.ARCHIVE: ActionLook("Archive…", "archive-outline"),
    RunAction.EXPORT_CSV: ActionLook("Export as CSV…", "file-delimited-outline"),
    RunAction.EXPORT_TENSORBOARD: ActionLook("Export for TensorBoard…", "chart-timeline-variant"),
    RunAction.DELETE: ActionLook("Delete", "trash-can-outline"),
    RunAction.COMPARE: ActionLook("Compare selected", "compare", "Ctrl+Shift+C"),
}
# As they stand in the menus; None is a line between them.
ACTION_MENU: tuple[RunAction | None, ...] = (
    *(RunAction.SHOW, RunAction.REPLAY, RunAction.COMPARE, None),
    *(RunAction.PAUSE, RunAction.CONTINUE, RunAction.STOP, RunAction.STOP_WITH_REASON, None),
    *(RunAction.RESUME, RunAction.EVALUATE, RunAction.RESUBMIT, RunAction.EDIT, None),
    *(RunAction.CONFIG, RunAction.FOLDER, RunAction.COPY_ID, RunAction.COPY_COMMAND, None),
    *(RunAction.RENAME, RunAction.TAG, RunAction.NOTE, RunAction.PIN, RunAction.UNPIN, None),
    RunAction.ARCHIVE,
    *(RunAction.EXPORT_CSV, RunAction.EXPORT_TENSORBOARD, None),
    RunAction.DELETE,
)
MORE_ICON = "dots-horizontal"
