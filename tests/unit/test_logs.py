"""Log records are JSON, carry their fields, and never a hidden value."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from mosaic.logs import JsonLines, get_logger, hide_texts, log_to_file


def rendered(caplog_records: list[logging.LogRecord]) -> list[dict[str, object]]:
    return [json.loads(JsonLines().format(record)) for record in caplog_records]


def test_a_record_has_event_component_and_fields(caplog: object) -> None:
    with caplog.at_level(logging.INFO):  # type: ignore[attr-defined]
        get_logger("mosaic.test").info("run.launched", run_id="R", pid=7)
    (entry,) = rendered(caplog.records)  # type: ignore[attr-defined]
    assert entry["event"] == "run.launched"
    assert entry["component"] == "mosaic.test"
    assert (entry["run_id"], entry["pid"], entry["level"]) == ("R", 7, "INFO")


def test_a_hidden_value_is_masked_wherever_it_appears(caplog: object) -> None:
    hide_texts("a run", ["canary-5f3a", "canary"])
    with caplog.at_level(logging.INFO):  # type: ignore[attr-defined]
        get_logger("mosaic.test").info("thing.happened", text="is canary-5f3a!", n=["canary-5f3a"])
    text = json.dumps(rendered(caplog.records))  # type: ignore[attr-defined]
    assert "canary-5f3a" not in text
    assert "***" in text


def test_a_pipe_in_the_place_of_the_log_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "daemon.log")
    with pytest.raises(OSError, match="not a regular file"):
        log_to_file(tmp_path / "daemon.log")
