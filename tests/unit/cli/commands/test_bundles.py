"""`mosaic bundles`: what each of its words says, asks, refuses and sends."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.commands import bundles
from mosaic.cli.main import main
from mosaic.cli.shared import install_agreement
from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    InstallRequest,
    VenvInfo,
    VenvState,
)
from mosaic.errors import BundleError

ABSENT = VenvInfo(
    *("learner", "Learners", "to train", VenvState.ABSENT),
    path="/home/venvs/learner-1",  # where it would be
    python="3.11",
    fetch_bytes=212_000_000,
    disk_bytes=900_000_000,
)
INSTALLED = replace(ABSENT, state=VenvState.INSTALLED, used_at=1.0)
PRESENT = VenvInfo("simple", "Simple policies", "", VenvState.PRESENT)
NOWHERE = VenvInfo("gpu", "For GPUs", "", VenvState.UNAVAILABLE, problem="No lock", hint="Take cpu")
BROKEN = replace(INSTALLED, state=VenvState.BROKEN, problem="numpy changed", hint="Do it again")
_ON_DISK = (VenvState.INSTALLED, VenvState.BROKEN)
FETCHING = InstallProgress(InstallPhase.FETCHING, "numpy", 5_000_000, 20_000_000, 0.25)
DONE = InstallProgress(InstallPhase.DONE, fraction=1.0)


class Client:
    """A daemon that installs whatever it is asked for."""

    def __init__(self, *infos: VenvInfo) -> None:
        self.infos = {info.name: info for info in infos}
        self.problems: list[str] = []
        self.requests: list[InstallRequest] = []
        self.calls: list[str] = []
        self.steps: list[InstallProgress] = [FETCHING, DONE]

    def bundles(
        self, names: list[str] | tuple[str, ...] = (), accelerator: Accelerator | None = None
    ) -> list[VenvInfo]:
        if not names:
            return list(self.infos.values())
        for name in names:
            if name not in self.infos:
                raise BundleError(f"There is no bundle {name!r}", hint="Did you mean learner?")
        found = [self.infos[name] for name in names]
        return [replace(info, accelerator=accelerator or info.accelerator) for info in found]

    def bundle_problems(self) -> list[str]:
        return self.problems

    def install_bundle(self, request: InstallRequest) -> Iterator[InstallProgress]:
        self.requests.append(request)
        for step in self.steps:
            if step is DONE:
                self.infos[request.name] = INSTALLED
            yield step

    def pack_bundle(self, request: InstallRequest, folder: Path) -> Iterator[InstallProgress]:
        self.calls.append(f"pack into {folder}")
        self.requests.append(request)
        yield from self.steps

    def cancel_install(self, name: str) -> bool:
        self.calls.append(f"cancel {name}")
        return self.infos[name].state is VenvState.INSTALLING

    def verify_bundle(self, name: str) -> VenvInfo:
        return self.infos[name]

    def remove_bundle(self, name: str) -> list[VenvInfo]:
        self.calls.append(f"remove {name}")
        return [self.infos[name]] if self.infos[name].state in _ON_DISK else []

    def prune_bundles(self, dry_run: bool = False) -> list[VenvInfo]:
        self.calls.append(f"prune {dry_run=}")
        return [info for info in self.infos.values() if info.state is VenvState.INSTALLED]


class CommandLine:
    def __init__(self, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
        self.client = client
        self._capsys = capsys

    def __call__(self, *words: str, status: int = 0) -> str:
        """Standard output; with another status, of standard error as well."""
        found = main(["bundles", *words])
        out, err = self._capsys.readouterr()
        assert found == status, out + err
        return out + err if status else out

    def refused(self, *words: str, status: int = 6) -> str:
        return self(*words, status=status)


@pytest.fixture
def mosaic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    client = Client(ABSENT, PRESENT, NOWHERE)
    monkeypatch.setattr(bundles, "open_client", lambda _: contextlib.nullcontext(client))
    monkeypatch.delenv("MOSAIC_ADDRESS", raising=False)
    return CommandLine(client, capsys)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What somebody types at a terminal."""
    left: list[str] = []
    monkeypatch.setattr(install_agreement, "can_ask", lambda as_json: not as_json)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: left.pop(0))
    return left


# Looking


@pytest.mark.parametrize("words", [(), ("list",)])
def test_the_list_says_what_each_is_and_how_large(
    mosaic: CommandLine, words: tuple[str, ...]
) -> None:
    out = mosaic(*words)
    assert "learner  Learners" in out and "not installed" in out and "212 MB" in out
    assert "with MOSAIC" in out
    assert "1 bundle unavailable on this machine" in out
    assert "nothing is installed yet" in out


@pytest.mark.parametrize("words", [("--json",), ("list", "--json"), ("--json", "list")])
def test_the_list_as_json(mosaic: CommandLine, words: tuple[str, ...]) -> None:
    names = [item["name"] for item in json.loads(mosaic(*words))]
    assert names == ["learner", "simple", "gpu"]


def test_the_list_names_what_is_broken_and_what_to_do(mosaic: CommandLine) -> None:
    mosaic.client.infos["learner"] = BROKEN
    out = mosaic()
    assert "learner: numpy changed" in out and "fix: mosaic bundles install learner" in out


def test_a_broken_package_of_bundles_is_named(
    mosaic: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    mosaic.client.problems = ["Bundles of theirs: bundles.toml is not TOML"]
    assert main(["bundles"]) == 0
    assert "problem: Bundles of theirs" in capsys.readouterr().err


def test_where_prints_the_folder_and_nothing_else(mosaic: CommandLine) -> None:
    mosaic.client.infos["learner"] = INSTALLED
    assert mosaic("where", "learner") == "/home/venvs/learner-1\n"


def test_where_of_what_has_no_folder_says_what_to_do(mosaic: CommandLine) -> None:
    assert "`mosaic bundles install learner`" in mosaic.refused("where", "learner")
    assert "came with MOSAIC" in mosaic.refused("where", "simple")


def test_verify_tells_a_sound_venv_from_a_broken_one(mosaic: CommandLine) -> None:
    mosaic.client.infos["learner"] = INSTALLED
    assert "every file is as it was installed" in mosaic("verify", "learner")
    mosaic.client.infos["learner"] = BROKEN
    error = mosaic.refused("verify", "learner")
    assert "learner is broken: numpy changed" in error and "makes it again" in error
    assert "needs no venv" in mosaic("verify", "simple")


def test_verify_of_what_is_not_there(mosaic: CommandLine) -> None:
    assert "learner is not installed" in mosaic.refused("verify", "learner")


# Installing


def test_an_install_says_its_size_first_and_fetches_no_more(mosaic: CommandLine) -> None:
    out = mosaic("install", "learner")
    assert mosaic.client.requests == [InstallRequest("learner", None, "", 212_000_000)]
    assert "fetching numpy" in out
    assert "learner installed in" in out and "/home/venvs/learner-1" in out


def test_the_accelerator_that_is_asked_for_is_sent(mosaic: CommandLine) -> None:
    mosaic("install", "learner", "--accelerator", "cuda")
    assert mosaic.client.requests[0].accelerator is Accelerator.CUDA


def test_as_json_an_install_is_one_document(mosaic: CommandLine) -> None:
    found = json.loads(mosaic("install", "learner", "--json"))
    assert (found["state"], found["path"]) == ("installed", "/home/venvs/learner-1")


def test_on_a_terminal_it_is_asked_first(mosaic: CommandLine, answers: list[str]) -> None:
    answers.append("n")
    assert "Nothing was installed" in mosaic.refused("install", "learner", status=5)
    assert mosaic.client.requests == []
    answers.append("")  # Enter means yes
    mosaic("install", "learner")
    assert len(mosaic.client.requests) == 1


def test_yes_is_not_asked(mosaic: CommandLine, answers: list[str]) -> None:
    mosaic("install", "learner", "--yes")
    assert len(mosaic.client.requests) == 1


@pytest.mark.parametrize(
    ("name", "said"), [("learner", "is installed already"), ("simple", "nothing to install")]
)
def test_what_is_there_is_not_installed_again(mosaic: CommandLine, name: str, said: str) -> None:
    mosaic.client.infos["learner"] = INSTALLED
    assert said in mosaic("install", name)
    assert mosaic.client.requests == []


def test_what_has_no_lock_is_refused_with_its_reason(mosaic: CommandLine) -> None:
    error = mosaic.refused("install", "gpu")
    assert "No lock" in error and "Take cpu" in error


def test_a_broken_venv_is_made_again(mosaic: CommandLine) -> None:
    mosaic.client.infos["learner"] = BROKEN
    assert "learner installed in" in mosaic("install", "learner")
    # Removing by name would take its builds for other accelerators along.
    assert mosaic.client.calls == []


def test_an_install_that_fails_ends_with_its_sentence_and_hint(mosaic: CommandLine) -> None:
    failed = InstallProgress(InstallPhase.FAILED, message="The index is down", hint="try later")
    mosaic.client.steps = [FETCHING, failed]
    error = mosaic.refused("install", "learner")
    assert "The index is down" in error and "hint: try later" in error


def test_an_install_that_somebody_else_began_is_followed_without_a_question(
    mosaic: CommandLine, answers: list[str]
) -> None:
    mosaic.client.infos["learner"] = replace(ABSENT, state=VenvState.INSTALLING)
    assert "learner installed in" in mosaic("install", "learner")


def test_cancel_says_whether_there_was_something_to_cancel(mosaic: CommandLine) -> None:
    assert "was not being installed" in mosaic("cancel", "learner")
    mosaic.client.infos["learner"] = replace(ABSENT, state=VenvState.INSTALLING)
    assert "nothing of it is left" in mosaic("cancel", "learner")


# Bad input


@pytest.mark.parametrize("name", ["../x", "", "a b", "Learner", "x+", "\x1b[2J", "-", "ä"])
@pytest.mark.parametrize("word", ["install", "verify", "remove", "where", "cancel"])
def test_what_can_be_no_name_is_refused_before_anybody_is_asked(
    mosaic: CommandLine, word: str, name: str
) -> None:
    error = mosaic.refused(word, name, status=2)
    assert "NAME" in error and "cannot be the name of a bundle" in error
    assert "`mosaic bundles` lists them" in error and "\x1b" not in error
    assert mosaic.client.calls == []


def test_an_unknown_name_has_close_matches(mosaic: CommandLine) -> None:
    error = mosaic.refused("install", "lerner")
    assert "There is no bundle 'lerner'" in error and "Did you mean learner?" in error


def test_an_accelerator_that_is_none_is_refused_with_those_there_are(mosaic: CommandLine) -> None:
    error = mosaic.refused("install", "learner", "--accelerator", "tpu", status=2)
    assert "--accelerator" in error and "'cuda'" in error


def test_from_needs_a_folder_with_wheels(mosaic: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, problem in (
        (tmp_path / "nowhere", "does not exist"),
        (tmp_path / "file", "is a file"),
        (tmp_path, "holds no wheel"),
    ):
        error = mosaic.refused("install", "learner", "--from", str(path), status=2)
        assert f"--from {path} {problem}" in error and "mosaic bundles pack" in error
    (tmp_path / "numpy-1-py3-none-any.whl").touch()
    mosaic("install", "learner", "--from", str(tmp_path))
    assert mosaic.client.requests[0].from_folder == str(tmp_path)


def test_a_folder_of_another_machine_is_not_looked_for_here(
    mosaic: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_ADDRESS", "127.0.0.1:1")
    mosaic("install", "learner", "--from", "/media/there")
    assert mosaic.client.requests[0].from_folder == "/media/there"


# Packing, removing


def test_pack_names_the_folder_and_how_to_use_it(mosaic: CommandLine, tmp_path: Path) -> None:
    out = mosaic("pack", "learner", "--to", str(tmp_path / "wheels"))
    assert mosaic.client.calls == [f"pack into {tmp_path / 'wheels'}"]
    assert mosaic.client.requests[0].most_bytes == 212_000_000
    assert "mosaic bundles install learner --from" in out


def test_pack_needs_a_folder(mosaic: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is no folder" in mosaic.refused(
        "pack", "learner", "--to", str(tmp_path / "file"), status=2
    )
    assert "--to" in mosaic.refused("pack", "learner", status=2)


def test_remove_says_what_it_freed_without_what_others_hold(mosaic: CommandLine) -> None:
    mosaic.client.infos["learner"] = replace(INSTALLED, shared_bytes=200_000_000)
    assert "removed learner, 700 MB freed" in mosaic("remove", "learner")
    mosaic.client.infos["learner"] = ABSENT
    assert "is not installed" in mosaic("remove", "learner")


def test_prune_shows_what_goes_before_it_asks(mosaic: CommandLine, answers: list[str]) -> None:
    mosaic.client.infos["learner"] = replace(INSTALLED, problem="its lock is an older one")
    answers.append("n")
    shown = mosaic.refused("prune", status=5)
    assert "its lock is an older one" in shown and "900 MB" in shown
    assert mosaic.client.calls == ["prune dry_run=True"]
    answers.append("y")
    assert "deleted 1 venv, 900 MB freed" in mosaic("prune")


def test_prune_without_a_terminal_needs_yes(
    mosaic: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert "nothing to delete" in mosaic("prune")
    mosaic.client.infos["learner"] = INSTALLED
    assert "pass --yes" in mosaic.refused("prune", status=5)
    assert "1 venv" in mosaic("prune", "--dry-run")
    assert "prune dry_run=False" not in mosaic.client.calls
    found: Any = json.loads(mosaic("prune", "--yes", "--json"))
    assert (found["freed_bytes"], found["dry_run"]) == (900_000_000, False)


# A build that stands in for another

NOTE = "This is the CUDA build: there is no other."
STAND_IN = replace(ABSENT, accelerator=Accelerator.CUDA, note=NOTE)


def test_a_build_that_stands_in_says_why_in_the_list_and_before_it_is_installed(
    mosaic: CommandLine, answers: list[str]
) -> None:
    mosaic.client.infos |= {"learner": STAND_IN, "other": replace(STAND_IN, name="other")}
    assert f"learner and 1 more: {NOTE}" in mosaic("list")
    assert json.loads(mosaic("list", "--json"))[0]["note"] == NOTE
    answers.append("n")
    shown = mosaic.refused("install", "learner", status=5)
    assert "at most 212 MB to fetch" in shown and "CUDA" in shown and NOTE in shown
    assert mosaic.client.requests == []
