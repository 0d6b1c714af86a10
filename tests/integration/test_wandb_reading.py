"""What W&B itself writes offline is read back, while it writes and afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.analytics.series import Series
from mosaic.analytics.wandb.reader import WandbReader, find_logs, latest_log
from tests.waiting import PATIENCE_S, wait_until

pytest.importorskip("wandb")

# The run waits for a line on its standard input before it ends, so that it can be read half done.
SCRIPT = """
import sys
import wandb

config = {"lr": 0.1, "a": {"b": 1}}
run = wandb.init(project="p", entity="e", name="nice", tags=["t"], config=config)
for step in range(300):
    run.log({"loss": 1 / (step + 1), "nested": {"deep": step}, "text": "x" * 500}, step=step * 2)
run.config.update({"late": 5})
sys.stdin.readline()
run.summary["best"] = 3
run.log({"picture": wandb.Histogram([1, 2]), "end": float("nan")})
run.finish(exit_code=4)
"""


def test_an_offline_run_is_read_while_it_grows(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_DIR": str(tmp_path),
        "WANDB_DISABLE_GIT": "true",
        "WANDB_CONFIG_DIR": str(tmp_path / "config"),
        "WANDB_CACHE_DIR": str(tmp_path / "cache"),
    }
    seen: dict[str, Series] = {}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, env=environment, cwd=tmp_path
    ) as process:
        try:
            wait_until(lambda: latest_log(tmp_path) is not None)
            log = latest_log(tmp_path)
            assert log is not None
            reader = WandbReader(log)

            def read_on() -> int:
                news = reader.read_new()
                assert news.problems == []
                assert not news.is_restarted
                for name, series in news.series.items():
                    seen.setdefault(name, Series()).extend(series)
                return len(seen.get("loss", ()))

            # W&B keeps what it has not flushed to itself; so much must come while the run goes on.
            wait_until(lambda: read_on() > 100)
            assert reader.run.exit_code is None
            process.communicate(b"\n", timeout=PATIENCE_S)
        finally:
            process.kill()
    read_on()
    assert find_logs(tmp_path) == [log]
    assert seen["loss"].steps.tolist() == list(range(0, 600, 2))
    assert seen["loss"].values.tolist() == [1 / (step + 1) for step in range(300)]
    assert seen["nested.deep"].values.tolist() == list(range(300))
    run = reader.run
    assert (run.project, run.entity, run.name, run.tags) == ("p", "e", "nice", ["t"])
    assert log.name == f"run-{run.run_id}.wandb"
    assert run.config == {"lr": 0.1, "a": {"b": 1}, "late": 5}
    assert (run.summary["best"], run.summary["loss"]) == (3, 1 / 300)
    assert run.exit_code == 4
