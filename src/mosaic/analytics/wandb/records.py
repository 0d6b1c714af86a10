"""Decodes the records of a W&B log: the run, its config and summary, and points of its history.

Field numbers are those of wandb_internal.proto (checked against W&B 0.31 by a test).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.analytics import protobuf_wire as wire
from mosaic.analytics.media import Media
from mosaic.analytics.series import Series
from mosaic.analytics.wandb.media_items import keep_media
from mosaic.foreign.files import DEEPEST, parse_shallow_json

ITEM_KEY, ITEM_NESTED_KEY, ITEM_JSON = 1, 2, 16
# Newer writers may put the value of a history item into a field of its type.
ITEM_BOOLEAN, ITEM_INTEGER, ITEM_NUMBER = 4, 5, 6


def history_item(message: bytes) -> tuple[list[str], float | None]:
    """The path of a logged value, and the value when it is a number."""
    path: list[str] = []
    number: float | None = None
    for at, _, value in wire.fields(message):
        if at in (ITEM_KEY, ITEM_NESTED_KEY):
            path.append(wire.as_text(value))
        elif at == ITEM_JSON:
            number = _number(wire.as_bytes(value))
        elif at == ITEM_INTEGER:
            number = float(wire.zigzag(wire.as_int(value) & (1 << 64) - 1))
        elif at == ITEM_NUMBER:
            number = wire.as_double(value)
        elif at == ITEM_BOOLEAN:
            number = float(wire.as_int(value) != 0)
    return path, number


def item_json(message: bytes) -> bytes:
    for at, _, value in wire.fields(message):
        if at == ITEM_JSON:
            return wire.as_bytes(value)
    return b""


def _number(text: bytes) -> float | None:
    """JSON's numbers, the not-so-finite ones that W&B writes bare, and truth values."""
    if text in (b"true", b"false"):
        return float(text == b"true")
    try:
        return float(text)
    except ValueError:
        return None


def update(target: dict[str, Any], message: bytes, skipped: Counter[str]) -> None:
    """Carry the updates and removals of a config or summary record out."""
    for number, _, value in wire.fields(message):
        if number not in (1, 2):
            continue
        path: list[str] = []
        text = b"null"
        for at, _, part in wire.fields(wire.as_bytes(value)):
            if at in (ITEM_KEY, ITEM_NESTED_KEY):
                path.append(wire.as_text(part))
            elif at == ITEM_JSON:
                text = wire.as_bytes(part)
        # W&B keeps its own notes there.
        if not path or path[0] == "_wandb":
            continue
        try:
            value = parse_shallow_json(text)
            if len(path) > DEEPEST:
                raise ValueError("too many keys in a row")
            _place(target, path, value, is_removed=number == 2)
        except ValueError:
            skipped["malformed"] += 1


def _place(target: dict[str, Any], path: list[str], value: Any, *, is_removed: bool) -> None:
    for key in path[:-1]:
        inner = target.get(key)
        if not isinstance(inner, dict):
            inner = target[key] = {}
        target = inner
    if is_removed:
        target.pop(path[-1], None)
    else:
        target[path[-1]] = value


RECORD_FIELDS = {"history": 2, "summary": 3, "config": 5, "run": 17, "exit": 18, "header": 21}
RUN_TEXTS = {
    "run_id": 1,
    "entity": 2,
    "project": 3,
    "run_group": 6,
    "job_type": 7,
    "display_name": 8,
    "notes": 9,
    "sweep_id": 12,
    "host": 13,
}
RUN_CONFIG, RUN_SUMMARY, RUN_TAGS, RUN_START_TIME = 4, 5, 10, 17
_KIND_OF_RECORD = {number: kind for kind, number in RECORD_FIELDS.items()}
_NAME_OF_TEXT = {number: name for name, number in RUN_TEXTS.items()}
_INT64 = 1 << 63
_END_OF_TIME = 2.5e11  # the year 9892: dates beyond cannot be shown


@dataclass
class WandbRun:
    """What the log says about its run so far. `exit_code` is None until the run has ended."""

    texts: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    exit_code: int | None = None
    writer_version: str = ""

    @property
    def run_id(self) -> str:
        return self.texts.get("run_id", "")

    @property
    def project(self) -> str:
        return self.texts.get("project", "")

    @property
    def entity(self) -> str:
        return self.texts.get("entity", "")

    @property
    def name(self) -> str:
        return self.texts.get("display_name", "")


class WandbDecoder:
    """Applies records, in their order, to a run; points go into the series handed over."""

    def __init__(self, files: Path | None = None) -> None:
        """`files` is the folder beside the log where pictures are; without it, none are kept."""
        self.run = WandbRun()
        self.media = Media()
        self._files = files
        self._last_step = -1

    def apply(self, record: bytes, series: dict[str, Series], skipped: Counter[str]) -> None:
        try:
            for number, _, value in wire.fields(record):
                kind = _KIND_OF_RECORD.get(number)
                if kind is not None:
                    self._apply(kind, wire.as_bytes(value), series, skipped)
        except wire.WireError:
            skipped["malformed"] += 1

    def _apply(
        self, kind: str, message: bytes, series: dict[str, Series], skipped: Counter[str]
    ) -> None:
        if kind == "history":
            self._add_points(message, series, skipped)
        elif kind == "summary":
            update(self.run.summary, message, skipped)
        elif kind == "config":
            update(self.run.config, message, skipped)
        elif kind == "run":
            self._apply_run(message, skipped)
        elif kind == "exit":
            codes = [wire.as_int(value) for number, _, value in wire.fields(message) if number == 1]
            self.run.exit_code = codes[-1] if codes else 0
        else:
            self.run.writer_version = _writer_version(message)

    def _apply_run(self, message: bytes, skipped: Counter[str]) -> None:
        tags = []
        for number, _, value in wire.fields(message):
            if number in _NAME_OF_TEXT:
                self.run.texts[_NAME_OF_TEXT[number]] = wire.as_text(value)
            elif number == RUN_TAGS:
                tags.append(wire.as_text(value))
            elif number == RUN_CONFIG:
                update(self.run.config, wire.as_bytes(value), skipped)
            elif number == RUN_SUMMARY:
                update(self.run.summary, wire.as_bytes(value), skipped)
            elif number == RUN_START_TIME:
                parts = dict((at, wire.as_int(v)) for at, _, v in wire.fields(wire.as_bytes(value)))
                started_at = parts.get(1, 0) + parts.get(2, 0) / 1e9
                self.run.started_at = started_at if 0 <= started_at < _END_OF_TIME else None
        self.run.tags = tags

    def _add_points(self, message: bytes, series: dict[str, Series], skipped: Counter[str]) -> None:
        numbers: dict[str, float] = {}
        others: dict[str, bytes] = {}
        step = self._last_step + 1
        for field_number, _, value in wire.fields(message):
            if field_number == 2:
                step = _step_number(wire.as_bytes(value))
            elif field_number == 1:
                path, number = history_item(wire.as_bytes(value))
                if number is None:
                    skipped["history value that is no number"] += 1
                    others[".".join(path)] = item_json(wire.as_bytes(value))
                else:
                    numbers[".".join(path)] = number
        said = numbers.pop("_step", math.nan)
        if -_INT64 < said < _INT64:
            step = int(said)
        wall_time = numbers.pop("_timestamp", math.nan)
        self._last_step = min(step, _INT64 - 2)
        if self._files is not None:
            for name, text in others.items():
                keep_media(self.media, name, text, step, self._files)
        for name, number in numbers.items():
            series.setdefault(name, Series()).append(step, wall_time, number)


def _step_number(message: bytes) -> int:
    for number, _, value in wire.fields(message):
        if number == 1:
            return wire.as_int(value)
    return 0


def _writer_version(message: bytes) -> str:
    for number, _, value in wire.fields(message):
        if number == 1:
            for inner, _, text in wire.fields(wire.as_bytes(value)):
                if inner == 1:
                    return wire.as_text(text)
    return ""
