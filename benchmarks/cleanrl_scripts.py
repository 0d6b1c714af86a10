"""CleanRL's own, unmodified scripts as a baseline in the same run, for those who have them.

CLEANRL_FOLDER names a checkout, CLEANRL_PYTHON the interpreter of an environment it runs in. A
figure measured elsewhere says little: the speed of a shared machine changes twofold within a day.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

FOLDER, PYTHON = os.environ.get("CLEANRL_FOLDER", ""), os.environ.get("CLEANRL_PYTHON", "")
_UPDATES_BETWEEN_REPORTS = 100  # of its learners with a replay buffer
_REPORT = re.compile(r"SPS: (\d+)")


def are_there() -> bool:
    return bool(FOLDER and PYTHON)


def steps_per_second(algo: str, env_id: str, steps: int, learning_starts: int | None) -> float:
    """Of the whole run, or once it learns; with torch's own choice of threads or one: the faster.

    Which of the two is faster depends on who else is on the machine.
    """
    own_choice = _measure(algo, env_id, steps, learning_starts, {})
    one = _measure(algo, env_id, steps, learning_starts, {"OMP_NUM_THREADS": "1"})
    return max(own_choice, one)


def _measure(
    algo: str, env_id: str, steps: int, learning_starts: int | None, environment: dict[str, str]
) -> float:
    command = [PYTHON, "-u", "-W", "ignore", str(Path(FOLDER, "cleanrl", f"{algo}.py"))]
    command += ["--env-id", env_id, "--total-timesteps", str(steps), "--no-cuda", "--seed", "1"]
    if learning_starts is not None:
        command += ["--learning-starts", str(learning_starts)]
    reports: list[tuple[float, float]] = []  # when, and its figure for the whole run so far
    with subprocess.Popen(
        command,
        cwd=FOLDER,
        env={**os.environ, "PYTHONPATH": FOLDER, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := _REPORT.match(line):
                reports.append((time.perf_counter(), float(found[1])))
    if process.returncode or len(reports) < 2:
        raise SystemExit(f"{' '.join(command)} failed ({process.returncode})")
    if learning_starts is None:
        return reports[-1][1]
    elapsed = reports[-1][0] - reports[0][0]
    return (len(reports) - 1) * _UPDATES_BETWEEN_REPORTS / elapsed
