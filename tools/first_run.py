"""What `make run` shows: a baseline agent playing CartPole, live in the terminal.

The run belongs to the trainer daemon, not to this terminal: close it, or `kill -9` the daemon,
and the run goes on.
"""

from __future__ import annotations

import sys

from mosaic.cli.main import main

DEMO = [
    "run",
    "baseline",
    "--name",
    "first run: CartPole by rule of thumb",
    "--set",
    "env_id=CartPole-v1",
    "--set",
    "policy=heuristic",
    "--set",
    "episodes=60",
    "--set",
    "max_steps_per_second=1000",
]

if __name__ == "__main__":
    print("$ mosaic " + " ".join(f"'{word}'" if " " in word else word for word in DEMO))
    sys.exit(main(DEMO))
