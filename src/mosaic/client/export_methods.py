"""The client's methods that export runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from mosaic.client.calling import AsyncCalling, Calling
from mosaic.client.calls import Call
from mosaic.client.exporting import TENSORBOARD, ExportOptions, export_run
from mosaic.client.stored_rows import Ask
from mosaic.export.run_rows import Exported

T = TypeVar("T")
Answer = TypeVar("Answer")

_DEFAULTS = ExportOptions()


class ExportMethods:
    def export_run(
        self: Calling,
        run_id: str,
        export_format: str,
        folder: Path | str | None = None,
        options: ExportOptions = _DEFAULTS,
    ) -> Exported:
        """Write a new folder for other tools; its format is one of `exporting.FORMATS`.

        Without a folder it is `<run name>-<format>` in the working directory.
        """
        return export_run(self._call, run_id, export_format, folder, options)

    def export_to_tensorboard(
        self: Calling,
        run_id: str,
        folder: Path | str | None = None,
        *,
        metrics: Collection[str] = (),
        force: bool = False,
    ) -> Path:
        """The run's metrics and episodes as an event file; returns the folder it lies in."""
        options = ExportOptions(metrics=metrics, force=force)
        return export_run(self._call, run_id, TENSORBOARD, folder, options).folder


class AsyncExportMethods:
    async def export_run(
        self: AsyncCalling,
        run_id: str,
        export_format: str,
        folder: Path | str | None = None,
        options: ExportOptions = _DEFAULTS,
    ) -> Exported:
        """Write a new folder for other tools; its format is one of `exporting.FORMATS`.

        Without a folder it is `<run name>-<format>` in the working directory.
        """
        return await in_thread(
            self, lambda ask: export_run(ask, run_id, export_format, folder, options)
        )

    async def export_to_tensorboard(
        self: AsyncCalling,
        run_id: str,
        folder: Path | str | None = None,
        *,
        metrics: Collection[str] = (),
        force: bool = False,
    ) -> Path:
        """The run's metrics and episodes as an event file; returns the folder it lies in."""
        options = ExportOptions(metrics=metrics, force=force)
        done = await in_thread(
            self, lambda ask: export_run(ask, run_id, TENSORBOARD, folder, options)
        )
        return done.folder


class _GivenUpError(Exception):
    """Whoever awaited the export does not any more."""


async def in_thread(client: AsyncCalling, work: Callable[[Ask], T]) -> T:
    """Do blocking work beside the event loop; its calls are made on the loop."""
    loop = asyncio.get_running_loop()
    given_up = threading.Event()

    def ask(call: Call[Answer]) -> Answer:
        if given_up.is_set():
            raise _GivenUpError
        return asyncio.run_coroutine_threadsafe(client._call(call), loop).result()

    try:
        return await asyncio.to_thread(work, ask)
    finally:
        given_up.set()
