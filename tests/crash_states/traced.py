"""The process that strace watches: one writer at work. python -m tests.crash_states.traced W ROOT

It tells on its standard output what it begins and what is done, one line each; these lines are
part of the recording. Nothing else may be printed there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.crash_states.proof import writer_called


def announce(text: str) -> None:
    os.write(1, text.encode() + b"\n")


if __name__ == "__main__":
    writer_called(sys.argv[1]).write(Path(sys.argv[2]), announce)
