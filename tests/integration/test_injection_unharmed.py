"""Whatever a script is like, and whatever goes wrong in injection: the script goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.injection_stage import LOOP, Stage
from tests.waiting import PATIENCE_S


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_the_scripts_own_sitecustomize_runs_and_its_errors_are_shown_as_ever(
    stage: Stage,
) -> None:
    own = stage.folder / "own"
    own.mkdir()
    customize = own / "sitecustomize.py"
    customize.write_text("import sys\nsys.theirs = 7\n")
    script = "import sitecustomize, sys\nprint(sys.theirs, sitecustomize.__file__)\n"
    outcome = stage.watched(script, PYTHONPATH=str(own))
    assert outcome.output == f"7 {customize}\n"

    customize.write_text("raise ValueError('theirs')\n")
    script = LOOP.replace("STEPS", "500")
    outcome = stage.watched(script, PYTHONPATH=str(own))
    assert "Error in sitecustomize" in outcome.errors
    assert "ValueError: theirs" in outcome.errors
    assert outcome.steps == 500, "and injection is there all the same"


def test_a_raising_hook_does_not_break_the_script(stage: Stage) -> None:
    broken = stage.folder / "broken"
    broken.mkdir()
    # A library with the name of one we hook, and nothing in it that a hook expects.
    (broken / "gymnasium.py").write_text("answer = 42\n")
    script = "import gymnasium\nprint(gymnasium.answer)\n"
    outcome = stage.watched(script, PYTHONPATH=str(broken))
    assert outcome.output == "42\n"
    assert outcome.errors.startswith("mosaic: watching gymnasium failed (KeyError")
    assert outcome.errors.count("\n") == 1


def test_injection_that_cannot_even_start_does_not_break_the_script(stage: Stage) -> None:
    variables = stage.injected()
    site_only = variables["PYTHONPATH"].split(os.pathsep)[0]
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sitecustomize; print('goes on')"],
        env={**variables, "PYTHONPATH": site_only},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout == "goes on\n"
    assert done.stderr.startswith("mosaic: this script is not watched, so no episodes, metrics")
    assert "ModuleNotFoundError" in done.stderr


def test_an_exit_without_ceremony_keeps_the_last_news(stage: Stage) -> None:
    outcome = stage.watched(LOOP.replace("STEPS", "3000") + "\nsys.stdout.flush()\nos._exit(0)\n")
    assert outcome.steps == 3000
    assert outcome.episodes == int(outcome.output.split()[3])


def test_a_program_that_becomes_another_one_keeps_the_last_news(stage: Stage) -> None:
    # The first two are not there: they are tried, fail, and the script goes on.
    script = (
        LOOP.replace("STEPS", "3000")
        + """
for program in ("no-such-program", "./neither", "true"):
    try:
        os.execvp(program, [program])
    except OSError:
        env = gymnasium.make("CartPole-v1")
        env.reset(seed=1)
        while not env.step(0)[2]:
            pass
"""
    )
    outcome = stage.watched(script)
    assert outcome.episodes > 60
    assert 3000 < outcome.steps < 3100


def test_a_reader_that_is_gone_is_survived(stage: Stage) -> None:
    stage.seen.touch()
    process = stage.start(LOOP.replace("STEPS", "3000"), stage.injected())  # and nobody reads
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")


def test_a_script_that_closes_all_descriptors_is_counted_and_its_files_are_its_own(
    stage: Stage,
) -> None:
    close = """
os.closerange(3, 1000)
mine = [open(f"mine{number}", "w+") for number in range(20)]
"""
    check = """
for file in mine:
    assert file.read() == "", file.name
"""
    script = LOOP.replace("env.action_space.seed(1)", close + "env.action_space.seed(1)")
    outcome = stage.watched(script.replace("STEPS", "3000") + check)
    assert outcome.steps == 3000
    assert outcome.errors == ""


def test_rendering_that_ends_the_program_ends_only_the_view(stage: Stage) -> None:
    script = """
import os, sys, time
import gymnasium

class Env(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"]}
    observation_space = action_space = gymnasium.spaces.Discrete(2)
    render_mode = None
    rendered = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 1.0, False, False, {}

    def render(self):
        self.rendered += 1
        sys.exit(3)

env = Env()
env.reset()
deadline = time.monotonic() + 60
while not env.rendered and time.monotonic() < deadline:
    env.step(0)
env.step(0)
print("rendered", env.rendered)
"""
    outcome = stage.watched(script, slots=1)
    assert outcome.output == "rendered 1\n"
    notes = [note["text"] for note in outcome.of_kind("note")]
    assert any("wants to end the program" in text for text in notes)
