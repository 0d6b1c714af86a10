"""Makes the locks of the bundles that come along; with --check: says what is wrong with them.

A worker's bundle is resolved together with all its add-ons, and each of its locks keeps to the
versions that were found: any of the add-ons can then share a venv. Versions that are verified
together (`constraints.txt`) are taken where nothing speaks against them. Needs `uv`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from package_index import PackageIndex, PipSettings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mosaic.bundles.definitions import (
    DEFINITIONS_FILE,
    LOCKS_FOLDER,
    BundleDefinition,
    BundleShelf,
    read_folders,
)
from mosaic.bundles.locks import Lock, LockedPackage, lock_path, make_lock, read_lock
from mosaic.contracts.bundles import Accelerator, BundleKind, joined_name
from mosaic.errors import BundleError

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "src" / "mosaic_bundles"
PYTHONS = ("3.11", "3.12", "3.13")
_PUBLIC_INDEX = "https://pypi.org/simple"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
# The builds that come from there are nowhere else.
_MAKERS_INDEX = re.compile(r'"https://download\.pytorch\.org/whl/cpu"')
# An address of any kind, or a host with a port or a path.
_ADDRESS = re.compile(r"\w+://|--(?:extra-)?index-url|--find-links|\b[\w-]+\.[a-z]{2,}[:/]")


@dataclass(frozen=True)
class Variant:
    """A worker's bundle for one Python and one accelerator, with the add-ons it can have there."""

    worker: BundleDefinition
    add_ons: tuple[BundleDefinition, ...]
    python: str
    accelerator: Accelerator

    @property
    def name(self) -> str:
        return f"{self.worker.name} for Python {self.python} ({self.accelerator.value})"

    @property
    def joins(self) -> Iterator[tuple[BundleDefinition, ...]]:
        yield (self.worker,)
        for add_on in self.add_ons:
            yield (self.worker, add_on)


def shelf_here() -> BundleShelf:
    return read_folders([("mosaic-rl", FOLDER)])


def variants(shelf: BundleShelf) -> Iterator[Variant]:
    """All that should have locks: those of which no sentence says why they have none."""
    for worker in shelf.definitions.values():
        if worker.kind is not BundleKind.WORKER:
            continue
        kinds = tuple(Accelerator) if worker.accelerated else (Accelerator.CPU,)
        for python in PYTHONS:
            for accelerator in kinds:
                if worker.why_unavailable(python, accelerator.value):
                    continue
                add_ons = tuple(
                    item
                    for item in shelf.definitions.values()
                    if item.kind is BundleKind.ADD_ON
                    and worker.name in item.joins
                    and not item.why_unavailable(python, accelerator.value)
                )
                yield Variant(worker, add_ons, python, accelerator)


# Making


@dataclass(frozen=True)
class Resolver:
    uv: str
    index_url: str
    find_links: tuple[str, ...]
    certificates: str
    # Per bundle and accelerator: requirements that choose the builds.
    builds: Mapping[str, Mapping[str, list[str]]]
    preferred: str  # pins, for what leaves a choice

    def pins(self, variant: Variant, of: Iterable[BundleDefinition], held: str) -> dict[str, str]:
        """Name and version of everything that these bundles need together."""
        with tempfile.TemporaryDirectory() as folder:
            wanted, constraints, output = (Path(folder, name) for name in ("in", "held", "out"))
            lines = [line for definition in of for line in definition.requirements]
            lines += self.builds.get(variant.worker.name, {}).get(variant.accelerator.value, [])
            wanted.write_text("\n".join(lines) + "\n")
            constraints.write_text(held)
            # uv keeps to the versions in the file that it overwrites, as far as they fit.
            output.write_text(self.preferred)
            command = [self.uv, "pip", "compile", str(wanted), "-o", str(output), "-q"]
            command += [
                "-c",
                str(constraints),
                "--index-url",
                self.index_url,
                "--no-emit-index-url",
            ]
            command += ["--python-version", variant.python, "--only-binary", ":all:"]
            command += ["--python-platform", "x86_64-unknown-linux-gnu"]
            command += ["--no-annotate", "--no-header", "--no-config"]
            # Wheels in a folder are local builds for the CPU (torch's).
            if variant.accelerator is Accelerator.CPU:
                command += [part for link in self.find_links for part in ("--find-links", link)]
            environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
            if self.certificates:
                environment.setdefault("SSL_CERT_FILE", self.certificates)
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
            if done.returncode:
                raise SystemExit(f"{variant.name} cannot be resolved:\n{done.stderr}")
            return {
                canonicalize_name(name): version
                for name, version in _PIN.findall(output.read_text())
            }


def make_locks(shelf: BundleShelf, only: set[str], resolver: Resolver, index: PackageIndex) -> None:
    for variant in variants(shelf):
        if only and variant.worker.name not in only:
            continue
        together = resolver.pins(variant, (variant.worker, *variant.add_ons), "")
        held = "".join(f"{name}=={version}\n" for name, version in together.items())
        for definitions in variant.joins:
            lock = _lock(variant, definitions, resolver.pins(variant, definitions, held), index)
            path = lock_path(definitions[-1], lock.bundle, lock.python, lock.accelerator.value)
            path.parent.mkdir(exist_ok=True)
            path.write_text(lock.text)
            count, size = len(lock.packages), lock.fetch_bytes / 1e6
            sys.stdout.write(f"{path.name}: {count} packages, {size:.0f} MB\n")
            sys.stdout.flush()


def _lock(
    variant: Variant,
    definitions: tuple[BundleDefinition, ...],
    pins: Mapping[str, str],
    index: PackageIndex,
) -> Lock:
    def locked(item: tuple[str, str]) -> LockedPackage:
        file = index.wheel(*item, variant.python)
        return LockedPackage(*item, (f"sha256:{file.sha256}",), index.size(file))

    with ThreadPoolExecutor(8) as pool:
        packages = list(pool.map(locked, pins.items()))
    name = joined_name(definition.name for definition in definitions)
    return make_lock(name, variant.python, variant.accelerator, packages)


# Checking


def faults(shelf: BundleShelf) -> Iterator[str]:
    """What is wrong with definitions and locks, each as a sentence; needs no network."""
    yield from shelf.problems
    expected: set[Path] = set()
    for variant in variants(shelf):
        locks: list[Lock] = []
        for definitions in variant.joins:
            name = joined_name(definition.name for definition in definitions)
            path = lock_path(definitions[-1], name, variant.python, variant.accelerator.value)
            expected.add(path)
            try:
                lock = read_lock(path.read_text(), path.name)
            except FileNotFoundError:
                yield f"{path.name} is not there, and no sentence in bundles.toml says why."
            except BundleError as error:
                yield error.message
            else:
                locks.append(lock)
                if (lock.bundle, lock.python, lock.accelerator) != (
                    name,
                    variant.python,
                    variant.accelerator,
                ):
                    yield f"{path.name}: its header is another lock's."
                yield from unmet_requirements(lock, definitions)
                yield from incomplete_packages(lock)
        yield from disagreements(locks)
    yield from (
        f"{path.name}: bundles.toml knows no such lock, or says that there is none."
        for path in sorted((FOLDER / LOCKS_FOLDER).glob("*"))
        if path not in expected
    )
    yield from addresses(FOLDER)


def unmet_requirements(lock: Lock, definitions: Iterable[BundleDefinition]) -> Iterator[str]:
    versions = {package.name: package.version for package in lock.packages}
    for definition in definitions:
        for text in definition.requirements:
            wanted = Requirement(text)
            if wanted.marker and not wanted.marker.evaluate({"python_version": lock.python}):
                continue
            version = versions.get(canonicalize_name(wanted.name))
            if version is None or not wanted.specifier.contains(version, prereleases=True):
                yield f"{_label(lock)}: {definition.name} wants {text}, there is {version}."


def incomplete_packages(lock: Lock) -> Iterator[str]:
    for package in lock.packages:
        if not package.hashes or package.size <= 0:
            yield f"{_label(lock)}: {package.name} has no hash or no size."


def disagreements(locks: Iterable[Lock]) -> Iterator[str]:
    """Packages that the locks of one worker have in two versions: these could not be joined."""
    known: dict[str, tuple[LockedPackage, Lock]] = {}
    for lock in locks:
        for package in lock.packages:
            other, first = known.setdefault(package.name, (package, lock))
            if other != package:
                yield f"{_label(lock)}: another {package.name} than in {_label(first)}."


def addresses(folder: Path) -> Iterator[str]:
    """Lines that name a server: where packages come from is each user's own setting.

    All but the index of PyTorch, which is asked for what is nowhere else.
    """
    for path in [*sorted(folder.rglob("*.txt")), folder / DEFINITIONS_FILE]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if _ADDRESS.search(_MAKERS_INDEX.sub("", line)):
                yield f"{path.name}, line {number} names an address."


def _label(lock: Lock) -> str:
    return f"{lock.bundle} for Python {lock.python} ({lock.accelerator.value})"


def _known_sizes() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in (FOLDER / LOCKS_FOLDER).glob("*.txt"):
        try:
            lock = read_lock(path.read_text(), path.name)
        except BundleError:
            continue
        for package in lock.packages:
            found[package.hashes[0].removeprefix("sha256:")] = package.size
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundles", nargs="*", help="of workers; all without it")
    parser.add_argument("--check", action="store_true", help="change nothing, fetch nothing")
    parser.add_argument("--uv", default=shutil.which("uv"), help="the program")
    options = parser.parse_args()
    shelf = shelf_here()
    if not options.check:
        if not options.uv:
            parser.error("uv is not on the path; name it with --uv")
        pip = PipSettings.read()
        tables = tomllib.loads((FOLDER / DEFINITIONS_FILE).read_text())
        index_url = pip.index_url or _PUBLIC_INDEX
        folders = tuple(Path(link) for link in pip.find_links if Path(link).is_dir())
        resolver = Resolver(
            options.uv,
            index_url,
            pip.find_links,
            pip.certificates,
            {name: table.get("builds", {}) for name, table in tables.items()},
            (ROOT / "constraints.txt").read_text(),
        )
        index = PackageIndex(index_url, folders, pip.certificates, _known_sizes())
        make_locks(shelf, set(options.bundles), resolver, index)
    found = list(faults(shelf))
    for fault in found:
        sys.stdout.write(f"{fault}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
