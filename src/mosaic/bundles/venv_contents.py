"""What is in a venv: its packages, whether their files are as they came, and what they occupy."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from mosaic.bundles.locks import LockedPackage
from mosaic.files import atomic_write

_DIST_INFOS = "lib/python*/site-packages/*.dist-info"
# Of programs that are no scripts, nothing is rewritten.
_LARGEST_SCRIPT = 2**20


def missing_packages(venv: Path, packages: Iterable[LockedPackage]) -> list[LockedPackage]:
    """Of those that every Python needs, which are not in it with their very version."""
    installed = installed_packages(venv)
    return [
        package
        for package in packages
        if not package.marker and installed.get(package.name) != _public(package.version)
    ]


def installed_packages(venv: Path) -> dict[str, str]:
    """Canonical names, and versions without what is local in them."""
    found = {}
    for folder in venv.glob(_DIST_INFOS):
        name, _, version = folder.name.removesuffix(".dist-info").partition("-")
        with contextlib.suppress(InvalidName, InvalidVersion):
            found[str(canonicalize_name(name))] = _public(version)
    return found


def _public(version: str) -> str:
    return Version(version).public


def file_problems(venv: Path) -> Iterator[str]:
    for record in sorted(venv.glob(f"{_DIST_INFOS}/RECORD")):
        site = record.parent.parent
        try:
            lines = list(csv.reader(record.read_text(encoding="utf-8").splitlines()))
        except (OSError, ValueError, csv.Error) as error:
            yield f"{record.relative_to(venv)} cannot be read: {error}"
            continue
        for line in lines:
            # Without a hash: the record itself, and compiled files, which Python makes as it likes.
            if len(line) == 3 and line[1]:
                yield from _file_problem(venv, site / line[0], line[1])


def _file_problem(venv: Path, file: Path, recorded: str) -> Iterator[str]:
    shown = os.path.relpath(file, venv)
    algorithm, _, expected = recorded.partition("=")
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, algorithm).digest()
    except FileNotFoundError:
        yield f"{shown} is missing"
    except (OSError, ValueError) as error:
        yield f"{shown} cannot be read: {error}"
    else:
        if _digest(digest) != expected:
            yield f"{shown} was changed"


def retarget(venv: Path, final: Path) -> None:
    """Have scripts and settings name the place the venv is about to be renamed to.

    Files are replaced, never written into: they may be links to those in a cache.
    """
    old, new = os.fsencode(venv), os.fsencode(final)
    changed = {}
    for file in (venv / "pyvenv.cfg", *sorted((venv / "bin").iterdir())):
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST_SCRIPT:
            continue
        data = file.read_bytes()
        if old in data:
            changed[file.resolve()] = data.replace(old, new)
            atomic_write(file, changed[file.resolve()], stat.S_IMODE(file.stat().st_mode))
    if changed:
        for record in venv.glob(f"{_DIST_INFOS}/RECORD"):
            _correct_record(record, changed)


def _correct_record(record: Path, changed: Mapping[Path, bytes]) -> None:
    lines = list(csv.reader(record.read_text(encoding="utf-8").splitlines()))
    is_other = False
    for line in lines:
        data = changed.get((record.parent.parent / line[0]).resolve()) if line else None
        if data is not None and len(line) == 3 and line[1]:
            line[1:] = [f"sha256={_digest(hashlib.sha256(data).digest())}", str(len(data))]
            is_other = True
    if is_other:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(lines)
        atomic_write(record, text.getvalue().encode(), stat.S_IMODE(record.stat().st_mode))


def _digest(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def disk_bytes(folder: Path) -> int:
    """What its files occupy; one with several names in it counts once."""
    return sum({file: size for file, size, _ in _files(folder)}.values())


def linked_files(folder: Path) -> Iterator[tuple[tuple[int, int], int]]:
    return ((file, size) for file, size, names in _files(folder) if names > 1)


def _files(folder: Path) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Of each regular file: what it is, what it occupies, and how many names it has."""
    pending = [str(folder)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield (status.st_dev, status.st_ino), status.st_blocks * 512, status.st_nlink
