"""The worker's command line: dry runs, overrides, and runs without a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cleanrl_worker import cli
from mosaic.testing.event_check import parse_journal


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MOSAIC_JOURNAL", raising=False)
    monkeypatch.delenv("MOSAIC_RUN_DIR", raising=False)
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


TRAINING = ("--algo", "ppo", "--env-id", "CartPole-v1", "--total-timesteps", "256")


def test_dry_run_tells_the_flags_and_writes_nothing(
    capfd: pytest.CaptureFixture[str], empty_folder: Path
) -> None:
    extras = '{"cuda": false, "algo_params": {"gamma": 0.9, "anneal_lr": false}}'
    argv = [*TRAINING, "--seed", "4", "--extras", extras, "--dry-run", "--emit-summary"]
    assert cli.main(argv) == 0
    summary = json.loads(capfd.readouterr().out)
    assert summary["status"] == "dry-run"
    assert summary["extras"]["flags"] == [
        "--env-id=CartPole-v1",
        "--total-timesteps=256",
        "--seed=4",
        "--no-cuda",
        "--gamma=0.9",
        "--no-anneal-lr",
    ]
    assert summary["extras"]["module"] == "cleanrl_worker.algorithms.ppo"
    assert summary["config"]["extras"] == json.loads(extras)
    assert list(empty_folder.iterdir()) == []


def test_flags_win_over_the_file_and_set_wins_over_flags(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    content = {
        "algo": "dqn",
        "env_id": "Acrobot-v1",
        "total_timesteps": 1,
        "extras": {"gamma": 0.5},
    }
    file.write_text(json.dumps(content))
    argv = ["--config", str(file), *TRAINING, "--extras", '{"num_envs": 2}', "--set", "seed=8"]
    assert cli.main([*argv, "--dry-run", "--emit-summary"]) == 0
    config = json.loads(capfd.readouterr().out)["config"]
    assert (config["algo"], config["env_id"], config["seed"]) == ("ppo", "CartPole-v1", 8)
    assert config["extras"] == {"gamma": 0.5, "num_envs": 2}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--algo", "ppoo"], "there is no algorithm 'ppoo'"),
        (["--extras", "[1]"], "--extras '[1]' is not a JSON object"),
        (["--extras", '{"learnin_rate": 1}'], "did you mean learning_rate?"),
        (["--env-id", "CartPole-v7"], "CartPole-v1"),
        (["--total-timesteps", "0"], "'total_timesteps': 0 is less than the minimum of 1"),
        (["--set", "extras.mode=policy_eval"], "'extras.policy_path' is required"),
    ],
)
def test_dry_run_of_something_wrong_says_what(
    capfd: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    assert cli.main([*TRAINING, *argv, "--dry-run"]) == 2
    captured = capfd.readouterr()
    assert said in captured.err and "Traceback" not in captured.err
    assert captured.out == ""


def test_run_without_a_directory_keeps_nothing_and_says_so(
    capfd: pytest.CaptureFixture[str], empty_folder: Path
) -> None:
    small = '{"algo_params": {"num_envs": 2, "num_steps": 32, "update_epochs": 1}}'
    assert cli.main([*TRAINING, "--extras", small]) == 0
    events = parse_journal(capfd.readouterr().out.encode())
    assert events[-1]["type"] == "run_completed"
    assert any("nothing is kept" in event.get("payload", {}).get("note", "") for event in events)
    assert list(empty_folder.iterdir()) == []


def test_help_names_the_workers_own_flags(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    text = capfd.readouterr().out
    for flag in ("--algo", "--env-id", "--interactive", "--policy-path", "--extras"):
        assert flag in text
