"""Into a fresh venv, exactly what a lock names: with uv or pip, from an index or a folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from mosaic.bundles.install_report import InstallReport
from mosaic.bundles.locks import Lock, LockedPackage
from mosaic.bundles.package_tools import (
    IndexSettings,
    Pip,
    Uv,
    choose_pip,
    choose_tool,
    index_settings,
    may_use_indexes,
    plain_environment,
    requirement_text,
)
from mosaic.bundles.tool_output import (
    Fetch,
    PipFetch,
    UvFetch,
    explain,
    has_wrong_hash,
    missing_package,
    pins_with_local,
    pins_without_local,
    wrong_package,
)
from mosaic.bundles.tool_runs import ToolResult, ToolRunner
from mosaic.bundles.venv_contents import installed_packages, missing_packages
from mosaic.contracts.bundles import InstallPhase
from mosaic.errors import BundleError
from mosaic.files import atomic_write

# What a wheel becomes when it is unpacked; those of torch and numpy become 3.6 times as large.
_UNPACKED = 3.0
# pip has each file twice for a moment, before it unpacks them.
_FETCHED_BY_PIP = 2.0
_SPARE_BYTES = 32 * 2**20
_PROBE_S = 60.0
_IMPORT_S = 900.0
_MOST_NAMED = 3

_PROBE = (
    "import json, sys; v = sys.version_info; print('probe', json.dumps(['%d.%d.%d' % v[:3],"
    " getattr(sys, '_base_executable', '') or sys.executable]))"
)
_IMPORT_TEST = """
import importlib, sys
for name in sys.argv[1:]:
    print("importing", name, flush=True)
    importlib.import_module(name)
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that venvs are made from."""

    version: str  # "3.11.7"
    executable: str  # of the installation itself, not of a venv of it


class Workspace:
    """A folder for what exists only while something is built, with the children that do it."""

    def __init__(
        self,
        folder: Path,
        log: Path,
        is_canceled: Callable[[], bool],
        held_fds: Iterable[int] = (),
    ) -> None:
        self.folder, self.log = folder, log
        self.venv = folder / "venv"
        self.wheels = folder / "wheels"
        self.temporary = folder / "temporary"
        self.requirements = folder / "requirements.txt"
        shutil.rmtree(folder, ignore_errors=True)
        for made in (folder, self.wheels, self.temporary):
            made.mkdir(mode=0o700)
        self.runner = ToolRunner(log, is_canceled, tuple(held_fds))

    def close(self, *, keep_log: bool) -> None:
        self.runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if not keep_log:
            self.log.unlink(missing_ok=True)


class Installer:
    """One lock, one workspace; its steps are called in the order in which they stand here."""

    def __init__(
        self,
        lock: Lock,
        interpreter: Path,
        from_folder: Path | None,
        environment: Mapping[str, str],
        workspace: Workspace,
        progress: InstallReport,
        indexes: tuple[str, ...] = (),
    ) -> None:
        self._lock = lock
        self._interpreter = interpreter
        self._from_folder = from_folder
        self._environment = environment
        self._workspace = workspace
        self._progress = progress
        offline = IndexSettings(no_index=True)
        self._settings = offline if from_folder else index_settings(environment)
        self._tool: Uv | Pip = choose_tool(environment, lock.python, self._settings)
        # The bundle's own, until they are asked; then what was missing where pip looks.
        self._indexes = indexes
        self._missing = ""
        # By name, where a package is not asked for by `==version`.
        self._pins: dict[str, str] = {}

    def use_pip(self) -> None:
        """For what uv cannot do: fetching wheels without installing them."""
        self._tool = choose_pip(self._lock.python, self._settings)

    def probe(self) -> Interpreter:
        """Raises BundleError when the interpreter is gone, or is not the one the lock is for."""
        told: list[str] = []
        command = [str(self._interpreter), "-I", "-S", "-c", _PROBE]
        try:
            result = self._run(command, plain_environment(self._environment), limit_s=_PROBE_S)
            told = [line for line in result.output if line.startswith("probe ")]
            version, executable = json.loads(told[-1].removeprefix("probe "))
        except (OSError, IndexError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else "it does not run"
            raise BundleError(
                f"The Python of which the venv would be made cannot be used:"
                f" {self._interpreter}: {what}.",
                hint="start the daemon again with a Python that is there (`mosaic daemon stop`),"
                " then install again",
                bundle=self._lock.bundle,
            ) from error
        if version.rpartition(".")[0] != self._lock.python:
            raise BundleError(
                f"The lock of {self._lock.bundle} is for Python {self._lock.python},"
                f" and {self._interpreter} is Python {version}.",
                hint=f"start MOSAIC with Python {self._lock.python}",
                bundle=self._lock.bundle,
            )
        return Interpreter(version, executable)

    def check_room(self) -> None:
        fetched = self._lock.fetch_bytes
        needed = int(fetched * _UNPACKED) + _SPARE_BYTES
        if isinstance(self._tool, Pip) and self._from_folder is None:
            needed += int(fetched * _FETCHED_BY_PIP)
        require_room(self._workspace.folder, needed, self._lock.bundle)

    def check_folder(self) -> None:
        if self._from_folder is None:
            return
        missing = missing_wheels(self._from_folder, self._lock.packages)
        if missing:
            named = ", ".join(f"{item.name} {item.version}" for item in missing[:_MOST_NAMED])
            more = len(missing) - _MOST_NAMED
            raise BundleError(
                f"{self._from_folder} has no wheel of {named}"
                + (f" and {more} more." if more > 0 else "."),
                hint=f"make it with `mosaic bundles pack {self._lock.bundle} --to FOLDER`, with"
                f" this version of MOSAIC and Python {self._lock.python}",
                bundle=self._lock.bundle,
            )

    def make_venv(self) -> None:
        self._progress.tell(InstallPhase.FETCHING)
        work = self._workspace
        result = self._run(self._tool.make_venv(self._interpreter, work.venv), self._variables())
        if result.status == 0:
            return
        if any("ensurepip" in line for line in result.output):
            raise BundleError(
                f"{self._interpreter} cannot make venvs: it came without its module ensurepip.",
                hint="install the package of your system that holds it (such as python3-venv), or"
                " uv beside MOSAIC",
                bundle=self._lock.bundle,
            )
        raise self._explain(result)

    def fetch(self) -> None:
        """All wheels into the workspace; with uv, and from a folder, that is part of `install`."""
        if isinstance(self._tool, Uv) or self._from_folder is not None:
            return
        result = self._asking_more(self._fetch_with_pip)
        if result.status:
            raise self._explain(result)

    def install(self) -> None:
        if isinstance(self._tool, Uv):
            result = self._asking_more(self._install_with_uv)
        else:
            result = self._install_with_pip(self._tool)
        if result.status:
            raise self._explain(result)
        if missing := missing_packages(self._workspace.venv, self._lock.packages):
            raise BundleError(
                f"{missing[0].name} {missing[0].version} is not in the venv although the package"
                " tool said that it installed it.",
                hint=f"install {self._lock.bundle} again. All it said: {self._workspace.log}",
                bundle=self._lock.bundle,
            )

    def import_all(self, imports: tuple[str, ...]) -> None:
        """What is imported is compiled on the way, so that the first run need not do it."""
        module = ""
        seen = 0

        def read(line: str) -> None:
            nonlocal module, seen
            if line.startswith("importing "):
                module = line.removeprefix("importing ")
                self._progress.tell(InstallPhase.TESTING, module, seen / len(imports))
                seen += 1

        self._progress.tell(InstallPhase.TESTING)
        if not imports:
            return
        command = [str(self._workspace.venv / "bin" / "python"), "-I", "-c", _IMPORT_TEST]
        environment = plain_environment(self._environment)
        result = self._run([*command, *imports], environment, on_line=read, limit_s=_IMPORT_S)
        if result.status:
            said = [line for line in result.output if line.strip() and not line.startswith(" ")]
            reason = said[-1] if result.status > 0 and said else f"signal {-result.status}"
            raise BundleError(
                f"{self._lock.bundle} was fetched, but {module or 'Python'} cannot be imported on"
                f" this machine: {reason}",
                hint="a library of the system may be missing, or the processor too old for it."
                f" All it said: {self._workspace.log}",
                bundle=self._lock.bundle,
            )

    def _asking_more(self, step: Callable[[], ToolResult]) -> ToolResult:
        """Once more with the bundle's own indexes, if what pip is set up with lacks something.

        Not before: a mirror, a folder of wheels or a machine that is cut off is meant.
        """
        result = step()
        missing = missing_package(result.output) if result.status else ""
        may_ask = self._from_folder is None and may_use_indexes(
            self._tool, self._settings, self._environment
        )
        if not (missing and self._indexes and may_ask):
            return result
        self._missing = missing
        self._settings = replace(self._settings, bundle_indexes=self._indexes)
        self._tool = replace(self._tool, settings=self._settings)
        places = ", ".join(self._settings.bundle_places)
        self._workspace.runner.note(f"{missing} is not there: once more, with {places} as well")
        return step()

    def _fetch_with_pip(self) -> ToolResult:
        assert isinstance(self._tool, Pip)
        fetch = PipFetch(self._lock.packages)
        result = self._fetch_once(self._tool, fetch)
        if result.status and (pins := pins_without_local(result.output)):
            self._pins |= pins
            result = self._fetch_once(self._tool, fetch)
        return result

    def _fetch_once(self, tool: Pip, fetch: Fetch) -> ToolResult:
        work = self._workspace
        self._write_requirements(self._lock.packages)
        return self._follow_fetch(
            tool.fetch(work.venv, work.requirements, work.wheels), fetch, lambda line: None
        )

    def _install_with_uv(self) -> ToolResult:
        assert isinstance(self._tool, Uv)
        tool, work = self._tool, self._workspace
        while True:
            self._write_requirements(self._lock.packages)
            command = tool.install(work.venv, work.requirements, self._from_folder)
            fetch = UvFetch(self._lock.packages)
            result = self._follow_fetch(command, fetch, lambda line: self._tell_building())
            if result.status == 0:
                return result
            pins = pins_with_local(result.output, self._pins)
            if not pins and has_wrong_hash(result.output):
                pins = self._picked_by_pip(wrong_package(result.output))
            if not pins:
                return result
            self._pins |= pins

    def _picked_by_pip(self, name: str) -> dict[str, str]:
        """The file of one package that the lock names, where uv took another.

        Where two indexes have different files of the same version, or a build with a local version
        lies beside, uv takes one of them and compares it; pip takes the one that compares.
        """
        packages = [package for package in self._lock.packages if package.name == name]
        pip = choose_pip(self._lock.python, self._settings)
        work, had = self._workspace, set(self._workspace.wheels.iterdir())
        if not packages or pip.runner is None or self._pins.get(name, "").startswith(" @"):
            return {}
        self._pins.pop(name, None)
        variables = pip.environment(self._environment, work.temporary)
        if self._from_folder is not None:
            variables["PIP_FIND_LINKS"] = self._from_folder.absolute().as_uri()
        command = pip.fetch(work.venv, work.requirements, work.wheels)
        for _ in range(2):
            self._write_requirements(packages)
            result = self._run(command, variables)
            if result.status == 0:
                break
            self._pins |= pins_without_local(result.output)
        found = set(work.wheels.iterdir()) - had
        return {name: f" @ {found.pop().as_uri()}"} if result.status == 0 and found else {}

    def _install_with_pip(self, tool: Pip) -> ToolResult:
        work = self._workspace
        self._write_requirements(self._lock.packages)
        wheels = self._from_folder or work.wheels
        self._tell_building()

        def install() -> ToolResult:
            return self._run(
                tool.install(work.venv, work.requirements, wheels),
                self._variables(),
                on_tick=lambda written: self._tell_building(),
            )

        result = install()
        if result.status and (pins := pins_without_local(result.output)):
            self._pins |= pins
            self._write_requirements(self._lock.packages)
            result = install()
        return result

    def _follow_fetch(
        self, command: list[str], fetch: Fetch, on_building: Callable[[str], None]
    ) -> ToolResult:
        is_building = False

        def read(line: str) -> None:
            nonlocal is_building
            fetch.read(line)
            is_building = is_building or fetch.is_over
            if is_building:
                on_building(line)
            else:
                self._progress.fetched(fetch.item, fetch.done_bytes)

        def look(written: int) -> None:
            if is_building:
                on_building("")
                return
            fetch.look(dict(_growing(self._workspace.temporary)), written)
            self._progress.fetched(fetch.item, fetch.done_bytes)

        return self._run(command, self._variables(), on_line=read, on_tick=look)

    def _tell_building(self) -> None:
        count = len(installed_packages(self._workspace.venv))
        within = count / max(1, len(self._lock.packages))
        self._progress.tell(InstallPhase.BUILDING, within=within)

    def _run(
        self,
        command: list[str],
        environment: Mapping[str, str],
        *,
        on_line: Callable[[str], None] = lambda line: None,
        on_tick: Callable[[int], None] = lambda written: None,
        limit_s: float | None = None,
    ) -> ToolResult:
        # Not in a folder above which somebody keeps settings of uv for a project.
        return self._workspace.runner.run(
            command, environment, Path("/"), on_line=on_line, on_tick=on_tick, limit_s=limit_s
        )

    def _variables(self) -> dict[str, str]:
        if isinstance(self._tool, Uv):
            return self._tool.environment(self._environment, self._from_folder)
        return self._tool.environment(self._environment, self._workspace.temporary)

    def _write_requirements(self, packages: Iterable[LockedPackage]) -> None:
        # pip goes through them in this order, asking all indexes: what may be missing comes first,
        # so that nothing is fetched in vain, and one index that is silent is waited for once.
        known = canonicalize_name(self._missing.partition("==")[0])
        ordered = sorted(packages, key=lambda item: (item.name != known, "+" not in item.version))
        text = requirement_text(ordered, self._pins)
        atomic_write(self._workspace.requirements, text.encode())

    def _explain(self, result: ToolResult) -> BundleError:
        return explain(
            result.output,
            result.status,
            bundle=self._lock.bundle,
            settings=self._settings,
            from_folder=self._from_folder,
            log=self._workspace.log,
            missing=self._missing,
        )


def require_room(folder: Path, needed: int, bundle: str) -> None:
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if free < needed:
        raise BundleError(
            f"{bundle} needs about {_amount(needed)} below {folder.parent}, where"
            f" {_amount(free)} are free.",
            hint="free some room there; `mosaic bundles prune` removes what no run uses",
            bundle=bundle,
        )


def missing_wheels(folder: Path, packages: Iterable[LockedPackage]) -> list[LockedPackage]:
    """Of which there is no file in the folder, by their names only: the tools look at hashes."""
    there = set(_wheels(folder))
    return [
        package
        for package in packages
        if not package.marker
        and not any(
            (package.name, version) in there
            for version in (Version(package.version), Version(Version(package.version).public))
        )
    ]


def _wheels(folder: Path) -> Iterator[tuple[str, Version]]:
    try:
        names = [path.name for path in folder.iterdir() if path.suffix == ".whl"]
    except OSError as error:
        raise BundleError(
            f"{folder} cannot be read: {error.strerror}.",
            hint="name the folder that `mosaic bundles pack` made",
        ) from error
    for name in names:
        try:
            project, version, _, _ = parse_wheel_filename(name)
        except (InvalidWheelFilename, ValueError):
            continue
        yield str(project), version
        yield str(project), Version(version.public)


def _growing(folder: Path) -> Iterator[tuple[str, int]]:
    """Files that pip is fetching, wherever in its temporary folder they are."""
    for parent, _, files in os.walk(folder):
        for name in files:
            try:
                yield name, os.stat(os.path.join(parent, name)).st_size  # noqa: PTH116, PTH118
            except OSError:
                continue


def _amount(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6))} MB"
