"""LineageLine: the run it goes on from and those that go on from it, as links."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.async_bridge import Task
from mosaic.gui.state.config_lineage import possible_children
from mosaic.gui.state.config_view import parent_of
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.workbench import Workbench

_NAME_WIDTH = 80


class LineageLine(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._parents: dict[str, str] = {}  # of every run that was read: it never changes
        self._record: RunRecord | None = None
        self._shown: tuple[tuple[str, tuple[str, ...]], ...] = ()
        self._task: Task | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self.hide()

    def show_run(self, record: RunRecord, parent: str) -> None:
        self._record = record
        self._parents[record.run_id] = parent
        self._draw()
        self._read_children()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def links(self) -> list[QPushButton]:
        return self.findChildren(QPushButton)

    def _read_children(self) -> None:
        if self._record is None or (self._task is not None and not self._task.is_done):
            return
        runs = self._workbench.state.runs.newest_first()
        unread = [run for run in possible_children(self._record, runs) if run not in self._parents]
        if unread:
            self._task = self._workbench.bridge.ask(
                lambda client: _parents_of(client, unread), self._on_read, _ignore
            )

    def _on_read(self, parents: dict[str, str]) -> None:
        self._parents.update(parents)
        self._draw()

    def _draw(self) -> None:
        record = self._record
        if record is None:
            return
        children = tuple(run for run, parent in self._parents.items() if parent == record.run_id)
        parent = self._parents.get(record.run_id, "")
        lines = tuple(
            (name, runs)
            for name, runs in (
                ("Goes on from", (parent,) if parent else ()),
                ("Went on as", children),
            )
            if runs
        )
        if lines == self._shown:
            return
        self._shown = lines
        while item := self._layout.takeAt(0):
            if widget := item.widget():
                widget.deleteLater()
        for name, runs in lines:
            self._layout.addWidget(self._line(name, runs))
        self.setVisible(bool(lines))

    def _line(self, name: str, runs: tuple[str, ...]) -> QWidget:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        title = label(name, "muted")
        title.setMinimumWidth(_NAME_WIDTH)
        row.addWidget(title, 0, Qt.AlignmentFlag.AlignTop)
        links = QVBoxLayout()
        links.setSpacing(0)
        for run_id in runs:
            links.addWidget(self._link(run_id), 0, Qt.AlignmentFlag.AlignLeft)
        row.addLayout(links, 1)
        return line

    def _link(self, run_id: str) -> QWidget:
        known = self._workbench.state.runs.get(run_id)
        if known is None:
            return label(f"{run_id} (deleted)", "muted")
        link = with_role(QPushButton(known.run_name or run_id), "link")
        link.setToolTip(f"Select run {run_id}")
        state = self._workbench.state
        link.clicked.connect(lambda *_: state.select([run_id]))
        return link


async def _parents_of(client: AsyncTrainerClient, run_ids: list[str]) -> dict[str, str]:
    records = await asyncio.gather(
        *(client.get_run(run_id) for run_id in run_ids), return_exceptions=True
    )
    return {record.run_id: parent_of(record) for record in records if isinstance(record, RunRecord)}


def _ignore(error: MosaicError) -> None:
    """The rest of the tab stands without it; the next change of the run asks again."""
