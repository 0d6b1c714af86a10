"""Configs of runs that earlier daemons accepted: read again, and brought up to this version.

Version 2 of a home: configs hold references in place of the values of variables, except for
harmless names. Each file is replaced as a whole, and the version is written last: a migration that
is cut off at any moment is simply done again, and what was done already needs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from mosaic.contracts.hostile_text import RUN_ID
from mosaic.contracts.run_config import Artifacts, Resources, TrainRunConfig, parse_run_config
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason
from mosaic.contracts.secrets import SecrecyRules, redact_config, secret_values
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.errors import ConfigError
from mosaic.files import atomic_write_json, read_json
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
    """Enough to supervise a run that is already live; launching it again would only say why not."""
    return TrainRunConfig(
        run_name=record.run_name,
        entry_point="python",
        arguments=("-c", f"raise SystemExit({CONFIG_LOST.message!r})"),
        environment={},
        resources=Resources(record.cpus),
        artifacts=Artifacts(),
    )


FORMAT = 2
_CONFIG_NAME = re.compile(rf"config-({RUN_ID.pattern})(-policy)?\.json")


def upgrade_home(home: Home, vault: SecretVault, unfinished: Collection[str]) -> int:
    """How many configs were changed. `unfinished` are the runs that will need their values."""
    if _format_of(home) >= FORMAT:
        return 0
    changed = 0
    try:
        for path, run_id in _configs(home):
            changed += _take_values_out(path, run_id, vault if run_id in unfinished else None)
        for leftover in home.configs.glob(".config-*.tmp"):  # of a daemon that died while it wrote
            leftover.unlink(missing_ok=True)
        atomic_write_json(home.format, {"format": FORMAT})
    except OSError as error:
        # A full disk, for one. The daemon serves all the same, and its next start tries again.
        log.error("home.upgrade_failed", error=str(error))
    if changed:
        log.info("configs.redacted", count=changed)
    return changed


def _format_of(home: Home) -> int:
    try:
        return int((read_json(home.format) or {"format": 1})["format"])
    except (OSError, ValueError, TypeError, KeyError):
        return 1  # doing it again does no harm


def _configs(home: Home) -> Iterator[tuple[Path, str]]:
    """Plain files only: one that is not must not keep the others from being migrated."""
    for folder in filter(Path.is_dir, (home.configs, *sorted(home.trash.glob("*/configs")))):
        for path in sorted(folder.iterdir()):
            match = _CONFIG_NAME.fullmatch(path.name)
            if match and path.is_file() and not path.is_symlink():
                yield path, match[1]


def _take_values_out(path: Path, run_id: str, vault: SecretVault | None) -> bool:
    try:
        config = read_json(path)
    except ValueError:
        return False  # damaged: no program can do anything with it, but a person may want to look
    if not isinstance(config, dict) or not isinstance(config.get("environment"), dict):
        return False
    rules = SecrecyRules.here()
    values = secret_values(config["environment"], rules.for_config(config))
    if not values:
        return False
    if vault is not None:
        # First, so that they are in one of the two places at every moment.
        vault.put(run_id, {**(vault.get(run_id) or {}), **values})
    atomic_write_json(path, redact_config(config, run_id, rules))
    return True
