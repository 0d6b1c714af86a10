"""From a submission to the exact command."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.daemon.launch.command import LaunchCommand, resolve_command
from mosaic.errors import ConfigError, UnknownWorkerError
from tests.worker_samples import DAEMON_PYTHON, OTHER_PYTHON, SDK, KnownWorkers, entry, submission

WORKERS = KnownWorkers(
    entry(),
    entry("foreign", python=OTHER_PYTHON, path_dirs=("/opt/foreign",), source="/x.toml"),
    entry("broken", module="", error="no module named torch", capabilities=None),
)
SCRIPT = "/home/me/train.py"


def command(entry_point: str = "sample", **fields: Any) -> LaunchCommand:
    return resolve_command(submission(entry_point, **fields), WORKERS)


def argv(entry_point: str = "sample", **fields: Any) -> list[str]:
    return list(command(entry_point, **fields).argv("CONFIG"))


SAMPLE = [DAEMON_PYTHON, "-m", "sample_pack.cli", "--config", "CONFIG"]


@pytest.mark.parametrize("entry_point", ["sample", "sample_pack.cli", "sample_pack"])
def test_a_worker_is_named_by_name_module_or_package(entry_point: str) -> None:
    assert argv(entry_point) == SAMPLE
    assert command(entry_point).worker_name == "sample"
    assert command(entry_point).is_sdk_worker


@pytest.mark.parametrize("entry_point", ["sample", "sample_pack", "python", "python3"])
@pytest.mark.parametrize("module", ["sample_pack.cli", "sample_pack"])
def test_metadata_may_name_the_same_worker(entry_point: str, module: str) -> None:
    assert argv(entry_point, worker={"module": module}) == SAMPLE


def test_arguments_of_the_worker_come_before_those_of_the_run() -> None:
    built = argv(arguments=["--late"], worker={"arguments": ["--early", "1"]})
    assert built == [*SAMPLE, "--early", "1", "--late"]


def test_dash_m_of_the_same_module_is_not_repeated() -> None:
    built = argv(
        "python", arguments=["-m", "sample_pack.cli", "--x"], worker={"module": "sample_pack.cli"}
    )
    assert built == [*SAMPLE, "--x"]


def test_dash_m_of_another_module_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"other\.cli") as caught:
        argv("python", arguments=["-m", "other.cli"], worker={"module": "sample_pack.cli"})
    assert caught.value.details["field"] == "arguments"


@pytest.mark.parametrize(
    "worker", [{"module": "foreign_pack.cli"}, {"module": "unheard.of"}, {"script": SCRIPT}]
)
def test_an_entry_point_that_disagrees_with_the_metadata_is_refused(worker: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="disagree") as caught:
        argv("sample", worker=worker)
    assert caught.value.details["field"] == "entry_point"
    assert caught.value.hint


def test_a_foreign_worker_runs_in_its_own_interpreter_with_the_sdk_beside_it() -> None:
    built = command("foreign")
    assert built.python == OTHER_PYTHON
    assert built.path_dirs == ("/opt/foreign", SDK)


def test_an_explicit_interpreter_wins_over_the_workers_own() -> None:
    built = command("/usr/bin/python3.12", worker={"module": "sample_pack.cli"})
    assert built.argv("CONFIG")[0] == "/usr/bin/python3.12"
    assert built.path_dirs == (SDK,)
    assert built.is_sdk_worker


def test_a_module_no_worker_announces_runs_when_it_is_named_as_such() -> None:
    built = command("python", worker={"module": "my.own_worker.cli"})
    assert built.argv("CONFIG") == (
        DAEMON_PYTHON, "-m", "my.own_worker.cli", "--config", "CONFIG",
    )  # fmt: skip
    assert (built.entry, built.worker_name) == (None, "my.own_worker")


def test_an_unknown_worker_is_answered_with_close_matches() -> None:
    with pytest.raises(UnknownWorkerError, match="sampel") as caught:
        argv("sampel")
    assert "did you mean sample?" in caught.value.hint
    assert "foreign" in caught.value.hint


def test_a_script_gets_its_arguments_and_no_config() -> None:
    built = command(
        "python", arguments=["--seed", "1"], worker={"script": SCRIPT, "arguments": ["a"]}
    )
    assert built.argv("CONFIG") == (DAEMON_PYTHON, SCRIPT, "a", "--seed", "1")
    assert not built.is_sdk_worker
    assert built.worker_name == "train"


def test_a_script_that_arguments_repeat_is_run_once() -> None:
    built = argv("/usr/bin/python3", arguments=[SCRIPT, "--seed", "1"], worker={"script": SCRIPT})
    assert built == ["/usr/bin/python3", SCRIPT, "--seed", "1"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([SCRIPT, "--x"], "train"),
        (["-u", "train me.py"], "train_me"),
        (["-m", "pack.mod"], "pack.mod"),
        (["-c", "print(1)"], "command"),
        (["-u"], "python"),
        (["../../x/..py"], "script"),
    ],
)
def test_an_interpreter_with_arguments_is_run_as_it_is(arguments: list[str], name: str) -> None:
    built = command("python3", arguments=arguments)
    assert built.argv("CONFIG") == (DAEMON_PYTHON, *arguments)
    assert built.worker_name == name
    assert not built.is_sdk_worker


def test_an_interpreter_with_nothing_to_run_is_refused() -> None:
    with pytest.raises(ConfigError, match="nothing for it to run"):
        argv("python")


def test_a_step_limit_needs_something_that_counts_steps() -> None:
    schedule = {"max_steps": 100}
    assert command(schedule=schedule).is_sdk_worker
    with pytest.raises(ConfigError, match="cannot be honoured") as caught:
        command("python", worker={"script": SCRIPT}, schedule=schedule)
    assert caught.value.details["field"] == "schedule.max_steps"


def test_a_broken_worker_is_resolved_so_that_preflight_can_say_why() -> None:
    broken = command("broken")
    assert broken.entry is not None
    assert broken.entry.error == "no module named torch"


def test_stdout_events_are_a_capability() -> None:
    talks = KnownWorkers(
        entry(capabilities=WorkerCapabilities(worker_type="x", stdout_events=True))
    )
    assert resolve_command(submission(), talks).has_stdout_events
    assert not command().has_stdout_events
