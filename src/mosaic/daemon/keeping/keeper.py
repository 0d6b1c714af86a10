"""Keeping: the trash, retention, archives and journals of one home, put together."""

from __future__ import annotations

from collections.abc import Callable

from mosaic.daemon.keeping.archive_keeper import ArchiveKeeper
from mosaic.daemon.keeping.custody import Custody
from mosaic.daemon.keeping.healing import heal
from mosaic.daemon.keeping.journal_packer import JournalPacker
from mosaic.daemon.keeping.retention_keeper import RetentionKeeper
from mosaic.daemon.keeping.trash_keeper import TrashKeeper
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.supervisor import Supervisor
from mosaic.paths import Home


class Keeping:
    def __init__(
        self, home: Home, registry: Registry, supervisor: Supervisor, forget: Callable[[str], None]
    ) -> None:
        self._custody = Custody(home, registry, supervisor)
        self.trash = TrashKeeper(self._custody, forget)
        self.retention = RetentionKeeper(self._custody, self.trash)
        self.archives = ArchiveKeeper(self._custody)
        self.journals = JournalPacker(self._custody)

    async def start(self) -> None:
        """Put right what an earlier daemon left half done; before anything is served."""
        custody = self._custody
        await heal(custody.home, custody.trash, custody.registry.delete)

    async def close(self) -> None:
        await self.journals.close()
        await self._custody.close()
