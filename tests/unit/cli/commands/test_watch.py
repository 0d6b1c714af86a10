"""What `mosaic watch` submits."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.commands.watch import watch_document
from mosaic.cli.main import build_parser, own_words
from mosaic.contracts.run_config import parse_run_config
from mosaic.errors import ConfigError, RequestError
from mosaic.front.script_config import preview, refuse_secrets
from mosaic.watch.config import ScriptConfig
from mosaic.worker import build_config

SH = shutil.which("sh") or ""


def parsed(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["watch", *words])


def document(*words: str, **environ: str) -> dict[str, Any]:
    environ.setdefault("PATH", str(Path(SH).parent))
    return watch_document(parsed(*words), environ)


def settings(run: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = run["metadata"]["worker"]["config"]
    return config


def test_the_submission_is_valid_for_daemon_and_worker(tmp_path: Path) -> None:
    (tmp_path / "run.sh").touch()
    words = ("--cwd", str(tmp_path), "--cuda", "--video", "single", "--slot", "2")
    run = document(*words, "--max-duration", "60", "--", "sh", "run.sh", "--name", "x")
    assert parse_run_config(run).run_name == "run"
    assert run["entry_point"] == "script"
    assert run["resources"]["gpus"] == {"requested": 1, "mandatory": True}
    assert run["schedule"] == {"max_duration_seconds": 60}
    config = build_config(ScriptConfig, settings(run))
    assert config.command == (SH, "run.sh", "--name", "x")
    assert (config.cwd, config.video_mode, config.fastlane_slot) == (str(tmp_path), "single", 2)
    assert config.compatibility is False


def test_memory_has_a_limit_only_where_one_is_given() -> None:
    free, held = document("--", "sh"), document("--memory-mb", "5000", "--", "sh")
    assert parse_run_config(free).resources.memory_mb is None
    assert parse_run_config(held).resources.memory_mb == 5000


def test_options_after_the_command_belong_to_it() -> None:
    for words in (("--json", "--", "sh", "--json", "--yes"), ("--json", "sh", "--json", "--yes")):
        arguments = parsed(*words)
        assert arguments.json
        assert settings(watch_document(arguments, {"PATH": str(Path(SH).parent)}))["command"] == [
            SH,
            "--json",
            "--yes",
        ]


def test_only_our_own_words_choose_how_errors_look() -> None:
    assert own_words(["watch", "--", "x", "--json"]) == ["watch"]
    assert own_words(["runs", "--json"]) == ["runs", "--json"]


def test_python_is_what_the_shell_would_run(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch(0o755)
    run = document("--", "python", "-c", "1", PATH=str(python.parent), VIRTUAL_ENV=str(tmp_path))
    assert settings(run)["command"][0] == str(python)
    assert run["environment"]["VIRTUAL_ENV"] == str(tmp_path)
    assert run["environment"]["PATH"] == str(python.parent)
    other = document("--env-python", sys.executable, "--", "python", "-c", "1")
    assert settings(other)["command"][0] == sys.executable
    assert settings(other)["env_python"] == sys.executable


def test_thread_counts_stay_as_in_the_shell_unless_cpus_are_given() -> None:
    free = document("--", "sh", OMP_NUM_THREADS="3")
    assert free["environment"]["OMP_NUM_THREADS"] == "3"
    assert "OMP_NUM_THREADS" not in settings(free)["unset_variables"]
    assert "MKL_NUM_THREADS" in settings(free)["unset_variables"]
    limited = document("--cpus", "2", "--", "sh", OMP_NUM_THREADS="3")
    assert "OMP_NUM_THREADS" not in limited["environment"]
    assert "unset_variables" not in settings(limited)
    assert limited["resources"]["cpus"] == 2


def test_no_command_is_refused() -> None:
    for words in ((), ("--",), ("--name", "x", "--")):
        with pytest.raises(RequestError, match="COMMAND is missing"):
            document(*words)


@pytest.mark.parametrize(
    "words",
    [
        *(["--api-key", "abc"], ["--wandb_token=abc"], ["--password", "x"]),
        *(["GITHUB_TOKEN=abc"], ["wandb.api_key=abc"], ["-password=12345"]),
    ],
)
def test_secrets_on_the_command_line_are_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="looks like a secret"):
        refuse_secrets(["python", "train.py", *words])


@pytest.mark.parametrize(
    "words",
    [
        *(["--max-token", "512"], ["--use-auth", "false"], ["--token"], ["--tokenizer", "x"]),
        *(['x.py wandb.api_key="$KEY"'], ['TOKEN="$KEY" x.py'], ["lr=0.1"], ["key=value"]),
    ],
)
def test_what_only_sounds_like_a_secret_is_let_through(words: list[str]) -> None:
    refuse_secrets(["python", "train.py", *words])


def test_the_preview_names_command_folder_and_variables_but_no_value() -> None:
    settings = {"command": ["a", "b c"], "cwd": "/here"}
    document = {"metadata": {"worker": {"config": settings}}, "environment": {"KEY": "hidden"}}
    assert preview(document) == ["command: a 'b c'", "folder:  /here", "sets:    KEY"]
