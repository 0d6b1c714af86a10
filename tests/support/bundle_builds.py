"""A home, some tiny wheels and the ways a test has a venv built of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.bundles.building import BuildRequest, build
from mosaic.bundles.install_program import ProgramRequest
from mosaic.bundles.locks import Lock, read_lock
from mosaic.bundles.package_tools import TOOL_VARIABLE, find_uv
from mosaic.bundles.venv_store import VenvStore
from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.paths import Home
from tests.support.tiny_wheels import TinyWheel, lock_text

VERSION = "{}.{}.{}".format(*sys.version_info[:3])
PROGRAM = [sys.executable, "-m", "mosaic.bundles.install_program"]
TOOLS = ["pip", *(["uv"] if find_uv(os.environ) else [])]


@dataclass
class Builds:
    """What a test builds into, and from where."""

    folder: Path
    tool: str = "pip"
    # The folder of wheels is offered where nothing else is.
    index_url: str = ""
    told: list[InstallProgress] = field(default_factory=list)
    # Where the home is, if it is not in the folder.
    home: Path | None = None
    more_variables: dict[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()  # of the bundles themselves

    @property
    def wheels(self) -> Path:
        return self.folder / "wheels"

    @property
    def store(self) -> VenvStore:
        return VenvStore(Home(self.home or self.folder / "home"))

    @property
    def environment(self) -> dict[str, str]:
        """Settings for pip of this test only: those of the machine are not meant."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        return {
            **kept,
            **({"PIP_INDEX_URL": self.index_url} if self.index_url else offline),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_RETRIES": "0",
            "PIP_CACHE_DIR": str(self.folder / "pip-cache"),
            "UV_CACHE_DIR": str(self.folder / "uv-cache"),
            "UV_HTTP_RETRIES": "0",
            TOOL_VARIABLE: self.tool,
            **self.more_variables,
        }

    def target(self, lock: Lock) -> Path:
        return self.store.path_of(lock, VERSION)

    def build(
        self,
        lock: Lock,
        imports: Sequence[str] = (),
        *,
        from_folder: Path | None = None,
        interpreter: Path = Path(sys.executable),
    ) -> Path:
        request = BuildRequest(
            *(lock, self.target(lock), interpreter, tuple(imports), from_folder),
            environment=self.environment,
            indexes=self.indexes,
        )
        return build(request, self.told.append)

    def left(self) -> list[str]:
        """Names of all that lies beside the venvs."""
        folder = self.store.folder
        there = {path.name for path in self.store.paths()}
        return sorted(path.name for path in folder.iterdir() if path.name not in there)

    def start(
        self,
        lock_text: str,
        target: Path,
        imports: Sequence[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
        action: str = "install",
    ) -> subprocess.Popen[bytes]:
        """The program, in a group of its own, with its request already given."""
        process = subprocess.Popen(
            PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environment, **(environment or {})},
            start_new_session=True,
        )
        request = ProgramRequest(
            *(lock_text, str(target), sys.executable, action, tuple(imports)),
            indexes=self.indexes,
            parent=os.getpid(),
        )
        assert process.stdin is not None
        process.stdin.write(request.to_json())
        process.stdin.close()
        return process


def lock_of(wheels: Sequence[TinyWheel], bundle: str = "learner") -> Lock:
    return read_lock(lock_text(wheels, bundle), "a lock of the test")


def end_of(process: subprocess.Popen[bytes], timeout_s: float) -> list[InstallProgress]:
    """All that the program has said, when it has ended."""
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        lines = process.stdout.readlines()
        process.wait(timeout_s)
    return [InstallProgress.from_dict(json.loads(line)) for line in lines]


def phases(told: Sequence[InstallProgress]) -> list[InstallPhase]:
    return list(dict.fromkeys(progress.phase for progress in told))
