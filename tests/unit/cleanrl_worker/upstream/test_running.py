"""What a plan of an upstream run becomes: the command that is watched, and the models it leaves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.upstream.planning import UpstreamPlan, plan_facts
from cleanrl_worker.upstream.running import new_models, script_config
from cleanrl_worker.upstream.script_reading import read_script
from cleanrl_worker.upstream.scripts import find_scripts
from mosaic.watch.config import ScriptConfig
from tests.unit.cleanrl_worker.upstream.upstream_samples import TYRO, write_script


@pytest.fixture
def plan(tmp_path: Path) -> UpstreamPlan:
    path = write_script(tmp_path / "cleanrl", "ppo", TYRO)
    folder = find_scripts(str(tmp_path), "/envs/x/bin/python")
    return UpstreamPlan(
        read_script(path), folder, "/envs/x/bin/python", ["--seed=1"], "CartPole-v1", 1, None
    )


def watched(plan: UpstreamPlan, directory: Path | None = None, **extras: Any) -> ScriptConfig:
    config = CleanRLWorkerConfig(algo="ppo", extras={"source": "upstream", **extras})
    return script_config(config, plan, directory)


def test_the_script_runs_in_the_runs_directory_with_the_chosen_interpreter(
    plan: UpstreamPlan, tmp_path: Path
) -> None:
    found = watched(plan, tmp_path / "run")
    script = str(tmp_path / "cleanrl" / "ppo.py")
    assert found.command == ("/envs/x/bin/python", script, "--seed=1")
    assert (found.cwd, found.env_python) == (str(tmp_path / "run"), "/envs/x/bin/python")
    assert watched(plan).cwd is None, "where it was started, for a worker without a daemon"


def test_compatibility_is_on_unless_it_is_switched_off(plan: UpstreamPlan) -> None:
    assert watched(plan).compatibility is True
    assert watched(plan, compatibility=None).compatibility is True
    assert watched(plan, compatibility=False).compatibility is False


def test_live_view_is_what_the_runs_variables_say(
    plan: UpstreamPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEANRL_FASTLANE_VIDEO_MODE", "single")
    monkeypatch.setenv("CLEANRL_FASTLANE_SLOT", "2")
    found = watched(plan)
    assert (found.video_mode, found.fastlane_slot) == ("single", 2)


def test_findings_say_what_is_known_and_no_more(plan: UpstreamPlan) -> None:
    found = plan_facts(plan)
    assert (found["source"], found["generation"], found["algo"]) == ("upstream", "tyro", "ppo")
    assert found["script"].endswith("cleanrl/ppo.py")
    assert found["total_steps"] is None


def test_only_models_of_this_attempt_are_told(tmp_path: Path) -> None:
    old, new = (tmp_path / "runs" / name / "ppo.cleanrl_model" for name in ("one", "two"))
    for path in (old, new):
        path.parent.mkdir(parents=True)
        path.touch()
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    assert list(new_models(tmp_path, 1500.0)) == [new]
    assert list(new_models(None, 0.0)) == []
