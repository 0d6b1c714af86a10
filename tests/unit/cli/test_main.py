"""The command line as a whole: statuses, messages, and what the commands build."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

import pytest

from mosaic import __version__
from mosaic.cli.commands import run
from mosaic.cli.commands.run import read_config
from mosaic.cli.main import build_parser, main
from mosaic.cli.shared import clients
from mosaic.cli.shared.failures import report
from mosaic.cli.shared.submission import parse_environment
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import (
    ConfigError,
    DependencyError,
    MosaicError,
    RequestError,
    UnknownWorkerError,
    error_codes,
)
from mosaic.front.references import find_worker

SCHEMA = {
    "additionalProperties": False,
    "properties": {"env_id": {"type": "string"}, "seed": {"type": "integer"}},
}
CAPABILITIES = WorkerCapabilities(
    "some", config_schema=SCHEMA, cpu_cores=2, estimated_memory_mb=900
)


def parsed(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(words)


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"mosaic {__version__}\n"


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["bogus"], ["runs", "--limit", "x"], ["daemon"], ["show"]])
def test_usage_error_is_one_sentence_and_a_hint(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert message.startswith("mosaic: ")
    assert hint.startswith("hint: see `mosaic")


@pytest.mark.parametrize("cls", error_codes().values(), ids=error_codes())
def test_every_error_has_its_exit_status(
    cls: type[MosaicError], capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(cls("Went wrong", hint="do this"), as_json=False) == cls.exit_status
    assert capsys.readouterr().err == "mosaic: Went wrong\nhint: do this\n"
    assert report(cls("Went wrong", field="a"), as_json=True) == cls.exit_status
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["code"], error["details"]) == (cls.code, {"field": "a"})


def test_error_text_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report(MosaicError("a\x1b[2Jb", hint="\x07"), as_json=False)
    assert "\x1b" not in (text := capsys.readouterr().err)
    assert "\x07" not in text


def test_json_errors_come_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "--json", "/does/not/exist.json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err)["error"]["code"] == "invalid_config"


# submit


def test_config_is_read_from_a_file_or_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"run_name": "größer"}', encoding="utf-8")
    assert read_config(str(file)) == {"run_name": "größer"}
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"run_name": "x"}'))
    assert read_config("-") == {"run_name": "x"}


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "[" * 100_000])
def test_file_without_a_json_object_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json"):
        read_config(str(file))


def test_environment_variables_are_given_or_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "inherited")
    variables = parse_environment(["A=1", "B=x=y", "C=", "MINE"])
    assert variables == {"A": "1", "B": "x=y", "C": "", "MINE": "inherited"}
    monkeypatch.delenv("MINE")
    with pytest.raises(ConfigError, match="MINE"):
        parse_environment(["MINE"])


# run


def test_plain_run_asks_for_what_the_worker_needs() -> None:
    arguments = parsed("run", "some", "--set", "env_id=ALE/Pong-v5", "--seed", "3")
    config = run.build_config(arguments, CAPABILITIES)
    checked = parse_run_config(config)
    assert checked.run_name == "some-ALE-Pong-v5-3"
    assert checked.entry_point == "some"
    assert checked.worker.config == {"env_id": "ALE/Pong-v5", "seed": 3}
    assert (checked.resources.cpus, checked.resources.memory_mb) == (2, None)
    assert checked.resources.gpus.requested == 0


def test_every_option_of_run_reaches_the_config() -> None:
    arguments = parsed(
        *("run", "some", "--name", "mine", "--cpus", "4", "--memory-mb", "512", "--gpus", "1"),
        *("--max-steps", "1000", "--max-duration", "60", "--priority", "-5", "--retries", "2"),
        *("--env", "A=1"),
    )
    checked = parse_run_config(run.build_config(arguments, CAPABILITIES))
    assert checked.run_name == "mine"
    assert (checked.resources.cpus, checked.resources.memory_mb) == (4, 512)
    assert checked.resources.gpus.mandatory
    assert (checked.schedule.max_steps, checked.schedule.max_duration_seconds) == (1000, 60)
    assert (checked.priority, checked.retry.max_attempts) == (-5, 3)
    assert checked.environment == {"A": "1"}


def test_seed_for_a_worker_without_one_is_refused() -> None:
    capabilities = WorkerCapabilities(
        "some", config_schema={"additionalProperties": False, "properties": {"x": {}}}
    )
    with pytest.raises(ConfigError, match="no setting 'seed'"):
        run.build_config(parsed("run", "some", "--seed", "1"), capabilities)


def test_negative_retries_are_refused() -> None:
    with pytest.raises(RequestError, match="--retries: -1 is less than 0"):
        parsed("run", "some", "--retries", "-1")


def test_unknown_and_broken_workers_are_told_apart() -> None:
    broken = WorkerInfo("broken", "", "", "entry point", "no module", None, ())
    fine = WorkerInfo("some", "some.cli", "", "entry point", "", CAPABILITIES, ())
    assert find_worker([broken, fine], "some") == CAPABILITIES
    with pytest.raises(DependencyError, match="no module"):
        find_worker([broken, fine], "broken")
    with pytest.raises(UnknownWorkerError) as caught:
        find_worker([broken, fine], "somme")
    assert "did you mean 'some'?" in caught.value.hint


# which daemon


def test_home_option_wins_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", "/elsewhere")
    assert clients.home_of(parsed("--home", str(tmp_path), "runs")).root == tmp_path
    assert clients.home_of(parsed("runs")).root == Path("/elsewhere")


def test_address_without_a_readable_token_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    monkeypatch.setenv("MOSAIC_ADDRESS", "127.0.0.1:1")
    with pytest.raises(RequestError, match="token"):
        clients.open_client(parsed("runs"))
    token = tmp_path / "token"
    token.write_text("secret\n")
    monkeypatch.setenv("MOSAIC_DAEMON_TOKEN_FILE", str(token))
    clients.open_client(parsed("runs")).close()
    monkeypatch.setenv("MOSAIC_TLS_CERT", "only-one.pem")
    with pytest.raises(RequestError, match="TLS needs all"):
        clients.open_client(parsed("runs"))


def test_parameters_are_listed_below_the_headings_of_the_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parsed("train", "ppo", "--help")
    lines = capsys.readouterr().out.splitlines()
    lines = lines[lines.index("parameters (--set NAME=VALUE):") :]
    headings = [line for line in lines[1:] if line and not line.startswith(" ")]
    sections = ["Hyperparameters", "Computation", "Recording", "Tracking"]
    assert headings == [*sections, "recipes (--recipe NAME)"]
    names = [line.split()[0] for line in lines if line[:3].strip()]
    recording = names[names.index("Recording") + 1 : names.index("Tracking")]
    assert recording[:2] == ["save_model", "checkpoint_interval"]
    assert any("recording_limit_mb" in line and "integer in MB" in line for line in lines)
