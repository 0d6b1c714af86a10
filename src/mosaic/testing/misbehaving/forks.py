"""Leaves children everywhere: in own sessions and forked twice, all deaf to SIGTERM.

`forks.py [children] [stay|leave]` prints the pid of each; then it waits forever, or ends.
"""

import os
import signal
import sys
import time


def wait_for_ever() -> None:
    while True:
        time.sleep(3600)


def fork_away(twice: bool) -> int:
    """The pid of a process in a session of its own, orphaned when forked twice."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if twice and os.fork() != 0:
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(write_end, str(os.getpid()).encode())
        os.close(write_end)
        wait_for_ever()
    os.close(write_end)
    if twice:
        os.waitpid(child, 0)
    with os.fdopen(read_end) as file:
        return int(file.read())


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for number in range(count):
        print("child", fork_away(twice=number % 2 == 1), flush=True)
    print("ready", flush=True)
    if sys.argv[2:] != ["leave"]:
        wait_for_ever()
