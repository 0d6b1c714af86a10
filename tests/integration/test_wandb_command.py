"""A real offline run of W&B is shown without network, and uploaded only where that can work."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.analytics.wandb.sync import sync_offline_run
from mosaic.contracts.manifest import AnalyticsManifest, WandbArtifact
from mosaic.errors import ProgramError, RequestError
from mosaic.files import atomic_write_json
from tests.daemon_harness import DaemonHarness
from tests.waiting import PATIENCE_S, wait_until

pytest.importorskip("wandb")

KEY = "0123456789abcdef0123456789abcdef01234567"
SCRIPT = """
import wandb
run = wandb.init(project="p", name="nice", config={"lr": 0.1, "api_key": "do-not-show-me"})
for step in range(20):
    run.log({"loss": 1 / (step + 1)}, step=step)
run.finish()
"""


def test_an_offline_run_is_shown_and_its_upload_needs_key_and_network(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config={"episodes": 1})
    daemon.wait_over(run_id)
    files = daemon.home.run(run_id)
    environment = {
        **daemon.environment,
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_DIR": str(files.directory),
        "WANDB_DISABLE_GIT": "true",
        "HOME": str(files.directory),  # no key of the user who runs the tests
    }
    environment.pop("WANDB_API_KEY", None)
    subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=files.directory,
        check=True,
        timeout=PATIENCE_S,
    )
    manifest = AnalyticsManifest(run_id, "w", wandb=WandbArtifact(True, url="https://x.test/r"))
    atomic_write_json(files.manifest, manifest.to_dict())

    def mosaic(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mosaic.cli", "wandb", run_id, *words],
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    shown = mosaic()
    assert shown.returncode == 0, shown.stderr
    for text in ("nice", "https://x.test/r", "offline", "lr", "20 points, last 0.05"):
        assert text in shown.stdout
    data = json.loads(mosaic("--json").stdout)
    assert data["summary"]["loss"] == 0.05
    assert data["config"] == {"lr": 0.1, "api_key": "***"}
    assert "do-not-show-me" not in shown.stdout
    history = json.loads(mosaic("--history", "loss", "--json").stdout)
    assert history["steps"] == list(range(20))
    assert mosaic("--history", "nothing").returncode == 2
    no_key = mosaic("--sync")
    assert no_key.returncode == 2 and "no W&B key" in no_key.stderr
    unreachable = mosaic("--sync", WANDB_API_KEY=KEY, WANDB_BASE_URL="http://127.0.0.1:9")
    assert unreachable.returncode == 2 and "cannot be reached" in unreachable.stderr
    assert KEY not in unreachable.stderr + unreachable.stdout


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import os, subprocess, sys, time\n{text}")


def test_the_program_that_uploads_cannot_hang_or_tell_the_key(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment = {
            "PATH": os.environ["PATH"],
            "WANDB_API_KEY": KEY,
            "WANDB_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
        }
        link = "https://wandb.test/e/p/runs/abc"
        says_all = program(f"print('synced', {link!r}, os.environ['WANDB_API_KEY'])")
        done = sync_offline_run(tmp_path, environment, command=says_all)
        assert done.url == link
        assert KEY not in done.output

        fails = program("print(os.environ['WANDB_API_KEY'], 'is wrong'); sys.exit(3)")
        with pytest.raises(ProgramError, match="status 3") as caught:
            sync_offline_run(tmp_path, environment, command=fails)
        assert caught.value.details["stderr_tail"] == ["*** is wrong"]

        pid_file = tmp_path / "helper"
        hangs = ("/bin/sh", "-c", f"sleep 600 & echo $! > '{pid_file}'; sleep 600")
        with pytest.raises(ProgramError, match="was stopped"):
            sync_offline_run(tmp_path, environment, command=hangs, timeout_s=3)
        helper = int(pid_file.read_text())
        wait_until(lambda: not _is_alive(helper), what="its helper to be gone")
    with pytest.raises(RequestError, match="cannot be reached"):
        sync_offline_run(tmp_path, environment, command=says_all)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
