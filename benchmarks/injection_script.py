"""What being watched costs a whole script of somebody else's: CPU time with us and without.

    python -m benchmarks.injection_script [--pairs 12] -- PYTHON SCRIPT [ARGUMENTS]

For example CleanRL's ppo.py in its own environment. Processes with and without us take turns; CPU
time of all their threads and children counts, from start to end, so imports are in it. They differ
by a few per cent among each other: it takes many, and a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.injection_twins import interval
from benchmarks.report import Report
from mosaic.contracts.worker_environment import FASTLANE_SEGMENT
from mosaic.watch.bridge import Bridge
from mosaic.watch.config import ScriptConfig
from mosaic.watch.messages import Episode, Message
from mosaic.watch.variables import import_folders, script_variables


@contextlib.contextmanager
def injection(command: list[str]) -> Iterator[tuple[Mapping[str, str], list[Episode]]]:
    """Variables that have a script watched, and the episodes that came until the end of it."""
    episodes: list[Episode] = []

    def take(message: Message) -> None:
        if isinstance(message, Episode):
            episodes.append(message)

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, import_folders(None) as folders:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)
        bridge = Bridge(pipe, take, lambda: None)
        variables = script_variables(
            os.environ,
            ScriptConfig(command=tuple(command)),
            bridge=str(pipe),
            import_folders=folders,
            recordings=folder,
        )
        variables[FASTLANE_SEGMENT] = str(Path(folder) / "segment")
        try:
            yield variables, episodes
        finally:
            bridge.close()


def cpu_seconds(command: list[str], variables: Mapping[str, str], folder: str) -> float:
    process = subprocess.Popen(command, env=dict(variables), cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    command: list[str] = arguments.command
    plain: list[float] = []
    ratios: list[float] = []
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        before = cpu_seconds(command, os.environ, folder)
        for _ in range(arguments.pairs):
            with injection(command) as (variables, episodes):
                watched = cpu_seconds(command, variables, folder)
            if not episodes:
                sys.exit("the script sent no episode: this measured no injection")
            count = len(episodes)
            after = cpu_seconds(command, os.environ, folder)
            plain += (before, after)
            ratios.append((before + after) / 2 / watched)
            before = after
    script = next((Path(part).name for part in command if part.endswith(".py")), command[0])
    report = Report(f"What being watched costs {script} ({count:,} episodes)")
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    report.add("plain, median", f"{statistics.median(plain):.2f} s of CPU time", "1")
    spread = f"{min(ratios):.4f} to {max(ratios):.4f} in a process"
    report.add("under injection", spread, f"{interval(ratios)}; target ≥ 0.99; load {load}")
    report.print()


if __name__ == "__main__":
    main()
