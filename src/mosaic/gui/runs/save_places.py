"""Asks where an archive or an export shall be written, without holding up the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.export.destination import folder_name
from mosaic.front.training_config import label

_SUFFIX = ".mosaic.zip"

Chosen = Callable[[Path], None]


def ask_archive_place(parent: QWidget, record: RunRecord, chosen: Chosen) -> QFileDialog:
    dialog = _dialog(parent, f"Archive {record.run_name}")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilter(f"Archives (*{_SUFFIX})")
    dialog.selectFile(archive_name(record))
    dialog.fileSelected.connect(lambda path: chosen(_with_suffix(Path(path))))
    dialog.show()
    return dialog


def ask_export_place(
    parent: QWidget, record: RunRecord, export_format: str, chosen: Chosen
) -> QFileDialog:
    """The export gets a folder of its own in the one that is chosen."""
    dialog = _dialog(parent, f"Export {record.run_name}: choose a folder")
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    name = f"{folder_name(record.run_name)}-{export_format}"
    dialog.fileSelected.connect(lambda path: chosen(Path(path) / name))
    dialog.show()
    return dialog


def archive_name(record: RunRecord) -> str:
    return f"{label(record.run_name).strip('-.') or 'run'}-{record.run_id}{_SUFFIX}"


def _dialog(parent: QWidget, title: str) -> QFileDialog:
    dialog = QFileDialog(parent, title, str(Path.home()))
    dialog.setModal(False)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return dialog


def _with_suffix(path: Path) -> Path:
    return path if path.name.endswith(".zip") else path.with_name(f"{path.name}{_SUFFIX}")
