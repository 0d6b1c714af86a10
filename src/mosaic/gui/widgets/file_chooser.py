"""Asks for a file without stopping anything: the window goes on while the dialog is open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def ask_for_file(
    parent: QWidget,
    title: str,
    pattern: str,
    chosen: Callable[[Path], None],
    *,
    suggested: str = "",
    is_new: bool = False,
) -> QFileDialog:
    """`pattern` as in "Video (*.mp4)"; `is_new` for a file to be written."""
    dialog = QFileDialog(parent, title, suggested, pattern)
    dialog.setObjectName("file-chooser")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setModal(False)
    modes, accepts = QFileDialog.FileMode, QFileDialog.AcceptMode
    dialog.setFileMode(modes.AnyFile if is_new else modes.ExistingFile)
    dialog.setAcceptMode(accepts.AcceptSave if is_new else accepts.AcceptOpen)
    if is_new and "." in Path(suggested).name:
        dialog.setDefaultSuffix(Path(suggested).suffix[1:])
    dialog.fileSelected.connect(lambda path: chosen(Path(path)))
    dialog.show()
    return dialog
