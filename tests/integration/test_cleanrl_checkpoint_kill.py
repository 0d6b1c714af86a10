"""`kill -9` while checkpoints are saved: what was said to be saved can be loaded, every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20


def test_a_process_killed_while_saving_always_leaves_its_last_checkpoint(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.checkpoint_killing", str(tmp_path), str(KILLS)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert result.returncode == 0, result.stderr
    steps = [int(line) for line in result.stdout.split()]
    assert len(steps) == KILLS
    assert steps == sorted(set(steps))  # each process went on where the killed one was
