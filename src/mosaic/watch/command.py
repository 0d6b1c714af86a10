"""From the words of a command to what can be executed, or to why it cannot."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mosaic.errors import ConfigError

PYTHON_WORDS = ("python", "python3")
_MAX_NAMES = 20_000  # looked through for a similar one
# Options of the interpreter to which the next word, or the rest of theirs, belongs.
_OPTIONS_WITH_A_WORD = "WXm"
_LONG_OPTION_WITH_A_WORD = "--check-hash-based-pycs"
_BLINDING = "EIS"  # with these our hooks are not imported


def working_folder(cwd: str | None) -> Path:
    folder = Path(cwd).expanduser().absolute() if cwd else Path.cwd()
    if not folder.is_dir():
        reason = "is not a folder" if folder.exists() else "does not exist"
        raise _invalid("cwd", f"{folder} {reason}", "give the folder the script is started in")
    return folder


def search_path(path: str, env_python: str | None) -> str:
    """PATH with the programs of the chosen environment first, as if it had been activated."""
    return os.pathsep.join(
        part for part in (str(Path(env_python).parent) if env_python else "", path) if part
    )


def resolve_command(
    words: Sequence[str], *, folder: Path, path: str, env_python: str | None
) -> tuple[str, ...]:
    """The command with the absolute path of its program; raises ConfigError when there is none.

    Links are not followed: an interpreter knows its virtual environment by the name it has there.
    """
    word = words[0]
    if word in PYTHON_WORDS and env_python:
        program = _executable("env_python", env_python, folder)
    elif "/" in word:
        program = _executable("command", word, folder)
    else:
        program = _on_path(word, folder, path)
    if word in PYTHON_WORDS:
        _check_script(words, folder)
    return (program, *words[1:])


def script_of(words: Sequence[str]) -> str:
    """The script that an interpreter is given as its first argument; empty for -m, -c or none."""
    return _interpreted(words).script


def blinding_option(words: Sequence[str]) -> str:
    """The option with which Python ignores PYTHONPATH or `sitecustomize`; empty without one."""
    if not Path(words[0]).name.startswith(("python", "pypy")):
        return ""
    letters = _interpreted(words).letters
    return next((f"-{letter}" for letter in letters if letter in _BLINDING), "")


def command_label(words: Sequence[str]) -> str:
    """A short name of a command: `train` of `python train.py --seed 1`."""
    found = _interpreted(words)
    return found.module or Path(found.script or words[0]).stem


class _Interpreted(NamedTuple):
    letters: str  # of all options, which may share a word: `-um`
    script: str = ""
    module: str = ""


def _interpreted(words: Sequence[str]) -> _Interpreted:
    """The command line of an interpreter, as Python reads it."""
    letters = ""
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-"):
            return _Interpreted(letters, script=word)
        if word in ("-", "--"):
            break
        if word.startswith("--"):
            if word == _LONG_OPTION_WITH_A_WORD:
                next(rest, None)
            continue
        for place, letter in enumerate(word[1:], start=2):
            letters += letter
            if letter == "c":
                return _Interpreted(letters)
            if letter in _OPTIONS_WITH_A_WORD:
                value = word[place:] or next(rest, "")
                if letter == "m":
                    return _Interpreted(letters, module=value)
                break
    return _Interpreted(letters)


def _on_path(word: str, folder: Path, path: str) -> str:
    found = shutil.which(word, path=path)
    if found is not None:
        return os.path.abspath(found)  # noqa: PTH100 (a link stays a link, `..` goes)
    if word in PYTHON_WORDS:
        other = "write python3, " if shutil.which("python3", path=path) else ""
        hint = f"{other}activate an environment, or give --env-python PATH"
    elif (folder / word).is_file():
        hint = f"write `python {word}`" if word.endswith(".py") else f"write `./{word}`"
    else:
        hint = _did_you_mean(word, _programs(path)) or "check its name, or give its whole path"
    raise _invalid("command", f"there is no program {word[:80]!r}", hint)


def _executable(field: str, text: str, folder: Path) -> str:
    path = folder / Path(text).expanduser()
    if not path.is_file():
        hint = _did_you_mean(path.name, _names(path.parent)) or "check the path"
        raise _invalid(field, f"the program {path} does not exist", hint)
    if not os.access(path, os.X_OK):
        hint = f"write `python {text}`" if text.endswith(".py") else f"chmod +x {path}"
        raise _invalid(field, f"{path} is not executable", hint)
    return os.path.abspath(path)  # noqa: PTH100 (a link stays a link, `..` goes)


def _check_script(words: Sequence[str], folder: Path) -> None:
    """A misspelt file is told before the run is queued, and with what was probably meant."""
    script = script_of(words)
    path = folder / script
    if script and not path.exists():
        hint = _did_you_mean(path.name, _names(path.parent)) or f"it is looked for in {folder}"
        raise _invalid("command", f"the script {script[:200]!r} does not exist", hint)


def _programs(path: str) -> Iterable[str]:
    for part in path.split(os.pathsep):
        yield from _names(Path(part or "."))


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in islice(os.scandir(folder), _MAX_NAMES)]
    except OSError:
        return []


def _did_you_mean(word: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, set(islice(names, _MAX_NAMES)), n=3, cutoff=0.7)
    return f"did you mean {' or '.join(close)}?" if close else ""


def _invalid(field: str, message: str, hint: str) -> ConfigError:
    return ConfigError(f"Invalid ScriptConfig: '{field}': {message}", hint=hint, field=field)
