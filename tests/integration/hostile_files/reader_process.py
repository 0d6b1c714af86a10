"""A program that reads one file per line of its input, each in a process of its own.

    {"reader": NAME, "folder": PATH}  ->  {"outcome", "said", "grown_mb"}

`outcome` is "refused" (an error of ours), "clean" (an answer), "crashed" (any other error), or
"hung". The modules are imported before, so that what a reader's process grows by is what the file
made it take.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import MosaicError
from tests.waiting import PATIENCE_S

Reader = Callable[[Path], Any]


def readers_of(family: str) -> Mapping[str, Reader]:
    if family == "torch":
        from tests.integration.hostile_files.checkpoint_readers import READERS
    else:
        from tests.integration.hostile_files.core_readers import READERS
    return READERS


def main() -> None:
    readers = readers_of(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(read_apart(readers[asked["reader"]], Path(asked["folder"]))), flush=True)


def read_apart(reader: Reader, folder: Path) -> dict[str, Any]:
    answer, child_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(answer)
        os.write(child_end, json.dumps(outcome(reader, folder)).encode())
        os._exit(0)
    os.close(child_end)
    is_heard = bool(select.select([answer], [], [], PATIENCE_S)[0])
    text = os.read(answer, 65_536) if is_heard else b""
    os.close(answer)
    if not is_heard:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if text:
        said: dict[str, Any] = json.loads(text)
        return said
    return {"outcome": "crashed" if is_heard else "hung", "said": "", "grown_mb": 0.0}


def outcome(reader: Reader, folder: Path) -> dict[str, Any]:
    before = peak_mb()
    try:
        kind, said = "clean", repr(reader(folder))
    except MosaicError as error:
        kind, said = "refused", error.message
    except BaseException:  # noqa: BLE001  # whatever it is, the test has to hear of it
        kind, said = "crashed", traceback.format_exc()
    return {"outcome": kind, "said": said[:4000], "grown_mb": peak_mb() - before}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
