"""What an imported run, or a config from somewhere, says is data: nothing of it runs unasked."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.consent import requested_consent
from mosaic.contracts.run_record import Origin
from mosaic.errors import ConsentError, CorruptStoreError
from mosaic.replay.simulation import verify
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.imported_runs import (
    CARTPOLE,
    imported_run,
    moved,
    watched_config,
    with_recording,
)
from tests.integration.test_cli import Terminal

ONE_EPISODE = """
import gymnasium
env = gymnasium.make("CartPole-v1", max_episode_steps=3)
env.reset(seed=1)
for action in (0, 1, 0):
    env.step(action)
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def mosaic(daemon: DaemonHarness) -> Terminal:
    return Terminal(daemon.environment)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


def planted_module(folder: Path, name: str, canary: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(f"open({str(canary)!r}, 'w').close()\n")


def test_a_recording_that_names_a_function_calls_it_not(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    hostile = {
        **CARTPOLE,
        "env_id": "Hostile-v0",
        "entry_point": "os:system",
        "kwargs": {"command": f"touch {canary}"},
    }
    run_id = imported_run(daemon, config=watched_config(tmp_path), spoil=with_recording(hostile))
    said = mosaic.run("replay", run_id, "--episode", "0", "--verify", status=5)
    assert not canary.exists()
    assert "calls: os:system" in said and str(canary) in said and "--yes" in said
    assert "needs a confirmation" in said
    # Also whoever takes the recording from Python is told, and has to say that it was seen.
    recording = daemon.client.get_recording(run_id, 0)
    with pytest.raises(ConsentError) as asked:
        verify(recording)
    assert recording.consent == requested_consent(asked.value) and not recording.actions
    assert daemon.client.get_recording(run_id, 0, consent="0" * 64).consent == recording.consent
    assert not canary.exists()
    # Once somebody has seen it, it is done as it says, even if nothing good comes of it.
    mosaic.run("replay", run_id, "--episode", "0", "--verify", "--yes", status=5)
    assert canary.exists()


def test_a_recording_that_names_an_interpreter_starts_it_not(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\ntouch {canary}\nexec {sys.executable} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    run_id = imported_run(
        daemon,
        config=watched_config(tmp_path),
        spoil=with_recording(CARTPOLE, python=str(python)),
    )
    mosaic.run("replay", run_id, "--episode", "0", "--verify")
    assert not canary.exists()


@pytest.mark.parametrize(
    "facts", [{"shape": [-1]}, {"shape": [2**40]}, {"shape": ["x"]}, {"dtype": "\ud800"}]
)
def test_a_recording_that_no_answer_can_hold_is_refused_by_a_sentence(
    daemon: DaemonHarness, tmp_path: Path, facts: dict[str, Any]
) -> None:
    spoil = with_recording(CARTPOLE, facts=facts)
    run_id = imported_run(daemon, config=watched_config(tmp_path), spoil=spoil)
    with pytest.raises(CorruptStoreError, match="episode 0"):
        daemon.client.get_recording(run_id, 0)


def test_a_recording_that_names_a_folder_imports_nothing_from_it(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "sitecustomize", canary)
    run_id = imported_run(
        daemon,
        config=watched_config(tmp_path),
        spoil=with_recording(CARTPOLE, folder=str(tmp_path / "code")),
    )
    mosaic.run("replay", run_id, "--episode", "0", "--verify")
    assert not canary.exists()


def test_variables_that_run_something_are_asked_about(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    document = run_document(
        environment={
            "PYTHONWARNINGS": "all:0:antigravity.x:0:0",
            "BROWSER": f"/bin/sh -c 'touch {canary}' #%s",
        }
    )
    file = tmp_path / "config.json"
    file.write_text(json.dumps(document))
    said = mosaic.run("submit", str(file), "--wait", status=5)
    assert not canary.exists()
    assert "BROWSER" in said and f"touch {canary}" in said and "--yes" in said


def test_an_environment_that_names_a_module_is_asked_about(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "planted", canary)
    document = run_document(
        environment={"PYTHONPATH": str(tmp_path / "code")},
        config={"env_id": "planted:CartPole-v1"},
    )
    file = tmp_path / "config.json"
    file.write_text(json.dumps(document))
    said = mosaic.run("submit", str(file), "--wait", status=5)
    assert not canary.exists()
    assert "imports: planted, for env_id = 'planted:CartPole-v1'" in said
    assert f"variable: PYTHONPATH={tmp_path / 'code'}" in said
    mosaic.run("submit", str(file), "--wait", "--yes")
    assert canary.exists()


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)], ids=["submitted", "tried"])
def test_a_program_that_nobody_confirmed_is_not_even_tried(
    mosaic: Terminal, canary: Path, tmp_path: Path, dry_run: tuple[str, ...]
) -> None:
    """Before a run is accepted its interpreter is asked for its version, its module looked for."""
    interpreter = tmp_path / "python3"
    interpreter.write_text(f"#!/bin/sh\ntouch {canary}\n")
    interpreter.chmod(stat.S_IRWXU)
    package = tmp_path / "package"
    planted_module(package, "__init__", canary)
    for changes in (
        {"entry_point": str(interpreter), "arguments": ["-c", "pass"]},
        {"entry_point": str(interpreter), "metadata": {"worker": {"module": "baseline_worker.x"}}},
        {
            "entry_point": "python",
            "metadata": {"worker": {"module": "package.module"}},
            "environment": {"PYTHONPATH": str(tmp_path)},
        },
    ):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(run_document(**changes)))
        mosaic.run("submit", *dry_run, str(path), status=0 if dry_run else ConsentError.exit_status)
        assert not canary.exists(), changes


def test_going_on_from_an_imported_run_asks_about_the_module_of_an_environment(
    daemon: DaemonHarness, mosaic: Terminal
) -> None:
    def leave_checkpoint(folder: Path) -> None:
        (folder / "ppo.cleanrl_model").write_bytes(b"weights")

    run_id = imported_run(daemon, spoil=leave_checkpoint)
    checkpoint = daemon.home.run(run_id).directory / "ppo.cleanrl_model"
    before = len(daemon.client.list_runs())
    common = ("--algo", "ppo", "--env-id", "planted:Corridor-v0")
    said = mosaic.run("eval", str(checkpoint), *common, status=ConsentError.exit_status)
    assert "imports: planted" in said and "--yes" in said
    assert len(daemon.client.list_runs()) == before
    started = mosaic.run("eval", str(checkpoint), *common, "--yes", "--detach").strip()
    assert len(daemon.client.list_runs()) == before + 1
    daemon.wait_over(started)


def test_what_a_person_types_needs_no_second_yes(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "planted", canary)
    words = ("--set", "env_id=planted:CartPole-v1", "--set", "episodes=1", "--seed", "1")
    mosaic.run("run", "baseline", *words, "--env", f"PYTHONPATH={tmp_path / 'code'}")
    assert canary.exists()


def test_a_consent_is_for_one_text_only(daemon: DaemonHarness, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("true\n")
    config = run_document(
        entry_point="script",
        metadata={"worker": {"config": {"command": ["/bin/sh", str(script)], "cwd": "/"}}},
    )
    asked = daemon.client.submit(config, dry_run=True).consent
    assert asked is not None and any("SHA-256" in line for line in asked.lines)
    with pytest.raises(ConsentError, match="did not come with"):
        daemon.client.submit(config, consent="")
    script.write_text("echo changed\n")
    with pytest.raises(ConsentError, match="changed since") as error:
        daemon.client.submit(config, consent=asked.digest)
    now = requested_consent(error.value)
    assert now is not None and now != asked
    run_id = daemon.client.start_run(config, consent=now.digest)
    assert daemon.wait_over(run_id).outcome == "succeeded"
    # One's own config needs none.
    assert daemon.wait_over(daemon.client.start_run(config)).outcome == "succeeded"


def test_the_config_of_an_imported_run_is_nobodys_own(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "planted", canary)
    hostile = run_document(
        environment={"PYTHONPATH": str(tmp_path / "code")},
        config={"env_id": "planted:CartPole-v1"},
    )
    run_id = imported_run(daemon, config=hostile)
    config = daemon.client.get_run(run_id).config
    with pytest.raises(ConsentError) as asked:
        daemon.client.start_run(config)
    assert "consent=" in asked.value.hint
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    assert "planted" in mosaic.run("submit", str(file), status=5)
    assert not canary.exists()
    needed = requested_consent(asked.value)
    assert needed is not None
    daemon.wait_over(daemon.client.start_run(config, consent=needed.digest))
    assert canary.exists()


def test_an_imported_run_of_what_is_known_here_needs_no_question(
    daemon: DaemonHarness, mosaic: Terminal, tmp_path: Path
) -> None:
    run_id = imported_run(daemon, config=run_document())
    config = daemon.client.get_run(run_id).config
    assert daemon.wait_over(daemon.client.start_run(config)).outcome == "succeeded"


def test_replay_by_steps_imports_no_module_of_an_imported_config(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "planted", canary)
    made = daemon.submit()
    daemon.wait_over(made)
    hostile = run_document(
        environment={"PYTHONPATH": str(tmp_path / "code")},
        config={"env_id": "planted:CartPole-v1"},
    )
    daemon.home.config(made).write_text(json.dumps(hostile))
    run_id = moved(daemon, made)
    said = mosaic.run("replay", run_id, "--verify", status=5)
    assert "planted" in said and f"folder: {tmp_path / 'code'}" in said
    assert not canary.exists()
    mosaic.run("replay", run_id, "--verify", "--yes")
    assert canary.exists()


@pytest.mark.parametrize("words", [("minari",), ("csv", "--steps")])
def test_an_export_that_would_play_again_asks_first(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "planted.py").write_text(
        f"open({str(canary)!r}, 'w').close()\n"
        "import gymnasium\n"
        "from gymnasium.envs.classic_control.cartpole import CartPoleEnv as Planted\n"
    )
    (tmp_path / "train.py").write_text(ONE_EPISODE)
    made = daemon.client.start_run(watched_config(tmp_path))
    assert daemon.wait_over(made).outcome == "succeeded"
    foreign = {**CARTPOLE, "env_id": "Planted-v0", "entry_point": "planted:Planted"}
    with_recording(foreign, folder=str(tmp_path / "code"))(daemon.home.run(made).directory)
    run_id = moved(daemon, made)
    out = ("export", run_id, "--episodes", "0", "--out", str(tmp_path / "out"), "--to", *words)
    said = mosaic.run(*out, status=5)
    assert "calls: planted:Planted" in said and "--yes" in said
    assert not canary.exists() and not (tmp_path / "out").exists()
    mosaic.run(*out, "--yes")
    assert canary.exists()


def test_the_origin_is_told(daemon: DaemonHarness, mosaic: Terminal) -> None:
    run_id = imported_run(daemon)
    assert daemon.client.get_run(run_id).origin is Origin.IMPORTED
    assert "imported" in mosaic.run("show", run_id)
