"""Structured logging: a stable event name and fields, as one JSON object a line.

    log = get_logger(__name__)
    log.info("run.launched", run_id=run_id, pid=pid)

The event is `noun.past_verb`; everything else is a field. `hide_texts` masks a secret wherever it
turns up in any record.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import MosaicError
from mosaic.foreign.files import open_regular

MASK = "***"
# Without a handler of its own Python would print bare event names on stderr.
logging.getLogger("mosaic").addHandler(logging.NullHandler())
_hidden_by_owner: dict[str, frozenset[str]] = {}
# Longest first: a secret that begins another would leave the rest of it readable.
_hidden_texts: list[str] = []
_hiding = threading.Lock()


def hide_texts(owner: str, texts: Iterable[str]) -> None:
    """Mask these strings in every later log record of this process.

    They take the place of what the same owner had hidden before. Whoever has nothing to hide any
    more says so, with no texts: each record is searched for all that are hidden.
    """
    with _hiding:
        _hidden_by_owner[owner] = frozenset(texts) - {""}
        if not _hidden_by_owner[owner]:
            del _hidden_by_owner[owner]
        all_hidden = frozenset().union(*_hidden_by_owner.values())
        _hidden_texts[:] = sorted(all_hidden, key=len, reverse=True)


def mask_hidden(text: str) -> str:
    for hidden in tuple(_hidden_texts):
        if hidden in text:
            text = text.replace(hidden, MASK)
    return text


class EventLogger:
    """A thin face over `logging` whose calls take an event name and fields."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: Any) -> None:
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        self._log(logging.ERROR, event, fields, exc_info=True)

    def _log(
        self, level: int, event: str, fields: Mapping[str, Any], exc_info: bool = False
    ) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, extra={"fields": fields}, exc_info=exc_info)


def get_logger(name: str) -> EventLogger:
    return EventLogger(name)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "component": record.name,
            "event": record.getMessage(),
        }
        fields = getattr(record, "fields", {})
        entry.update({key: _loggable(value) for key, value in fields.items()})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return mask_hidden(json.dumps(entry, default=str))


def _loggable(value: Any) -> Any:
    return value.to_dict() if isinstance(value, MosaicError) else value


def log_to_file(path: Path, level: int = logging.INFO, max_bytes: int = 10_000_000) -> None:
    """Send every record of this process to a rotated file of JSON lines.

    Raises OSError, also for a pipe in its place, which would hold us up.
    """
    if path.exists():
        os.close(open_regular(path))
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=max_bytes, backupCount=3)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
