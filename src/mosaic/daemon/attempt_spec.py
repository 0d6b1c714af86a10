"""Turns a stored run into what its run host needs to start the worker."""

from __future__ import annotations

import os
import secrets as random_secrets
from typing import Any

from mosaic.contracts import worker_environment as variables
from mosaic.contracts.hostile_text import SECRET_REFERENCE
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_files import AttemptSpec
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.launch_command import LaunchCommand, resolve_command, worker_environment
from mosaic.daemon.run_monitor import heartbeat_interval_s
from mosaic.daemon.secrets import SecretVault
from mosaic.daemon.worker_catalog import WorkerCatalog
from mosaic.errors import WorkerStartError
from mosaic.files import atomic_write, atomic_write_json
from mosaic.paths import Home


class SpecBuilder:
    def __init__(
        self, home: Home, catalog: WorkerCatalog, vault: SecretVault, next_slot: Any
    ) -> None:
        self._home = home
        self._catalog = catalog
        self._vault = vault
