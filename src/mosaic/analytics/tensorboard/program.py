"""The process that runs TensorBoard for somebody, and ends with them.

Started by `TensorBoardServer`, by its file name, in whichever interpreter has TensorBoard: nothing
of MOSAIC can be imported here. Gets its settings as one JSON line on standard input, answers with
one on standard output (`{"url"}` or `{"error", "kind"}`), and serves until that input is closed.
However its owner dies, the kernel closes the pipe; whatever TensorBoard started goes with it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import threading
from typing import Any

PARENT_CHECK_S = 1.0


def main() -> None:
    settings = json.loads(sys.stdin.buffer.readline())
    # Before the imports, which take seconds: the owner may be gone by then.
    watch = threading.Thread(target=end_with_owner, args=(settings["owner"], settings["tree"]))
    watch.start()
    answer = os.dup(1)
    os.dup2(2, 1)  # what TensorBoard prints is for its log
    try:
        message = {"url": serve(settings)}
    except ImportError as error:
        message = {"error": str(error), "kind": "missing"}
    except Exception as error:  # noqa: BLE001  # whatever it is, the owner has to hear it
        message = {"error": str(error) or type(error).__name__, "kind": "failed"}
    os.write(answer, json.dumps(message).encode() + b"\n")
    os.close(answer)


def serve(settings: dict[str, Any]) -> str:
    from tensorboard import default, program

    board = program.TensorBoard(plugins=default.get_plugins())
    board.configure(
        argv=[
            "tensorboard",
            f"--logdir={settings['logs']}",
            "--host=127.0.0.1",
            f"--port={settings['port']}",
            f"--path_prefix={settings['path_prefix']}",
        ]
    )
    url: str = board.launch()
    return url


def end_with_owner(owner: int, tree: str) -> None:
    # A copy of the owner that was forked off may hold the pipe open, hence the second look.
    while os.getppid() == owner:
        if select.select([0], [], [], PARENT_CHECK_S)[0] and not os.read(0, 1024):
            break
    shutil.rmtree(tree, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)  # us, and the server of data that TensorBoard started


if __name__ == "__main__":
    del sys.path[0]  # our folder, whose modules are nobody's business here
    main()
