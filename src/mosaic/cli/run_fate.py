"""RunFate: what the daemon says about a run, learned in the background while it is watched."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError

if TYPE_CHECKING:
    from mosaic.client import TrainerClient


class RunFate:
    def __init__(self, client: TrainerClient, record: RunRecord) -> None:
        self._client = client
        self.record = record
        self.is_unknown = False  # the daemon is gone, and nobody starts it again
        threading.Thread(target=self._follow, name="mosaic-run-fate", daemon=True).start()

    @property
    def is_over(self) -> bool:
        return self.record.is_over

    def _follow(self) -> None:
        try:
            for record in self._client.watch((self.record.run_id,)):
                self.record = record
        except (MosaicError, ValueError):  # ValueError: gRPC's, when the client has been closed
            self.is_unknown = True
