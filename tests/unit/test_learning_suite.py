"""The learning suite: what is measured on one machine is taken over on another."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from learning.alone import Recorder
from learning.collect import read_seed


def test_what_a_training_stores_is_what_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    path = tmp_path / "1.json"
    recorder = Recorder(path, "ppo", "CartPole-v1", seed=3, flags=[])
    for step, value in ((20, 20.0), (50, 30.0)):
        recorder.metric("charts/episodic_return", value, step)
    recorder.store()
    name, seed = read_seed(path)
    assert name == "ppo CartPole-v1"
    assert (seed.seed, seed.steps, seed.mean_return) == (3, 50, 25.0)
