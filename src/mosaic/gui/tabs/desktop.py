"""Opens files, folders and addresses with the programs of the desktop."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity


def open_file(workbench: Workbench, path: Path) -> None:
    _open(workbench, QUrl.fromLocalFile(str(path)), str(path))


def open_address(workbench: Workbench, address: str) -> None:
    _open(workbench, QUrl(address), address)


def copy_text(workbench: Workbench, text: str, what: str) -> None:
    QGuiApplication.clipboard().setText(text)
    workbench.state.say(Notice(f"{what} copied"))


def _open(workbench: Workbench, url: QUrl, text: str) -> None:
    if QDesktopServices.openUrl(url):
        return
    workbench.state.say(
        Notice(
            f"No program of this desktop opens {text}. Copy it, and open it yourself.",
            Severity.BAD,
            action=lambda: QGuiApplication.clipboard().setText(text),
            action_text="Copy",
            seconds=0,
        )
    )
