"""What can be wrong with what the learning is given; each names the field and what to do."""

from __future__ import annotations

from mosaic.errors import ConfigError, WorkerError


class SettingsError(ConfigError):
    """A setting of the learning, or a pursuit, is out of range."""

    code = "learning_settings"


class WorldError(ConfigError):
    """An environment cannot be had, or its states and actions cannot be counted."""

    code = "learning_world"


class TablesError(WorkerError):
    """Saved tables cannot be written, are damaged, or are of something else."""

    code = "learning_tables"
