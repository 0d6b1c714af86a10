"""A script for the tests of the script worker: reports episodes, as our hooks would."""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    episodes, pause_s = int(sys.argv[1]), float(sys.argv[2])
    print("hello on standard output", flush=True)
    bridge = os.open(os.environ["MOSAIC_BRIDGE"], os.O_WRONLY)

    def say(**message: object) -> None:
        os.write(bridge, json.dumps(message).encode() + b"\n")

    steps = 0
    for episode in range(episodes):
        steps += 10
        say(kind="progress", steps=steps)
        say(kind="episode", **{"return": float(episode)}, length=10, env=0, pid=os.getpid())
        say(kind="metric", name="losses/value_loss", value=1 / (episode + 1), step=steps)
        time.sleep(pause_s)
    if "fail" in sys.argv:
        raise RuntimeError("the simulated motor burnt out")


if __name__ == "__main__":
    main()
