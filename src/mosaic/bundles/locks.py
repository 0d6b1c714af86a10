"""Locks: the exact files a bundle consists of, for one Python and one accelerator.

A lock is a file of requirements with one hash for each package, as pip and uv read them, and says
above each how many bytes it is. Its header holds the checksum of what follows, so that an edit by
hand is seen. The locks of a worker's add-ons agree on every version: `learner+atari+video` is what
`learner+atari` and `learner+video` hold together.
"""

from __future__ import annotations

import hashlib
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from mosaic.bundles.definitions import LOCKS_FOLDER, BundleDefinition, BundleShelf, python_tag
from mosaic.contracts.bundles import Accelerator, joined_name
from mosaic.errors import BundleError

# What locks are made for; others may come.
LOCKED_PLATFORM = "linux-x86_64"
_HEADER = ("bundle", "python", "accelerator", "content")
_HEADER_LINE = re.compile(r"# (\w+): (\S+)")
_SIZE_LINE = re.compile(r"# size: (\d+)")
_PACKAGE_LINE = re.compile(r"([A-Za-z0-9][\w.-]*)==([\w.!+-]+)(?: ; ([^\\]+?))? \\")
_HASH_LINE = re.compile(r"    --hash=(sha256:[0-9a-f]{64})( \\)?")


@dataclass(frozen=True)
class LockedPackage:
    name: str  # in its canonical form
    version: str
    hashes: tuple[str, ...]  # "sha256:…"
    size: int  # bytes of the file that is fetched
    marker: str = ""


@dataclass(frozen=True)
class Lock:
    bundle: str  # or several joined
    python: str  # "3.11"
    accelerator: Accelerator
    packages: tuple[LockedPackage, ...]
    text: str

    @property
    def hash(self) -> str:
        """Of what it holds: two locks with the same packages have the same."""
        return content_hash(_body(self.packages))

    @property
    def fetch_bytes(self) -> int:
        return sum(package.size for package in self.packages)

    @property
    def local_builds(self) -> tuple[str, ...]:
        """What no public index but its maker's has: `torch==2.13.0+cpu`."""
        return tuple(
            f"{package.name}=={package.version}"
            for package in self.packages
            if "+" in package.version
        )


def make_lock(
    bundle: str, python: str, accelerator: Accelerator, packages: Iterable[LockedPackage]
) -> Lock:
    """A lock with these packages in the order and form that make equal locks equal texts."""
    ordered = tuple(sorted(packages, key=lambda package: package.name))
    body = _body(ordered)
    values = (bundle, python, accelerator.value, content_hash(body))
    header = "".join(f"# {key}: {value}\n" for key, value in zip(_HEADER, values, strict=True))
    return Lock(bundle, python, accelerator, ordered, header + body)


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_lock(text: str, source: str) -> Lock:
    """The lock in this text; `source` is the file's name in what is said about it."""
    lines = text.splitlines(keepends=True)
    header = _read_header(lines, source)
    body = "".join(lines[len(_HEADER) :])
    if content_hash(body) != header["content"]:
        raise BundleError(
            f"{source} was changed by hand: what is below its header does not match"
            " the checksum in it.",
            hint="Put the file back as it came with its package (installing the package again"
            " does). A lock is never edited: change what the bundle requires and make a new one.",
            bundle=header["bundle"],
        )
    try:
        accelerator = Accelerator(header["accelerator"])
    except ValueError:
        raise _malformed(source, 3, "no accelerator has that name", header["bundle"]) from None
    packages = tuple(_read_packages(lines, source, header["bundle"]))
    names = [package.name for package in packages]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise _malformed(source, 0, f"{', '.join(sorted(doubled))} twice", header["bundle"])
    return Lock(header["bundle"], header["python"], accelerator, packages, text)


def lock_for(
    shelf: BundleShelf,
    names: tuple[str, ...],
    python: str,
    accelerator: Accelerator,
    *,
    platform: str = "",
) -> Lock:
    """The lock of these bundles together; its accelerator is the CPU where none makes a difference.

    A BundleError says why there is none, and what to do.
    """
    bundle = joined_name(names)
    ordered = shelf.joined(bundle)
    if (platform or sysconfig.get_platform()) != LOCKED_PLATFORM:
        raise BundleError(
            f"{bundle} has no lock for this machine: there are locks for Linux on x86-64 only.",
            hint="Install what it requires beside MOSAIC with pip; then it counts as present.",
            bundle=bundle,
        )
    python = ".".join(python.split(".")[:2])
    builds = accelerator if any(item.accelerated for item in ordered) else Accelerator.CPU
    worker, *added = ordered
    found = [
        _file_lock(shelf, (worker, *pair), bundle, python, builds)
        for pair in ([(item,) for item in added] if added else [()])
    ]
    return found[0] if len(found) == 1 else _union(bundle, found)


def locked_variants(definitions: Iterable[BundleDefinition]) -> tuple[tuple[str, Accelerator], ...]:
    """For which versions of Python and accelerators these have a lock together."""
    worker, *added = definitions
    sets = []
    for pair in [(item,) for item in added] if added else [()]:
        name = joined_name(item.name for item in (worker, *pair))
        pattern = re.compile(rf"{re.escape(name)}-py(\d)(\d+)-(\w+)\.txt")
        sets.append(
            {
                (f"{match[1]}.{match[2]}", Accelerator(match[3]))
                for definition in (*pair, worker)
                for path in (definition.folder / LOCKS_FOLDER).glob(f"{name}-py*.txt")
                if (match := pattern.fullmatch(path.name)) and match[3] in set(Accelerator)
            }
        )
    return tuple(sorted(set.intersection(*sets), key=lambda item: (_numbers(item[0]), item[1])))


def why_no_lock(
    definitions: Sequence[BundleDefinition], python: str, accelerator: Accelerator
) -> str:
    """Why these have none together, without a full stop; empty where there is one, even if it
    cannot be read."""
    short = ".".join(python.split(".")[:2])
    if (short, accelerator) in locked_variants(definitions):
        return ""
    return _reason(definitions, short, accelerator) or (
        f"there is no lock of the {accelerator.value} build for Python {short}"
    )


def lock_path(definition: BundleDefinition, name: str, python: str, accelerator: str) -> Path:
    return definition.folder / LOCKS_FOLDER / f"{name}-{python_tag(python)}-{accelerator}.txt"


def _file_lock(
    shelf: BundleShelf,
    definitions: tuple[BundleDefinition, ...],
    wanted: str,
    python: str,
    accelerator: Accelerator,
) -> Lock:
    """Of a worker, or of a worker with one add-on: whichever of the two packages has the file."""
    name = joined_name(definition.name for definition in definitions)
    for definition in reversed(definitions):
        path = lock_path(definition, name, python, accelerator)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise BundleError(
                f"The lock {path.name} cannot be read: {error}.",
                hint="Install the package that it came with again.",
                bundle=wanted,
            ) from error
        lock = read_lock(text, str(path))
        if (lock.bundle, lock.python, lock.accelerator) != (name, python, accelerator):
            raise BundleError(
                f"{path} says that it is the lock of {lock.bundle} for Python {lock.python}"
                f" ({lock.accelerator.value}), which is not what its name says.",
                hint="Install the package that it came with again.",
                bundle=wanted,
            )
        return lock
    raise _no_lock(shelf, definitions, wanted, python, accelerator)


def _no_lock(
    shelf: BundleShelf,
    definitions: tuple[BundleDefinition, ...],
    wanted: str,
    python: str,
    accelerator: Accelerator,
) -> BundleError:
    name = joined_name(definition.name for definition in definitions)
    variants = locked_variants(definitions)
    if len(definitions) == 1 and definitions[0].joins and not variants:
        whole = [joined_name((worker, name)) for worker in definitions[0].joins]
        return BundleError(
            f"{name} is an add-on, which is installed together with what it is for.",
            hint=" or ".join(f"`mosaic bundles install {one}`" for one in whole),
            bundle=wanted,
        )
    reason = _reason(definitions, python, accelerator)
    builds = f" ({accelerator.value} builds)" if any(d.accelerated for d in definitions) else ""
    message = f"{name} cannot be installed for Python {python}{builds}"
    here = [item for version, item in variants if version == python]
    others = list(dict.fromkeys(version for version, item in variants if item is accelerator))
    ways = []
    if here:
        sizes = [
            f"`--accelerator {item.value}`"
            f" ({_amount(_file_lock(shelf, definitions, wanted, python, item).fetch_bytes)})"
            for item in here
        ]
        ways.append(f"take {' or '.join(sizes)}")
    if others:
        ways.append(f"start MOSAIC with Python {' or '.join(others)}")
    hint = " or ".join(ways) or "Install what it needs into a venv of your own and name its Python"
    return BundleError(
        f"{message}: {reason}." if reason else f"{message}: it has no lock for that.",
        hint=hint[0].upper() + hint[1:] + ".",
        bundle=wanted,
    )


def _reason(definitions: Sequence[BundleDefinition], python: str, accelerator: Accelerator) -> str:
    """What the bundles say themselves; empty where they say nothing."""
    reasons = (item.why_unavailable(python, accelerator.value) for item in reversed(definitions))
    return next((text.removesuffix(".") for text in reasons if text), "")


def _union(bundle: str, locks: list[Lock]) -> Lock:
    packages: dict[str, LockedPackage] = {}
    for lock in locks:
        for package in lock.packages:
            known = packages.setdefault(package.name, package)
            if (known.version, known.hashes) != (package.version, package.hashes):
                raise BundleError(
                    f"{bundle} cannot be installed: its add-ons are locked with"
                    f" {package.name} {known.version} and {package.version}.",
                    hint="Install them one by one, or ask whoever made the locks for ones that"
                    " agree.",
                    bundle=bundle,
                )
    return make_lock(bundle, locks[0].python, locks[0].accelerator, packages.values())


def _body(packages: Iterable[LockedPackage]) -> str:
    return "".join(_entry(package) for package in packages)


def _entry(package: LockedPackage) -> str:
    marker = f" ; {package.marker}" if package.marker else ""
    lines = [f"# size: {package.size}", f"{package.name}=={package.version}{marker} \\"]
    lines += [f"    --hash={value} \\" for value in package.hashes]
    return "\n".join(lines).removesuffix(" \\") + "\n"


def _read_header(lines: list[str], source: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, key in enumerate(_HEADER, 1):
        line = lines[number - 1].rstrip("\n") if number <= len(lines) else ""
        match = _HEADER_LINE.fullmatch(line)
        if match is None or match[1] != key:
            raise _malformed(source, number, f"`# {key}: …` is missing", values.get("bundle", ""))
        values[key] = match[2]
    return values


def _read_packages(lines: list[str], source: str, bundle: str) -> Iterator[LockedPackage]:
    number = len(_HEADER)

    def next_match(pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        nonlocal number
        number += 1
        line = lines[number - 1].rstrip("\n") if number <= len(lines) else ""
        match = pattern.fullmatch(line)
        if match is None:
            raise _malformed(source, number, f"{expected} is missing", bundle)
        return match

    while number < len(lines):
        size = int(next_match(_SIZE_LINE, "`# size: …`")[1])
        package = next_match(_PACKAGE_LINE, "`name==version \\`")
        hashes = []
        more = True
        while more:
            line = next_match(_HASH_LINE, "`--hash=sha256:…`")
            hashes.append(line[1])
            more = line[2] is not None
        yield LockedPackage(
            canonicalize_name(package[1]), package[2], tuple(hashes), size, package[3] or ""
        )


def _malformed(source: str, line: int, problem: str, bundle: str) -> BundleError:
    place = f"{source}, line {line}" if line else source
    return BundleError(
        f"{place} is not the line of a lock: {problem}." if line else f"{place} has {problem}.",
        hint="Install the package that it came with again; a lock is never written by hand.",
        bundle=bundle,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _amount(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6))} MB"
