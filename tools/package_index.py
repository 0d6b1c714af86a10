"""What an index offers of a package, by the settings of the user's pip: names, hashes and sizes."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

_PATIENCE_S = 60
_SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
# The newest glibc that may be asked for: uv resolves for the same.
_LEAST_GLIBC_MINOR = 28
_OLD_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


@dataclass(frozen=True)
class PipSettings:
    """The settings that say where packages come from. uv reads none of pip's."""

    values: Mapping[str, str]

    @classmethod
    def read(cls) -> PipSettings:
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        values: dict[str, str] = {}
        ranks: dict[str, int] = {}
        for line in listed.splitlines():
            name, _, quoted = line.partition("=")
            place, _, key = name.rpartition(".")
            rank = ("global", "install", ":env:").index(place) if place in _PLACES else -1
            if rank >= ranks.get(key, 0):
                values[key], ranks[key] = "".join(shlex.split(quoted)), rank
        return cls(values)

    @property
    def index_url(self) -> str:
        return self.values.get("index-url", "")

    @property
    def extra_index_urls(self) -> tuple[str, ...]:
        return tuple(self.values.get("extra-index-url", "").split())

    @property
    def find_links(self) -> tuple[str, ...]:
        return tuple(self.values.get("find-links", "").split())

    @property
    def certificates(self) -> str:
        return self.values.get("cert", "")


_PLACES = ("global", "install", ":env:")


@dataclass(frozen=True)
class IndexFile:
    filename: str
    url: str
    sha256: str
    size: int | None


@dataclass
class PackageIndex:
    """The files of an index, or of folders with wheels, which come first."""

    index_url: str
    folders: tuple[Path, ...] = ()
    certificates: str = ""
    # Sizes by hash, known from earlier: a file with that hash has that size.
    known_sizes: dict[str, int] = field(default_factory=dict)
    _pages: dict[str, list[IndexFile]] = field(default_factory=dict)

    def wheel(self, name: str, version: str, python: str) -> IndexFile:
        """The one that an installer on this Python takes; LookupError when there is none."""
        order = {tag: rank for rank, tag in enumerate(_tags(python))}
        best: tuple[int, IndexFile] | None = None
        for file in [*self._in_folders(name, version), *self._page(name)]:
            rank = _rank(file.filename, name, version, order)
            if rank is not None and (best is None or rank < best[0]):
                best = (rank, file)
        if best is None:
            raise LookupError(f"{name} {version} has no wheel for Python {python}")
        return best[1]

    def size(self, file: IndexFile) -> int:
        if file.size is not None:
            return file.size
        if file.sha256 not in self.known_sizes:
            request = urllib.request.Request(file.url, method="HEAD")
            with self._open(request) as answer:
                self.known_sizes[file.sha256] = int(answer.headers["Content-Length"])
        return self.known_sizes[file.sha256]

    def _in_folders(self, name: str, version: str) -> list[IndexFile]:
        if not Version(version).local:
            return []  # an index has it: a lock names files that anybody can fetch
        return [
            IndexFile(path.name, path.as_uri(), _sha256_of(path), path.stat().st_size)
            for folder in self.folders
            for path in folder.glob("*.whl")
            if canonicalize_name(path.name.partition("-")[0]) == name
        ]

    def _page(self, name: str) -> list[IndexFile]:
        if name not in self._pages:
            url = f"{self.index_url.rstrip('/')}/{name}/"
            accept = f"{_SIMPLE_JSON}, text/html;q=0.5"
            with self._open(urllib.request.Request(url, headers={"Accept": accept})) as answer:
                kind, text = answer.headers.get_content_type(), answer.read().decode()
            read = _read_json if kind.endswith("json") else _read_html
            self._pages[name] = list(read(text, url))
        return self._pages[name]

    def _open(self, request: urllib.request.Request) -> Any:
        context = ssl.create_default_context(cafile=self.certificates or None)
        return urllib.request.urlopen(request, timeout=_PATIENCE_S, context=context)


def _tags(python: str) -> Iterable[Tag]:
    major, minor = (int(part) for part in python.split("."))
    platforms = []
    for glibc in range(_LEAST_GLIBC_MINOR, 4, -1):
        platforms.append(f"manylinux_2_{glibc}_x86_64")
        if glibc in _OLD_NAMES:
            platforms.append(f"{_OLD_NAMES[glibc]}_x86_64")
    platforms.append("linux_x86_64")
    yield from cpython_tags((major, minor), platforms=platforms)
    yield from compatible_tags((major, minor), f"cp{major}{minor}", platforms)


def _rank(filename: str, name: str, version: str, order: Mapping[Tag, int]) -> int | None:
    try:
        wheel_name, wheel_version, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None
    if wheel_name != name or wheel_version != Version(version):
        return None
    return min((order[tag] for tag in tags if tag in order), default=None)


def _read_json(text: str, url: str) -> Iterable[IndexFile]:
    for file in json.loads(text)["files"]:
        if not file.get("yanked"):
            address = urllib.parse.urljoin(url, file["url"])
            yield IndexFile(
                file["filename"], address, file["hashes"].get("sha256", ""), file.get("size")
            )


def _read_html(text: str, url: str) -> Iterable[IndexFile]:
    links = _Links()
    links.feed(text)
    for href in links.found:
        address, _, fragment = urllib.parse.urljoin(url, href).partition("#")
        filename = urllib.parse.unquote(address.rpartition("/")[2])
        checksum = re.search(r"sha256=([0-9a-f]{64})", fragment)
        if checksum:
            yield IndexFile(filename, address, checksum[1], None)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if tag == "a" and href and "data-yanked" not in values:
            self.found.append(href)


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
