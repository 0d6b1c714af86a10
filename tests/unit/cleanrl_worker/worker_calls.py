"""Runs the worker's program inside the test process, as the daemon would start it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import cli
from mosaic.files import atomic_write_json
from mosaic.testing.event_check import assert_valid_journal, parse_journal

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
TINY_PPO = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 512,
    "extras": {
        "algo_params": {
            "num_envs": 2,
            "num_steps": 32,
            "num_minibatches": 2,
            "update_epochs": 1,
            "checkpoint_interval": 128,
        }
    },
}


def tiny(extras: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A training of a second; `extras` are added to its own."""
    params = {**TINY_PPO["extras"]["algo_params"], **(extras or {}).get("algo_params", {})}  # type: ignore[index]
    return {**TINY_PPO, **changes, "extras": {**(extras or {}), "algo_params": params}}


class Worker:
    """One run's folder; each call is an attempt."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self._monkeypatch = monkeypatch
        directory.mkdir(parents=True)

    def run(
        self,
        config: Mapping[str, Any],
        *arguments: str,
        environment: Mapping[str, str] | None = None,
    ) -> int:
        told = {
            "MOSAIC_RUN_ID": RUN_ID,
            "MOSAIC_RUN_DIR": str(self.directory),
            "MOSAIC_JOURNAL": str(self.directory / "events.jsonl"),
            **(environment or {}),
        }
        config_file = self.directory / "config.json"
        atomic_write_json(config_file, config)
        with self._monkeypatch.context() as patch:
            for name, value in told.items():
                patch.setenv(name, value)
            return cli.main(["--config", str(config_file), *arguments])

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        events = parse_journal((self.directory / "events.jsonl").read_bytes())
        assert_valid_journal(events)
        return [event for event in events if kind in (None, event["type"])]

    @property
    def failure(self) -> dict[str, Any]:
        (event,) = self.events("run_failed")
        payload: dict[str, Any] = event["payload"]
        return payload

    @property
    def manifest(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.directory / "analytics.json").read_text())
        return content

    @property
    def notes(self) -> list[str]:
        beats = self.events("heartbeat")
        return [beat["payload"]["note"] for beat in beats if "note" in beat["payload"]]

    @property
    def folder(self) -> Path:
        """`runs/<env>__<exp>__<seed>__<timestamp>`."""
        (folder,) = (self.directory / "runs").iterdir()
        return folder

    @property
    def model(self) -> Path:
        (model,) = (path for path in self.folder.glob("*.cleanrl_model") if "best" not in path.stem)
        return model
