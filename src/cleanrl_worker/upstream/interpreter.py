"""What another Python interpreter has, asked of itself, without importing any of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from mosaic.worker import ConfigError, DependencyError

PATIENCE_S = 30.0
# Understood by every Python 3. An empty entry of the path would be the folder we are in, where
# anything may lie.
_QUESTION = """
import importlib.util, json, sys
sys.path[:] = sys.argv[1].split(":") * bool(sys.argv[1]) + [part for part in sys.path if part]
found = {}
for name in sys.argv[2:]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        spec = None
    folders = spec and spec.submodule_search_locations
    found[name] = None if spec is None else list(folders or [])
print(json.dumps({"version": list(sys.version_info[:2]), "found": found}))
"""


class Interpreter(NamedTuple):
    path: str
    version: tuple[int, int]
    found: dict[str, list[Path]]  # packages it has, and the folders they lie in

    @property
    def label(self) -> str:
        return f"{self.path} (Python {self.version[0]}.{self.version[1]})"

    def missing(self, packages: Iterable[str]) -> list[str]:
        return [name for name in packages if name not in self.found]


def interpreter_path(env_python: str | None) -> str:
    """Absolute, links not followed: an interpreter knows its environment by its own name."""
    if env_python is None:
        return sys.executable
    path = Path(env_python).expanduser().absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        reason = "is not executable" if path.is_file() else "is not a file"
        hint = "the python of a virtual environment, for example ~/envs/cleanrl/bin/python"
        inside = path / "bin" / "python"
        raise _invalid(f"{path} {reason}", f"did you mean {inside}?" if inside.exists() else hint)
    return str(path)


def ask_interpreter(
    python: str, packages: Sequence[str], folders: Iterable[Path] = ()
) -> Interpreter:
    """`folders` are looked into first, as those that will be on its path."""
    first = os.pathsep.join(str(folder) for folder in folders)
    try:
        done = subprocess.run(
            [python, "-c", _QUESTION, first, *packages],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        answer = json.loads(done.stdout.splitlines()[-1])
        found = answer["found"].items()
        return Interpreter(
            python,
            (answer["version"][0], answer["version"][1]),
            {name: [Path(one) for one in places] for name, places in found if places is not None},
        )
    except subprocess.TimeoutExpired:
        said = f"did not answer within {PATIENCE_S:.0f} s"
    except subprocess.CalledProcessError as error:
        said = f"ended with status {error.returncode}: {_last_line(error.stderr)}"
    except OSError as error:
        said = f"cannot be started: {error.strerror}"
    except (ValueError, LookupError, TypeError, AttributeError):
        said = "did not answer as Python does"
    raise _invalid(f"{python} {said}", "give the python of a working environment")


def require_packages(interpreter: Interpreter, packages: Iterable[str], script: Path) -> None:
    missing = interpreter.missing(packages)
    if not missing:
        return
    hint = f"{interpreter.path} -m pip install {' '.join(map(_distribution, missing))}"
    if "distutils" in missing:
        hint += "; Python has no distutils since 3.12, and setuptools brings one"
    raise DependencyError(
        f"{script.name} imports {', '.join(missing)}, not to be found by {interpreter.label}",
        hint=hint,
        field="extras.env_python",
    )


def _distribution(package: str) -> str:
    """What to install for a package whose distribution has another name."""
    names = {
        "distutils": "setuptools",
        "cleanrl_utils": "cleanrl",
        "stable_baselines3": "stable-baselines3",
        "tensorboardX": "tensorboardx",
    }
    return names.get(package, package)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


def _invalid(message: str, hint: str) -> ConfigError:
    field = "extras.env_python"
    return ConfigError(f"Invalid CleanRLWorkerConfig: '{field}': {message}", hint=hint, field=field)
