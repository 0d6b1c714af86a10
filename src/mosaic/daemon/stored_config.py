"""Reads the config of a run an earlier daemon accepted; also says what to do when it is lost."""

from __future__ import annotations

from mosaic.contracts.run_config import (
    Artifacts,
    Resources,
    TrainRunConfig,
    parse_run_config,
)
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason
from mosaic.errors import ConfigError
from mosaic.files import read_json
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

CONFIG_LOST = FailureReason(
    FailureKind.LAUNCH_ERROR,
    "The run's config cannot be read any more.",
    "submit it again",
)


def read_stored_config(home: Home, run_id: str) -> TrainRunConfig | None:
    """None when the file is missing or damaged."""
    path = home.config(run_id)
    try:
        stored = read_json(path)
        if stored is not None:
            return parse_run_config(stored)
        problem = "the file is missing"
    except (OSError, ValueError, RecursionError, ConfigError) as error:
        problem = str(error)
    log.error("config.unreadable", run_id=run_id, path=str(path), problem=problem)
    return None


def stand_in_config(record: RunRecord) -> TrainRunConfig:
    """Enough to look after a run that is live already; launched again it would only say why not."""
    return TrainRunConfig(
        run_name=record.run_name,
        entry_point="python",
        arguments=("-c", f"raise SystemExit({CONFIG_LOST.message!r})"),
        environment={},
        resources=Resources(record.cpus),
        artifacts=Artifacts(),
    )
