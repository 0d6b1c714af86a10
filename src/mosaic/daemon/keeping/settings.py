"""`retention.toml` in the home: a policy that the daemon applies by itself, off by default.

[retention]             # without this table nothing is ever deleted by itself
max_age_days = 90
max_total_size = "200GB"
keep_last = 20
keep_best = 3

[trash]
keep_days = 7           # how long a deleted run can be restored
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.keeping import RetentionPolicy, parse_size
from mosaic.contracts.schema_check import shown
from mosaic.daemon.keeping.retention_plan import check_policy
from mosaic.errors import ConfigError
from mosaic.foreign_files import read_regular
from mosaic.foreign_json import MAX_DOCUMENT_BYTES

DEFAULT_KEEP_DAYS = 7.0
MOST = 1_000_000_000  # of days, or of runs
_RULES = ("max_age_days", "max_total_size", "keep_last", "keep_best")


@dataclass(frozen=True)
class KeepingSettings:
    policy: RetentionPolicy | None = None
    trash_keep_days: float = DEFAULT_KEEP_DAYS


def read_settings(path: Path) -> KeepingSettings:
    """The defaults when there is no file; raises ConfigError for one that says nonsense."""
    try:
        data = tomllib.loads(read_regular(path, MAX_DOCUMENT_BYTES).decode())
    except FileNotFoundError:
        return KeepingSettings()
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", hint="mend it or remove it", field=path.name
        ) from error
    return parse_settings(data)


def parse_settings(data: dict[str, Any]) -> KeepingSettings:
    _refuse_unknown(data, ("retention", "trash"), "")
    trash = _table(data, "trash", ("keep_days",))
    keep_days = _number(trash, "trash", "keep_days")
    policy = None
    if "retention" in data:
        rules = _table(data, "retention", _RULES)
        size = rules.get("max_total_size")
        policy = check_policy(
            RetentionPolicy(
                max_age_days=_number(rules, "retention", "max_age_days"),
                max_total_bytes=None if size is None else parse_size(size, "max_total_size"),
                keep_last=_count(rules, "keep_last"),
                keep_best=_count(rules, "keep_best"),
            )
        )
    return KeepingSettings(policy, DEFAULT_KEEP_DAYS if keep_days is None else keep_days)


def _table(data: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"[{name}] in retention.toml is not a table", field=name)
    _refuse_unknown(table, known, f"{name}.")
    return table


def _refuse_unknown(table: dict[str, Any], known: tuple[str, ...], prefix: str) -> None:
    """A rule that is misspelled must not pass for one that is absent."""
    for name in table:
        if name not in known:
            raise ConfigError(
                f"retention.toml has an unknown entry {prefix}{name}",
                hint=f"known: {', '.join(known)}",
                field=f"{prefix}{name}",
            )


def _number(table: dict[str, Any], where: str, name: str) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST:
        raise ConfigError(
            f"{where}.{name} is {shown(value)}",
            hint=f"give a number, 0 to {MOST:,}",
            field=f"{where}.{name}",
        )
    return float(value)


def _count(table: dict[str, Any], name: str) -> int | None:
    value = _number(table, "retention", name)
    if value is not None and value != int(value):
        raise ConfigError(
            f"retention.{name} is {value}", hint="give a whole number", field=f"retention.{name}"
        )
    return None if value is None else int(value)
