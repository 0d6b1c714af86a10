"""Environments of real scripts that know nothing of MOSAIC: counted, seen, and as ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.injection_stage import LOOP, Stage

ASYNC = """
import os
import gymnasium

def main():
    envs = gymnasium.vector.AsyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1")] * 2, context=CONTEXT
    )
    envs.action_space.seed(1)
    envs.reset()
    while not os.path.exists("seen"):
        envs.step(envs.action_space.sample())
    envs.action_space.seed(1)
    total, ended = envs.reset(seed=1)[0].sum(), 0
    for _ in range(STEPS):
        observation, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        total += observation.sum()
        ended += int((terminated | truncated).sum())
    envs.close()
    print(repr(float(total)), ended)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_plain_loop_is_seen_and_does_the_same(stage: Stage) -> None:
    script = LOOP.replace("STEPS", "5000")
    outcome = stage.watched(script, slots=1)
    digest, drawn, steps, ended, total = outcome.output.split()
    assert [digest, drawn] == stage.plain(script).split()[:2], "same observations and randomness"
    assert outcome.steps == int(steps)
    assert outcome.episodes == int(ended)
    assert sum(m["total_reward"] for m in outcome.of_kind("episode")) == float(total)
    assert outcome.picture is not None
    assert len(set(outcome.picture.pixels)) > 2, "it shows something"
    assert outcome.errors == ""


def test_with_nobody_looking_nothing_is_rendered(stage: Stage) -> None:
    script = LOOP.replace("STEPS", "2000") + "\nimport sys\nassert 'pygame' not in sys.modules\n"
    assert stage.watched(script).steps == 2000


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_environments_in_processes_of_their_own_are_seen(stage: Stage, context: str) -> None:
    script = ASYNC.replace("STEPS", "500").replace("CONTEXT", repr(context))
    outcome = stage.watched(script, slots=2)
    assert outcome.output == stage.plain(script)
    assert outcome.episodes >= int(outcome.output.split()[1]) > 10
    assert len({m["pid"] for m in outcome.of_kind("progress")}) == 2
    assert outcome.picture is not None
    width, height, _ = outcome.picture
    assert width > 2 * 1.5 * height, "both of them, side by side, with a line between"


def test_rendering_leaves_sigterm_to_the_script(stage: Stage) -> None:
    """SDL would take it, and a run could no longer be asked to stop."""
    check = """
import sys
from pathlib import Path
(caught,) = [line for line in Path("/proc/self/status").read_text().splitlines()
             if line.startswith("SigCgt")]
print("pygame" in sys.modules, int(caught.split()[1], 16) >> 14 & 1)
"""
    outcome = stage.watched(LOOP.replace("STEPS", "100") + check, slots=1)
    assert outcome.output.splitlines()[1] == "True 0"
