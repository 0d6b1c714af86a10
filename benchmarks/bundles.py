"""Bundles: how long until there is a working venv, and what several of them take on the disk.

The baseline of each row is what one would type without MOSAIC, in the same run: `python -m venv`,
then its pip with the same lock. A venv works when the modules of its bundle have been imported, so
both do that. `cold` begins with an empty cache of pip and uv, `warm` with what the cold round left
in it; both caches are folders of this run. Packages come from wherever pip is set up to take them:
the bytes of those that come from an index are fetched in each cold round.

    python -m benchmarks.bundles --bundle learner --rounds 3
    python -m benchmarks.bundles --disk
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Report
from mosaic.bundles.accelerators import accelerator_here
from mosaic.bundles.definitions import BundleShelf, load_bundles
from mosaic.bundles.install_program import ProgramRequest
from mosaic.bundles.locks import Lock, lock_for
from mosaic.bundles.package_tools import TOOL_VARIABLE, find_uv, requirement_text
from mosaic.bundles.venv_store import VenvStore, python_of
from mosaic.contracts.bundles import split_name
from mosaic.paths import Home

BUNDLE = "cleanrl_worker"
FIVE = (
    "cleanrl_worker",
    "cleanrl_worker+atari",
    "cleanrl_worker+mujoco",
    "cleanrl_worker+minigrid",
    "upstream_cleanrl",
)
VERSION = "{}.{}.{}".format(*sys.version_info[:3])
COLD, WARM = "cold", "warm"


@dataclass(frozen=True)
class Wanted:
    """A bundle, as both ways of making a venv need it."""

    lock: Lock
    imports: tuple[str, ...]


class Place:
    """A folder with caches, homes and venvs of this run only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made = 0

    def empty_caches(self) -> None:
        for name in ("pip-cache", "uv-cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def environment(self, tool: str) -> dict[str, str]:
        return {
            **os.environ,
            "PIP_CACHE_DIR": str(self.folder / "pip-cache"),
            "UV_CACHE_DIR": str(self.folder / "uv-cache"),
            TOOL_VARIABLE: tool,
        }

    def fresh(self) -> Path:
        self._made += 1
        made = self.folder / f"made-{self._made}"
        made.mkdir()
        return made


def wanted(shelf: BundleShelf, name: str) -> Wanted:
    names = split_name(name)
    python = VERSION.rpartition(".")[0]
    definitions = [shelf.definitions[part] for part in shelf.check_name(name)]
    imports = dict.fromkeys(module for item in definitions for module in item.imports)
    return Wanted(lock_for(shelf, names, python, accelerator_here()), tuple(imports))


def by_mosaic(what: Wanted, home: Path, environment: Mapping[str, str]) -> Path:
    """As the daemon does it: by the program that it starts."""
    target = VenvStore(Home(home)).path_of(what.lock, VERSION)
    request = ProgramRequest(
        what.lock.text, str(target), sys.executable, imports=what.imports, parent=os.getpid()
    )
    program = [sys.executable, "-m", "mosaic.bundles.install_program"]
    done = subprocess.run(
        program, input=request.to_json(), env=environment, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout.decode().splitlines()[-1:] or done.stderr.decode())
    return target


def by_hand(what: Wanted, folder: Path, environment: Mapping[str, str]) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(requirement_text(what.lock.packages, {}))
    venv = folder / "venv"
    python = str(python_of(venv))
    exact = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(requirements))
    for command in (
        (sys.executable, "-m", "venv", str(venv)),
        (python, "-m", "pip", "install", "--quiet", *exact),
        (python, "-I", "-c", "".join(f"import {name}\n" for name in what.imports)),
    ):
        subprocess.run(command, env=environment, check=True, cwd=folder)
    return venv


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure_time(what: Wanted, tools: Sequence[str], rounds: int, place: Place) -> Report:
    """In turns, so that what else goes on meets all of them."""
    took: dict[tuple[str, str], list[float]] = {}

    def once(way: str, temperature: str) -> None:
        made = place.fresh()
        make = by_hand if way == "hand" else by_mosaic
        environment = place.environment("pip" if way == "hand" else way)
        took.setdefault((way, temperature), []).append(
            seconds(lambda: make(what, made, environment))
        )
        shutil.rmtree(made)

    for _ in range(rounds):
        for way in ("hand", *tools):
            place.empty_caches()
            once(way, COLD)
            once(way, WARM)
    fetched = what.lock.fetch_bytes / 1e6
    report = Report(f"{what.lock.bundle}: {fetched:.0f} MB to fetch, {rounds} rounds")
    for temperature in (COLD, WARM):
        base = statistics.median(took["hand", temperature])
        report.add(f"venv and pip by hand, {temperature}", _shown(took["hand", temperature]), "")
        for tool in tools:
            found = took[tool, temperature]
            ratio = statistics.median(found) / base
            report.add(f"MOSAIC with {tool}, {temperature}", _shown(found), f"{ratio:.2f}")
    return report


def _shown(found: Sequence[float]) -> str:
    median = f"{statistics.median(found):.1f} s"
    return f"{median} ({min(found):.1f} to {max(found):.1f})" if len(found) > 1 else median


def measure_disk(all_wanted: Sequence[Wanted], tool: str, place: Place) -> Report:
    """All in one home, as they would be; and what each takes alone."""
    home = place.fresh()
    seen: dict[tuple[int, int], int] = {}
    alone_in_all = 0
    report = Report(f"{len(all_wanted)} bundles with {tool}: bytes on the disk, links counted once")
    for what in all_wanted:
        files = occupied(by_mosaic(what, home, place.environment(tool)))
        alone, before = sum(files.values()), sum(seen.values())
        seen |= files
        alone_in_all += alone
        added = sum(seen.values()) - before
        report.add(what.lock.bundle, f"{alone / 1e6:,.0f} MB, adds {added / 1e6:,.0f} MB", "")
    ratio = f"{sum(seen.values()) / alone_in_all:.2f} of their sum"
    total = f"{sum(seen.values()) / 1e6:,.0f} MB of {alone_in_all / 1e6:,.0f} MB"
    report.add("all of them", total, ratio)
    # uv's cache holds the same files once more under other names, on one disk at no cost.
    with_cache = seen | occupied(place.folder / f"{tool}-cache")
    report.add("and the cache", f"{sum(with_cache.values()) / 1e6:,.0f} MB", "")
    return report


def occupied(folder: Path) -> dict[tuple[int, int], int]:
    """By what it is, what each file and folder below takes."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(os.path.join(parent, name))
            found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", default=BUNDLE)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--disk", nargs="*", metavar="BUNDLE", help="what several take instead")
    parser.add_argument("--in", dest="folder", type=Path, help="for a disk other than /tmp")
    arguments = parser.parse_args()
    shelf = load_bundles()
    tools = ["pip", *(["uv"] if find_uv(os.environ) else [])]
    with tempfile.TemporaryDirectory(prefix="bundles-", dir=arguments.folder) as folder:
        place = Place(Path(folder))
        if arguments.disk is None:
            what = wanted(shelf, arguments.bundle)
            measure_time(what, tools, arguments.rounds, place).print()
            return
        several = [wanted(shelf, name) for name in arguments.disk or FIVE]
        for tool in tools:
            place.empty_caches()
            measure_disk(several, tool, place).print()
            for made in place.folder.glob("made-*"):
                shutil.rmtree(made)


if __name__ == "__main__":
    main()
