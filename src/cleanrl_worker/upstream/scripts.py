"""Where upstream's scripts lie: in a checkout, in a folder, or in an installed package."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cleanrl_worker.upstream.interpreter import ask_interpreter
from mosaic.worker import ConfigError, DependencyError

PACKAGE = "cleanrl"
# What the scripts import from beside their own folder.
_SUPPORT_PACKAGE = "cleanrl_utils"
_SHOWN_NAMES = 60


@dataclass(frozen=True)
class ScriptFolder:
    path: Path
    scripts: Mapping[str, Path]
    # To be put on the script's path; None where the interpreter finds everything by itself.
    root: Path | None = None

    def find(self, name: str) -> Path:
        found = self.scripts.get(name)
        if found is not None:
            return found
        close = difflib.get_close_matches(name, self.scripts, n=3)
        some = ", ".join(sorted(self.scripts)[:_SHOWN_NAMES]) or "none"
        guess = f"did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(
            f"'algo': there is no script {name[:80]!r} in {self.path}",
            hint=f"{guess}scripts there: {some}",
            field="algo",
        )


def find_scripts(upstream_path: str | None, python: str) -> ScriptFolder:
    """Those of a checkout, of its folder `cleanrl`, one file, or the package `python` has."""
    if upstream_path is None:
        return _installed(python)
    path = Path(upstream_path).expanduser().absolute()
    if path.is_file():
        return ScriptFolder(path.parent, {path.stem: path}, _root_of(path.parent))
    if not path.is_dir():
        reason = "is no folder" if path.exists() else "does not exist"
        raise _invalid(f"{path} {reason}", "give a checkout of CleanRL, or one of its scripts")
    folder = path / PACKAGE if (path / PACKAGE).is_dir() else path
    scripts = _scripts_in(folder)
    if not scripts:
        raise _invalid(f"there are no scripts in {folder}", "give a checkout of CleanRL")
    return ScriptFolder(folder, scripts, _root_of(folder))


def _installed(python: str) -> ScriptFolder:
    interpreter = ask_interpreter(python, [PACKAGE])
    for folder in interpreter.found.get(PACKAGE, ()):
        if scripts := _scripts_in(folder):
            return ScriptFolder(folder, scripts)
    raise DependencyError(
        f"{interpreter.label} has no package {PACKAGE}",
        hint="give a checkout of CleanRL (upstream_path), or the python of an environment that has "
        f"it (env_python); or `{python} -m pip install --no-deps {PACKAGE}`",
        field="extras.upstream_path",
    )


def _scripts_in(folder: Path) -> dict[str, Path]:
    """`ppo.py`, and those that keep to a folder of their name."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise _invalid(f"{folder} cannot be read: {error.strerror}", "check its rights") from error
    found = {
        path.stem: path
        for path in entries
        if path.suffix == ".py" and not path.name.startswith(("_", ".")) and path.is_file()
    }
    for path in entries:
        if (inner := path / f"{path.name}.py").is_file():
            found.setdefault(path.name, inner)
    return found


def _root_of(folder: Path) -> Path:
    above = folder.parent
    is_checkout = folder.name == PACKAGE or (above / _SUPPORT_PACKAGE).is_dir()
    return above if is_checkout else folder


def _invalid(message: str, hint: str) -> ConfigError:
    field = "extras.upstream_path"
    return ConfigError(f"Invalid CleanRLWorkerConfig: '{field}': {message}", hint=hint, field=field)
