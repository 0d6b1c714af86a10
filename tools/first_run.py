"""What `make run` shows: the workbench, or, where there is no screen, PPO learning CartPole.

Either way the runs belong to the trainer daemon: close the window or the terminal, or `kill -9` the
daemon, and they go on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mosaic.cli.main import main
from mosaic.gui.display import find_obstacle

WINDOW = ["gui"]
# The same as the first card of the window. What it trains with is installed when it is first
# needed; whoever says `make run` wants that.
TRAINING = ["train", "ppo", "CartPole-v1", "--recipe", "tuned", "--seed", "1", "--install", "--yes"]
INSTALL = Path(__file__).with_name("install_system_packages.sh")


def has_screen() -> bool:
    """Somebody may sit in front of it: a variable for tests alone does not count."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def can_open_a_window() -> bool:
    """Installs libraries that are missing, where that needs no password."""
    if not has_screen():
        return False
    found = find_obstacle(os.environ)
    if found is not None and found.packages:
        subprocess.run([INSTALL], check=False)
        found = find_obstacle(os.environ)
    if found is not None:
        print(f"no window: {found.message} ({found.hint})", file=sys.stderr)
    return found is None


if __name__ == "__main__":
    words = WINDOW if can_open_a_window() else TRAINING
    print("$ mosaic " + " ".join(words), flush=True)
    sys.exit(main(words))
