"""What the actions on runs are called, and their pictures."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.gui.state.runs_offers import RunAction


class Look(NamedTuple):
    title: str
    icon: str
    shortcut: str = ""


LOOKS = {
    RunAction.SHOW: Look("Show in the centre", "monitor-eye"),
    RunAction.STOP: Look("Stop", "stop", "Ctrl+."),
    RunAction.STOP_WITH_REASON: Look("Stop with reason…", "comment-remove-outline"),
    RunAction.PAUSE: Look("Pause", "pause", "Ctrl+P"),
    RunAction.CONTINUE: Look("Continue", "play", "Ctrl+Shift+P"),
    RunAction.RESUME: Look("Resume training", "restart", "Ctrl+R"),
    RunAction.EVALUATE: Look("Evaluate…", "clipboard-check-outline", "Ctrl+E"),
    RunAction.REPLAY: Look("Replay", "movie-open-play-outline", "Ctrl+Shift+R"),
    RunAction.RESUBMIT: Look("Resubmit", "repeat"),
    RunAction.EDIT: Look("Edit and resubmit", "pencil-outline"),
    RunAction.CONFIG: Look("Open config", "code-json"),
    RunAction.FOLDER: Look("Open folder", "folder-open-outline"),
    RunAction.COPY_ID: Look("Copy id", "identifier"),
    RunAction.COPY_COMMAND: Look("Copy command", "console"),
    RunAction.PIN: Look("Pin", "pin-outline"),
    RunAction.UNPIN: Look("Unpin", "pin-off-outline"),
    RunAction.ARCHIVE: Look("Archive…", "archive-outline"),
    RunAction.EXPORT_CSV: Look("Export as CSV…", "file-delimited-outline"),
    RunAction.EXPORT_TENSORBOARD: Look("Export for TensorBoard…", "chart-timeline-variant"),
    RunAction.DELETE: Look("Delete", "trash-can-outline"),
    RunAction.COMPARE: Look("Compare selected", "compare", "Ctrl+Shift+C"),
}
# As they stand in the menus; None is a line between them.
MENU: tuple[RunAction | None, ...] = (
    *(RunAction.SHOW, RunAction.REPLAY, RunAction.COMPARE, None),
    *(RunAction.PAUSE, RunAction.CONTINUE, RunAction.STOP, RunAction.STOP_WITH_REASON, None),
    *(RunAction.RESUME, RunAction.EVALUATE, RunAction.RESUBMIT, RunAction.EDIT, None),
    *(RunAction.CONFIG, RunAction.FOLDER, RunAction.COPY_ID, RunAction.COPY_COMMAND, None),
    *(RunAction.PIN, RunAction.UNPIN, RunAction.ARCHIVE),
    *(RunAction.EXPORT_CSV, RunAction.EXPORT_TENSORBOARD, None),
    RunAction.DELETE,
)
MORE_ICON = "dots-horizontal"
