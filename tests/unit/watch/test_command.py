"""What the words of a command mean, and what is said when they mean nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.errors import ConfigError
from mosaic.watch.command import (
    blinding_option,
    command_label,
    resolve_command,
    script_of,
    search_path,
    working_folder,
)


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("python", "tensorboard", "trainer"):
        (folder / name).touch(0o755)
    return folder


def resolve(
    folder: Path, path: Path, *words: str, env_python: str | None = None
) -> tuple[str, ...]:
    return resolve_command(words, folder=folder, path=str(path), env_python=env_python)


def test_a_program_is_found_on_the_path(tmp_path: Path, bin_folder: Path) -> None:
    found = resolve(tmp_path, bin_folder, "trainer", "--lr", "1")
    assert found == (str(bin_folder / "trainer"), "--lr", "1")


def test_python_is_the_chosen_interpreter_else_the_one_on_the_path(
    tmp_path: Path, bin_folder: Path
) -> None:
    (tmp_path / "train.py").touch()
    other = tmp_path / "other"
    other.touch(0o755)
    assert resolve(tmp_path, bin_folder, "python", "train.py")[0] == str(bin_folder / "python")
    chosen = resolve(tmp_path, bin_folder, "python3", "train.py", env_python=str(other))
    assert chosen == (str(other), "train.py")
    # Only `python` is replaced.
    kept = resolve(tmp_path, bin_folder, "trainer", env_python=str(other))
    assert kept == (str(bin_folder / "trainer"),)


def test_links_are_not_followed(tmp_path: Path, bin_folder: Path) -> None:
    """An interpreter knows its virtual environment by the name it has there."""
    link = tmp_path / "venv-python"
    link.symlink_to(bin_folder / "python")
    found = resolve(tmp_path, bin_folder, "python", "-c", "1", env_python=str(link))
    assert found[0] == str(link)


def test_a_path_counts_from_the_working_folder(tmp_path: Path, bin_folder: Path) -> None:
    assert resolve(tmp_path, Path("/none"), "bin/../bin/trainer") == (str(bin_folder / "trainer"),)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("tensorbord",), "there is no program 'tensorbord'", "did you mean tensorboard?"),
        (("./bin/trainr",), "does not exist", "did you mean trainer?"),
        (("train.py",), "there is no program 'train.py'", "write `python train.py`"),
        (("run.sh",), "there is no program", "write `./run.sh`"),
        (("./train.py",), "is not executable", "write `python ./train.py`"),
        (("python3",), "there is no program 'python3'", "--env-python"),
        (("python", "-u", "trian.py"), "the script 'trian.py' does not exist", "train.py?"),
    ],
)
def test_what_cannot_run_is_refused_with_what_was_meant(
    tmp_path: Path, bin_folder: Path, words: tuple[str, ...], message: str, hint: str
) -> None:
    (tmp_path / "train.py").touch(0o644)
    (tmp_path / "run.sh").touch(0o644)
    with pytest.raises(ConfigError) as caught:
        resolve(tmp_path, bin_folder, *words)
    assert caught.value.details["field"] == "command"
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_wrong_interpreter_is_refused_by_its_field(tmp_path: Path, bin_folder: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(tmp_path, bin_folder, "python", "-V", env_python="/no/python")
    assert caught.value.details["field"] == "env_python"


def test_a_working_folder_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert working_folder(str(tmp_path)) == tmp_path
    for name, reason in (("file", "is not a folder"), ("none", "does not exist")):
        with pytest.raises(ConfigError, match=reason) as caught:
            working_folder(str(tmp_path / name))
        assert caught.value.details["field"] == "cwd"


@pytest.mark.parametrize(
    ("command", "script", "label"),
    [
        ("python train.py --seed 1", "train.py", "train"),
        ("python -u -W ignore a/b.py -m x", "a/b.py", "b"),
        ("python -uWignore -X dev a/b.py", "a/b.py", "b"),
        ("python -um package.train --seed 1", "", "package.train"),
        ("python -mpackage.train train.py", "", "package.train"),
        ("python --check-hash-based-pycs always a.py", "a.py", "a"),
        ("python -uc pass train.py", "", "python"),
        ("python -m package.train --seed 1", "", "package.train"),
        ("python -c pass", "", "python"),
        ("python -", "", "python"),
        ("/usr/bin/bash run.sh", "run.sh", "run"),
        ("./run.sh", "", "run"),
    ],
)
def test_a_command_has_a_name(command: str, script: str, label: str) -> None:
    words = command.split()
    assert script_of(words) == script
    assert command_label(words) == label


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("python train.py -I", ""),
        ("python -I train.py", "-I"),
        ("/venv/bin/python3.12 -uS -m train", "-S"),
        ("python -Em train", "-E"),
        ("python -m train -E", ""),
        ("python -WIgnore train.py", ""),
        ("python -c pass -S", ""),
        ("bash -I run.sh", ""),
    ],
)
def test_options_that_keep_our_hooks_out_are_known(command: str, option: str) -> None:
    assert blinding_option(command.split()) == option


def test_the_chosen_environment_comes_first_on_the_path() -> None:
    assert search_path("/usr/bin", "/venv/bin/python") == f"/venv/bin{os.pathsep}/usr/bin"
    assert search_path("/usr/bin", None) == "/usr/bin"
