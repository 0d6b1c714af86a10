"""What `make run` shows: PPO learning CartPole, live in the terminal.

The run belongs to the trainer daemon, not to this terminal: close it, or `kill -9` the daemon,
and the run goes on.
"""

from __future__ import annotations

import sys

from mosaic.cli.main import main

DEMO = ["train", "ppo", "CartPole-v1", "--total-timesteps", "200000", "--name", "first-run"]

if __name__ == "__main__":
    print("$ mosaic " + " ".join(DEMO))
    sys.exit(main(DEMO))
