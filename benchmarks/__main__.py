"""Runs every benchmark (or those named) in a process of its own and prints their tables."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
NOT_BENCHMARKS = {"__init__", "__main__", "report", "cleanrl_scripts", "gui_frames_worker"}


def main() -> int:
    known = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in NOT_BENCHMARKS)
    chosen = sys.argv[1:] or known
    if unknown := set(chosen) - set(known):
        print(f"no benchmark {sorted(unknown)}; there are {known}", file=sys.stderr)
        return 2
    print(f"# {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {_machine()}")
    failed = [
        name
        for name in chosen
        if subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}"], cwd=FOLDER.parent, check=False
        ).returncode
    ]
    if failed:
        print(f"failed: {failed}", file=sys.stderr)
    return 1 if failed else 0


def _machine() -> str:
    import os

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
