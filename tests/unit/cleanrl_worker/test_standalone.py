"""Algorithms by themselves: `python -m cleanrl_worker.algorithms.ppo …`, called in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash
from cleanrl_worker.standalone import main, run_alone

SMALL = (
    "--num-envs=2",
    "--num-steps=32",
    "--num-minibatches=2",
    "--update-epochs=1",
    "--total-timesteps=256",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def models(folder: Path) -> list[Path]:
    return sorted(folder.glob("runs/*/ppo.cleanrl_model"))


def test_trains_below_runs_and_tells_on_stderr(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main("ppo", [*SMALL, "--seed", "3"]) == 0
    (model,) = models(folder)
    assert model.parent.name.startswith("CartPole-v1__ppo__3__")
    shown = capfd.readouterr()
    assert "final checkpoint at step 256" in shown.err
    assert "step 256/256 (100%)" in shown.err
    assert shown.out == ""


def test_resume_goes_on_with_the_arguments_of_the_checkpoint(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main("ppo", [*SMALL, "--seed=3"]) == 0
    (model,) = models(folder)
    assert main("ppo", ["--resume", str(model), "--total-timesteps=384"]) == 0
    (more,) = set(models(folder)) - {model}
    checkpoint = load_checkpoint(more)
    assert checkpoint.step == 384
    assert checkpoint.description["arguments"]["num_steps"] == 32
    assert checkpoint.description["lineage"]["parent_step"] == 256
    assert weight_hash(load_payload(more)) != weight_hash(load_payload(model))
    shown = capfd.readouterr().err
    assert "resumed at step 256" in shown and "learning rate: goes on" in shown
    assert main("ppo", ["--resume", str(model)]) == 2
    assert "give --total-timesteps" in capfd.readouterr().err
    assert main("ppo", ["--resume", str(model), "--preset=ppo_atari"]) == 2
    assert "was trained by ppo, not by ppo_atari" in capfd.readouterr().err
    assert main("ppo", ["--resume", str(model), "--buffer-size=9"]) == 2
    assert "'buffer_size' is not a parameter of ppo" in capfd.readouterr().err


def test_preset_changes_the_defaults(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main("ppo", ["--preset", "ppo_atari", "--help"])
    assert caught.value.code == 0
    shown = capfd.readouterr().out
    assert "BreakoutNoFrameskip-v4" in shown
    assert "--preset" in shown and "--resume" in shown


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--preset", "dqn"], "is no preset of this algorithm"),
        (["--preset", "pppo"], "there is no algorithm 'pppo'"),
        (["--num-env=3"], "did you mean num_envs"),
        (["--env-id=Pendulum-v1"], "ppo_continuous_action"),
        (["--resume", "/nowhere/ppo.cleanrl_model"], "/nowhere/ppo.cleanrl_model"),
    ],
)
def test_mistakes_are_explained_in_one_sentence(
    folder: Path, capfd: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        run_alone("ppo", argv)
    assert caught.value.code in (1, 2)
    shown = capfd.readouterr().err
    assert said in shown and "Traceback" not in shown
    assert list(folder.iterdir()) == []
