"""Watches CleanRL's own scripts in an interpreter of theirs, then plays all their episodes again.

    python tools/replay_upstream_scripts.py PYTHON FOLDER              all eight
    python tools/replay_upstream_scripts.py PYTHON FOLDER dqn ppo      only these

PYTHON is an interpreter with what the scripts need (gymnasium 0.29.1, numpy < 2, torch, tyro,
tensorboard, and mujoco < 3 for those with continuous actions), FOLDER a checkout of CleanRL. Runs
are kept in a home of their own, which is gone afterwards. Every episode goes to Minari, which
compares each reward with the record; some are verified one by one, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

VERIFIED = 5  # of each script, one by one
CARTPOLE, HOPPER = ("CartPole-v1", 4_000), ("Hopper-v4", 1_500)
EARLY = ("--learning-starts", "500", "--buffer-size", "5000")
ROLLOUT = ("--num-envs", "2", "--num-steps", "256")
# The scripts, what they train on and for how long: enough for episodes of every kind.
SCRIPTS = {
    "dqn": (*CARTPOLE, *EARLY),
    "c51": (*CARTPOLE, *EARLY),
    "ppo": (*CARTPOLE, *ROLLOUT),
    "ppo_continuous_action": (*HOPPER, *ROLLOUT),
    "rpo_continuous_action": (*HOPPER, *ROLLOUT),
    "ddpg_continuous_action": (*HOPPER, *EARLY),
    "td3_continuous_action": (*HOPPER, *EARLY),
    "sac_continuous_action": (*HOPPER, *EARLY),
}


class Mosaic(NamedTuple):
    """The command line, with runs that are nobody else's."""

    home: Path

    def __call__(self, *words: str, **variables: str) -> Any:
        """What it says as JSON, if it does; its errors go where ours go."""
        done = subprocess.run(
            [sys.executable, "-m", "mosaic.cli", *words],
            env={**os.environ, "MOSAIC_HOME": str(self.home), **variables},
            stdout=subprocess.PIPE,
            check=False,
        )
        return json.loads(done.stdout) if "--json" in words and done.stdout.strip() else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("python", metavar="PYTHON", type=Path)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("scripts", metavar="SCRIPT", nargs="*", choices=[[], *SCRIPTS])
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    with tempfile.TemporaryDirectory(prefix="mosaic-upstream-") as home:
        mosaic = Mosaic(Path(home))
        try:
            sound = [
                replayed(mosaic, str(chosen.python.absolute()), folder, script)
                for script in chosen.scripts or SCRIPTS
            ]
        finally:
            mosaic("daemon", "stop")
    return 0 if all(sound) else 1


def replayed(mosaic: Mosaic, python: str, folder: Path, script: str) -> bool:
    """Whether all episodes of the script went as they had gone."""
    env_id, steps, *flags = SCRIPTS[script]
    words = ("--env-id", env_id, "--total-timesteps", str(steps), "--no-cuda", *map(str, flags))
    options = ("--json", "--env-python", python, "--cwd", str(folder), "--name", script)
    run = mosaic(
        "watch", *options, "--", "python", f"cleanrl/{script}.py", *words, PYTHONPATH=str(folder)
    )
    if run is None or run.get("outcome") != "succeeded":
        print(f"{script}: it failed", flush=True)
        return False
    run_id, played = run["run_id"], run["progress"]["episodes"]
    every = max(1, played // VERIFIED)
    verdicts = [
        mosaic("replay", run_id, "--episode", str(number), "--verify", "--json")
        for number in range(0, played, every)
    ]
    identical = sum(verdict["verdict"]["kind"] == "identical" for verdict in verdicts)
    out = mosaic.home / f"{script}-minari"
    (exported,) = mosaic("export", run_id, "--to", "minari", "--out", str(out), "--json")
    kept = exported["rows"]["episodes"]
    print(
        f"{script}: {kept} of {played} episodes in Minari, {exported['rows']['steps']} steps,"
        f" {identical} of {len(verdicts)} verified are identical",
        *exported["left_out"][:VERIFIED],
        flush=True,
    )
    return bool(kept == played > 0 and identical == len(verdicts))


if __name__ == "__main__":
    sys.exit(main())
