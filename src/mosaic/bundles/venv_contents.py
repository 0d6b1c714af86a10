"""What is in a venv: its packages, whether their files are as they came, and what they occupy."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from mosaic.bundles.locks import LockedPackage

_DIST_INFOS = "lib/python*/site-packages/*.dist-info"


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
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected:
            yield f"{shown} was changed"


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
