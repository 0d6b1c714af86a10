"""The bundles that installed packages announce: what each is, and what it asks for.

A package of bundles is data only: nothing in it is imported to read it.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from mosaic.contracts.bundles import (
    BUNDLES_GROUP,
    Accelerator,
    BundleKind,
    joined_name,
    split_name,
)
from mosaic.errors import BundleError

DEFINITIONS_FILE = "bundles.toml"
REQUIREMENTS_FOLDER = "requirements"
LOCKS_FOLDER = "locks"
# Its bundles come first: nobody else can put theirs in the place of one that comes along.
_OWN_DISTRIBUTION = "mosaic-rl"
# Tools take several addresses with blanks between them, and put variables in the place of a `$…`.
_INDEX = re.compile(r"(?:https://[^\s/$@]+(?:/[^\s$]*)?|file:///[^\s$]*)")


@dataclass(frozen=True)
class BundleDefinition:
    name: str
    kind: BundleKind
    title: str
    about: str  # why somebody would want it, in one line
    requirements: tuple[str, ...]
    # Modules that are imported to see whether an install works.
    imports: tuple[str, ...]
    # Of an add-on: the workers' bundles it is locked with. Of a worker's: others' add-ons.
    joins: tuple[str, ...]
    # Its packages would break what MOSAIC itself runs with, so what is there never counts for it.
    own_python: bool
    folder: Path
    # It has builds of its own for each accelerator; otherwise one lock serves every machine.
    accelerated: bool = False
    # Why there is no lock: a sentence for "py313-cpu", "py313", "rocm" or "any".
    unavailable: Mapping[str, str] = field(default_factory=dict)
    # Package indexes for files that are nowhere else, such as a build of torch by its makers. Asked
    # only for what is missing where pip looks.
    indexes: Mapping[Accelerator, str] = field(default_factory=dict)

    def why_unavailable(self, python: str, accelerator: str) -> str:
        """The sentence that says most precisely why there is no lock; empty: nobody said."""
        tag = python_tag(python)
        keys = (f"{tag}-{accelerator}", tag, accelerator, "any")
        return next((self.unavailable[key] for key in keys if key in self.unavailable), "")


@dataclass(frozen=True)
class BundleShelf:
    """All bundles that are known here."""

    definitions: Mapping[str, BundleDefinition]
    # A package with something wrong is said, and costs nobody the other bundles.
    problems: tuple[str, ...] = ()

    def check_name(self, joined: str) -> tuple[str, ...]:
        """The names that are joined, the worker's first; a BundleError when they cannot be."""
        names = split_name(joined)
        if not names:
            raise BundleError(
                f"{joined!r} cannot be the name of a bundle.",
                hint="Names look like `learner` or `learner+atari`; `mosaic bundles` lists them.",
                bundle=joined,
            )
        for name in names:
            if name not in self.definitions:
                raise self._unknown(name, joined)
        names = split_name(joined_name(names))
        first = self.definitions[names[0]]
        for name in names[1:]:
            self._check_join(first, self.definitions[name], joined)
        return names

    def joined(self, joined: str) -> tuple[BundleDefinition, ...]:
        return tuple(self.definitions[name] for name in self.check_name(joined))

    def _unknown(self, name: str, joined: str) -> BundleError:
        close = difflib.get_close_matches(name, self.definitions, n=3)
        hint = f"Did you mean {' or '.join(close)}? " if close else ""
        return BundleError(
            f"There is no bundle {name!r}.",
            hint=f"{hint}`mosaic bundles` lists all there are.",
            bundle=joined,
        )

    def _check_join(self, first: BundleDefinition, added: BundleDefinition, joined: str) -> None:
        if added.kind is not BundleKind.ADD_ON:
            raise BundleError(
                f"{added.name} is a bundle of its own; only add-ons are joined to {first.name}.",
                hint=f"Install {first.name} and {added.name} one after the other.",
                bundle=joined,
            )
        if added.name in first.joins or first.name in added.joins:
            return
        fitting = [
            item.name
            for item in self.definitions.values()
            if item.kind is BundleKind.ADD_ON
            and (item.name in first.joins or first.name in item.joins)
        ]
        raise BundleError(
            f"The add-on {added.name} is not made for {first.name}.",
            hint=f"{first.name} has {', '.join(fitting) if fitting else 'no add-ons'};"
            f" {added.name} joins {', '.join(added.joins)}.",
            bundle=joined,
        )


def python_tag(python: str) -> str:
    """`py311` of `3.11` and of `3.11.7`."""
    return "py" + "".join(python.split(".")[:2])


def indexes_of(
    definitions: Iterable[BundleDefinition], accelerator: Accelerator
) -> tuple[str, ...]:
    """The indexes that these name for the builds of one accelerator, each once."""
    found = (item.indexes.get(accelerator, "") for item in definitions)
    return tuple(dict.fromkeys(filter(None, found)))


def load_bundles() -> BundleShelf:
    """All bundles of all installed packages that announce some."""
    entries = importlib.metadata.entry_points(group=BUNDLES_GROUP)
    folders: list[tuple[str, Path]] = []
    problems: list[str] = []
    for entry in sorted(entries, key=_order):
        package = entry.dist.name if entry.dist else entry.name
        folder = _folder_of(entry.value)
        if folder is None:
            problems.append(f"{package} announces bundles in {entry.value}, which is not there.")
        else:
            folders.append((package, folder))
    shelf = read_folders(folders)
    return BundleShelf(shelf.definitions, (*problems, *shelf.problems))


def read_folders(folders: Iterable[tuple[str, Path]]) -> BundleShelf:
    """The bundles of these packages, each with the folder that holds its `bundles.toml`."""
    definitions: dict[str, BundleDefinition] = {}
    owners: dict[str, str] = {}
    problems: list[str] = []
    for package, folder in folders:
        for name, found in _read_folder(folder):
            if isinstance(found, str):
                problems.append(f"Bundles of {package}: {found}")
            elif name in definitions:
                problems.append(
                    f"Bundles of {package}: {owners[name]} has a bundle {name} already."
                )
            else:
                definitions[name] = found
                owners[name] = package
    return BundleShelf(MappingProxyType(definitions), tuple(problems))


def _order(entry: importlib.metadata.EntryPoint) -> tuple[bool, str, str]:
    package = canonicalize_name(entry.dist.name) if entry.dist else ""
    return package != _OWN_DISTRIBUTION, package, entry.name


def _folder_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # noqa: BLE001 (the parent of a dotted name is imported: foreign code)
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _read_folder(folder: Path) -> Iterator[tuple[str, BundleDefinition | str]]:
    """Each name with its definition, or with what is wrong with it."""
    try:
        tables = tomllib.loads((folder / DEFINITIONS_FILE).read_text(encoding="utf-8"))
    except OSError as error:
        yield "", f"{DEFINITIONS_FILE} cannot be read ({error.strerror})."
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        yield "", f"{DEFINITIONS_FILE} is not TOML: {error}."
        return
    for name, table in tables.items():
        try:
            yield name, _definition(name, table, folder)
        except (_BadDefinitionError, OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            yield name, f"{name} is left out: {reason}."


class _BadDefinitionError(Exception):
    pass


def _definition(name: str, table: Any, folder: Path) -> BundleDefinition:
    if split_name(name) != (name,):
        raise _BadDefinitionError("a name has small letters, digits and _")
    if not isinstance(table, dict):
        raise _BadDefinitionError(f"[{name}] is not a table")
    read = _Table(table)
    try:
        kind = BundleKind(read.text("kind", BundleKind.WORKER.value))
    except ValueError:
        raise _BadDefinitionError("kind is worker or add-on") from None
    unavailable = table.get("unavailable", {})
    if not isinstance(unavailable, dict):
        raise _BadDefinitionError("unavailable is not a table")
    joins = read.texts("joins")
    if kind is BundleKind.ADD_ON and not joins:
        raise _BadDefinitionError("an add-on says in `joins` which bundles it is made for")
    return BundleDefinition(
        name=name,
        kind=kind,
        title=read.text("title", name),
        about=read.text("about"),
        requirements=_requirements(folder / REQUIREMENTS_FOLDER / f"{name}.txt"),
        imports=read.texts("imports"),
        joins=joins,
        own_python=read.truth("own_python"),
        folder=folder,
        accelerated=read.truth("accelerated"),
        unavailable=MappingProxyType({key: str(value) for key, value in unavailable.items()}),
        indexes=read.indexes("indexes"),
    )


@dataclass(frozen=True)
class _Table:
    """The fields of a definition by what they have to be."""

    values: Mapping[str, Any]

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise _BadDefinitionError(f"{key} is not a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _BadDefinitionError(f"{key} is not a list of texts")
        return tuple(value)

    def truth(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise _BadDefinitionError(f"{key} is neither true nor false")
        return value

    def indexes(self, key: str) -> Mapping[Accelerator, str]:
        table = self.values.get(key, {})
        if not isinstance(table, dict):
            raise _BadDefinitionError(f"{key} is not a table")
        for name, address in table.items():
            if name not in set(Accelerator):
                raise _BadDefinitionError(f"{key}: {name} is not one of {', '.join(Accelerator)}")
            if not isinstance(address, str) or not _INDEX.fullmatch(address):
                raise _BadDefinitionError(
                    f"{key}: {name} is not an address that begins with https:// or file:///"
                )
        return MappingProxyType({Accelerator(name): table[name] for name in table})


def _requirements(path: Path) -> tuple[str, ...]:
    lines = (line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines())
    wanted = tuple(line for line in lines if line)
    for line in wanted:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            raise _BadDefinitionError(f"{line!r} is not a requirement") from None
        if requirement.url:
            raise _BadDefinitionError(f"{line} names an address; a bundle names versions")
    return wanted
