"""Runs `make test` again and again, each time as somebody would who has just come: in a fresh
clone of the last commit, without a virtual environment, with an empty home and temporary folder.

    python tools/repeat_suite.py                 ten times
    python tools/repeat_suite.py 5 --busy 2      five times, beside two processes that never rest
    python tools/repeat_suite.py 4 --at-once 2   two by two, which is busier still

Says in one line how each went; what a suite printed stays in the folder that is named first.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NEVER_RESTS = "while True: pass"


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", _NEVER_RESTS]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def passes(folder: Path, number: int, revision: str, target: str) -> bool:
    """One suite; its clone stays where it failed."""
    place = folder / str(number)
    clone, home, temporary = (place / name for name in ("clone", "home", "t"))
    for made in (place, home, temporary):
        made.mkdir()
        made.chmod(0o755)  # some tests are about other users
    temporary.chmod(0o1777)
    subprocess.run(["git", "clone", "-q", "--no-checkout", str(ROOT), str(clone)], check=True)
    subprocess.run(["git", "checkout", "-q", "--detach", revision], cwd=clone, check=True)
    outer = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    began, load = time.monotonic(), os.getloadavg()[0]
    with (place / "output.txt").open("w") as output:
        status = subprocess.run(
            ["make", target],
            cwd=clone,
            env={**outer, "HOME": str(home), "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ).returncode
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    lines = (place / "output.txt").read_text(errors="replace").splitlines()
    summary = next((line for line in reversed(lines) if " in " in line and "passed" in line), "")
    left = [path.name for path in temporary.iterdir() if not path.name.startswith("pytest-of-")]
    word = "ok  " if status == 0 else "FAIL"
    print(
        f"{word} {number}: {minutes} min {seconds} s with set-up, load {load:.1f} to "
        f"{os.getloadavg()[0]:.1f}: {summary.strip('= ')}"
        + (f"; left in the temporary folder: {left}" if left else ""),
        flush=True,
    )
    if status == 0:
        shutil.rmtree(clone)
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("times", nargs="?", type=int, default=10)
    parser.add_argument("--busy", type=int, default=0, help="processes that never rest, beside it")
    parser.add_argument("--at-once", type=int, default=1, help="suites at the same time")
    parser.add_argument("--target", default="test", help="what is made (default: test)")
    wanted = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="suites-"))
    folder.chmod(0o755)
    revision = commit()
    print(f"make {wanted.target} of {revision}, {wanted.times} times, in {folder}", flush=True)
    with busy(wanted.busy), ThreadPoolExecutor(wanted.at_once) as pool:
        numbers = range(1, wanted.times + 1)
        suites = [
            pool.submit(passes, folder, number, revision, wanted.target) for number in numbers
        ]
        found = [suite.result() for suite in suites]
    print(f"{sum(found)} of {len(found)} passed")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
