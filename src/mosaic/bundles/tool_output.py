"""What uv and pip say while they work: how far they are, and why they gave up.

Neither has an output for programs. Their lines name what is being fetched; how much of it has come
is seen elsewhere (`growing`), and how much there is in all, the lock knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from packaging.utils import canonicalize_name

from mosaic.bundles.locks import LockedPackage
from mosaic.bundles.package_tools import IndexSettings
from mosaic.errors import BundleError

# Bytes that uv writes for each that it fetches: it unpacks as they come.
_UNPACKED = 3.0
# Of what is under way, an estimate never says that all has come.
_MOST_ESTIMATED = 0.95

_PIP_BEGINS = re.compile(r"\s*Downloading (\S+)")
_PIP_HAS = re.compile(r"\s*(?:Using cached|Processing|Saved|File was already downloaded) (\S+)")
_UV_CACHED = re.compile(r".*\balready cached: ([A-Za-z0-9][\w.-]*?)==")
_UV_BEGINS = re.compile(r"\s*Downloading ([A-Za-z0-9][\w.-]*) \(")
_UV_HAS = re.compile(r"\s*Downloaded ([A-Za-z0-9][\w.-]*)$")
_UV_HAS_ALL = re.compile(r"(?:Prepared|Installed|Would download) \d+ packages? ")


class Fetch(Protocol):
    """How much of a lock's files has come; never goes back."""

    item: str
    done_bytes: int
    # All of it is there, and being unpacked.
    is_over: bool

    def read(self, line: str) -> None:
        """A line of the tool's output."""

    def look(self, growing: Mapping[str, int], written: int) -> None:
        """`growing`: files that it fetches by name with their sizes; `written`: by it in all."""


class PipFetch:
    """pip fetches one file after the other."""

    def __init__(self, packages: Sequence[LockedPackage]) -> None:
        self._sizes = {package.name: package.size for package in packages}
        self._done: set[str] = set()
        self.is_over = False
        self.item = ""
        self.done_bytes = 0

    def read(self, line: str) -> None:
        begins, has = _PIP_BEGINS.match(line), _PIP_HAS.match(line)
        name = _package_of(begins[1] if begins else has[1] if has else "")
        if name not in self._sizes:
            return
        if begins:
            if self.item and self.item != name:
                self._done.add(self.item)
            self.item = name
        else:
            self._done.add(name)
        self._count(0)

    def look(self, growing: Mapping[str, int], written: int) -> None:
        sizes = [size for file, size in growing.items() if _package_of(file) == self.item]
        self._count(max(sizes, default=0))

    def _count(self, of_item: int) -> None:
        done = sum(self._sizes[name] for name in self._done)
        if self.item and self.item not in self._done:
            done += min(of_item, self._sizes[self.item])
        self.done_bytes = max(self.done_bytes, done)


class UvFetch:
    """uv fetches many files at once and tells of the larger ones."""

    def __init__(self, packages: Sequence[LockedPackage]) -> None:
        self._sizes = {package.name: package.size for package in packages}
        self._done: set[str] = set()
        self._cached = 0
        self._active: dict[str, int] = {}
        self.is_over = False
        self.item = ""
        self.done_bytes = 0

    def read(self, line: str) -> None:
        if cached := _UV_CACHED.match(line):
            name = canonicalize_name(cached[1])
            if name in self._sizes and name not in self._done:
                self._done.add(name)
                self._cached += self._sizes[name]
        elif begins := _UV_BEGINS.match(line):
            name = canonicalize_name(begins[1])
            self._active[name] = self._sizes.get(name, 0)
        elif has := _UV_HAS.match(line):
            name = canonicalize_name(has[1])
            self._active.pop(name, None)
            if name in self._sizes:
                self._done.add(name)
        elif _UV_HAS_ALL.match(line):
            self.is_over = True
            self._active.clear()
            self._done.update(self._sizes)
        # The largest takes longest.
        self.item = max(self._active, key=lambda name: self._active[name], default=self.item)
        self._count(0)

    def look(self, growing: Mapping[str, int], written: int) -> None:
        self._count(written)

    def _count(self, written: int) -> None:
        done = sum(self._sizes[name] for name in self._done)
        open_bytes = sum(self._sizes.values()) - done
        fetched = min(written / _UNPACKED, (done - self._cached) + _MOST_ESTIMATED * open_bytes)
        self.done_bytes = max(self.done_bytes, done, self._cached + int(fetched))


def _package_of(place: str) -> str:
    """The canonical name of the package in a wheel's path or address; empty for other files."""
    file = unquote(place.partition("?")[0].partition("#")[0].rpartition("/")[2])
    return str(canonicalize_name(file.partition("-")[0])) if file.endswith(".whl") else ""


# -- Why it failed

_FULL = re.compile(
    r"No space left on device|os error 28\b|Disk quota exceeded|File too large", re.I
)
_WRONG_HASH = re.compile(r"DO NOT MATCH THE HASHES|Hash mismatch for|no hashes were provided", re.I)
_PIP_WRONG_HASH = re.compile(r"^\s+([A-Za-z0-9][\w.-]*=?==[\w.!+-]+)(?: from \S+)?.*:$")
_UV_WRONG = re.compile(r"`([A-Za-z0-9][\w.-]*==[\w.!+-]+)`")
_UNREACHABLE = re.compile(
    r"Connection refused|Failed to establish a new connection|Max retries exceeded"
    r"|connection broken by|error sending request|dns error|Name or service not known"
    r"|Temporary failure in name resolution|Network is unreachable|No route to host"
    r"|timed out|Connection reset|operation timed out|Tunnel connection failed|ProxyError",
    re.I,
)
_PIP_RETRIES = re.compile(r"connection broken by (.+?)(?:: /\S*)?$")
_CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|invalid peer certificate|UnknownIssuer")
_REFUSED = re.compile(r"\b(?:401|403|407)\b.*(?:Unauthorized|Forbidden|Client Error|Proxy)", re.I)
_PIP_MISSING = re.compile(r"No matching distribution found for ([^\s;(]+)")
_UV_MISSING = re.compile(
    r"there (?:is|are) no versions? of ([\w.-]+==[\w.!+-]+)|([\w.-]+) was not found in the"
    r"|([\w.-]+==[\w.!+-]+) (?:has no wheels|has no usable wheels)"
)
# An index that cannot be asked lacks what it does not show, in the words of pip.
_OTHER_REASONS = (_FULL, _WRONG_HASH, _CERTIFICATE, _REFUSED, _UNREACHABLE)
_LOCAL = re.compile(r"`([A-Za-z0-9][\w.-]*)==([\w.!-]+)(\+[\w.-]+)`")
_PIP_TOOK = re.compile(r"\s+([A-Za-z0-9][\w.-]*)==([\w.!-]+) from (\S+)")
_SOME_FILE = "A file"
_EXIT_BY_FILE_SIZE = -25  # SIGXFSZ


def has_wrong_hash(output: Sequence[str]) -> bool:
    return any(_WRONG_HASH.search(line) for line in output)


def pins_with_local(output: Sequence[str], pins: Mapping[str, str]) -> dict[str, str]:
    """Pins with which uv finds the hash of a build with a local version; none if that is not it.

    For `torch==2.0` it takes the build `2.0+cpu` where there is one, as it should, but looks for
    hashes of `2.0+cpu` only.
    """
    text = "\n".join(output)
    found: dict[str, str] = {}
    if "no hashes were provided" in text:
        for name, version, local in _LOCAL.findall(text):
            key = str(canonicalize_name(name))
            if pins.get(key) != f"=={version}{local}":
                found[key] = f"=={version}{local}"
    return found


def pins_without_local(output: Sequence[str]) -> dict[str, str]:
    """Pins that keep pip from a build with a local version whose hash the lock does not have."""
    found = {}
    for line in output:
        match = _PIP_TOOK.match(line)
        if match and f"-{match[2]}+" in unquote(match[3]):
            found[str(canonicalize_name(match[1]))] = f"==={match[2]}"
    return found


def wrong_package(output: Sequence[str]) -> str:
    """The canonical name of the one whose file has another hash; empty when it is not named."""
    name = _wrong_package("\n".join(output)).partition("==")[0]
    return str(canonicalize_name(name)) if name != _SOME_FILE else ""


def missing_package(output: Sequence[str]) -> str:
    """What no index has that was asked; empty where something else is, or may be, the reason."""
    text = "\n".join(output)
    is_other = any(pattern.search(text) for pattern in _OTHER_REASONS)
    return "" if is_other else _missing_package(text)


def explain(
    output: Sequence[str],
    status: int,
    *,
    bundle: str,
    settings: IndexSettings,
    from_folder: Path | None,
    log: Path,
    missing: str = "",
) -> BundleError:
    """What a tool that failed has run into, in a sentence, and what to do.

    `missing`: what pip's own places did not have, where those of the bundle were then asked too.
    """
    text = "\n".join(output)
    failure = _no_answer(text, output) if missing else ""
    if failure:
        message, hint = _missing_everywhere(missing, failure, bundle, settings)
    else:
        message, hint = _reason(text, output, status, bundle, settings, from_folder)
    return BundleError(message, hint=f"{hint}. All it said: {log}", bundle=bundle, log=str(log))


def full_disk(bundle: str, folder: Path) -> tuple[str, str]:
    return (
        f"The disk of {folder} is full; {bundle} was not installed.",
        "free some room there and install it again; `mosaic bundles prune` removes what no run"
        " uses",
    )


def _no_answer(text: str, output: Sequence[str]) -> str:
    """What keeps an index from being asked, as the end of a sentence; empty where it was."""
    if _FULL.search(text) or _WRONG_HASH.search(text):
        return ""
    if _CERTIFICATE.search(text):
        return "has a certificate that is not trusted here"
    if _REFUSED.search(text):
        return f"refuses us: {_line_with(output, _REFUSED)}"
    return f"does not answer: {_why_unreachable(output)}" if _UNREACHABLE.search(text) else ""


def _missing_everywhere(
    missing: str, failure: str, bundle: str, settings: IndexSettings
) -> tuple[str, str]:
    others = ", ".join(settings.bundle_places)
    return (
        f"{missing} is not to be had for this Python and machine from {_index_words(settings)},"
        f" and the index of the bundle itself ({others}) {failure}.",
        "have pip use an index that has it, or check the network, the proxy and the certificates"
        f" in pip's settings (`pip config list`) so that {others} is reached; without a network:"
        f" `mosaic bundles install {bundle} --from FOLDER`",
    )


def _index_words(settings: IndexSettings) -> str:
    places = ", ".join(settings.places)
    return f"the index ({places})" if places else "the index"


def _reason(
    text: str,
    output: Sequence[str],
    status: int,
    bundle: str,
    settings: IndexSettings,
    from_folder: Path | None,
) -> tuple[str, str]:
    where = str(from_folder) if from_folder else _index_words(settings)
    if more := ", ".join(settings.bundle_places):
        where += f", or that of the bundle itself ({more})"
    if _FULL.search(text) or status == _EXIT_BY_FILE_SIZE:
        line = _line_with(output, _FULL)
        return (
            f"There was no room left on the disk; {bundle} was not installed"
            + (f": {line}." if line else "."),
            "free some room and install it again; `mosaic bundles prune` removes what no run uses",
        )
    if _WRONG_HASH.search(text):
        package = _wrong_package(text)
        if from_folder:
            hint = "pack the folder again (`mosaic bundles pack`), or copy it once more"
        else:
            hint = (
                "a mirror or a proxy may serve another file: have pip use the index it was"
                " published on, and install again"
            )
        return f"{package} from {where} is not the file that the lock names; none is used.", hint
    if _CERTIFICATE.search(text):
        return (
            f"The certificate of {where} is not trusted.",
            "tell pip the right one (`pip config set global.cert FILE`)",
        )
    if _REFUSED.search(text):
        return (
            f"{where} refuses us: {_line_with(output, _REFUSED)}.",
            "check name and password in pip's settings (`pip config list`)",
        )
    if _UNREACHABLE.search(text) and not from_folder:
        return (
            f"{where} does not answer: {_why_unreachable(output)}.",
            "check the network, and index and proxy in pip's settings (`pip config list`); without"
            f" a network: `mosaic bundles install {bundle} --from FOLDER`",
        )
    if missing := _missing_package(text):
        hint = "have pip use an index that has it (`pip config list` shows what it uses)"
        if from_folder:
            hint = "pack the folder again (`mosaic bundles pack`)"
        elif settings.no_index:
            hint = "pip is told to use no index (no-index, see `pip config list`); have it use one"
        return f"{missing} is not to be had for this Python and machine from {where}.", hint
    if status < 0:
        return (
            f"The package tool was killed by signal {-status}; {bundle} was not installed.",
            "there may have been too little memory; install it again",
        )
    line = _last_error(output) or f"it ended with status {status}"
    return f"{bundle} could not be installed: {line}.", "what it says may help"


def _wrong_package(text: str) -> str:
    for line in text.splitlines():
        if found := _PIP_WRONG_HASH.match(line):
            return found[1]
    found = _UV_WRONG.search(text)
    return found[1] if found else _SOME_FILE


def _missing_package(text: str) -> str:
    if found := _PIP_MISSING.search(text):
        return found[1]
    # uv folds its lines.
    found = _UV_MISSING.search(" ".join(text.split()))
    return next(filter(None, found.groups()), "") if found else ""


def _line_with(output: Sequence[str], pattern: re.Pattern[str], *, last: bool = False) -> str:
    lines = [line for line in output if pattern.search(line)]
    return _short(lines[-1 if last else 0]) if lines else ""


def _why_unreachable(output: Sequence[str]) -> str:
    """Without the exceptions and objects of its own that pip names."""
    line = next((line for line in reversed(output) if _UNREACHABLE.search(line)), "")
    found = _PIP_RETRIES.search(line)
    if found is None:
        return _short(line)
    *_, innermost = re.split(r"\([\"']", re.sub(r"<[^>]*>(?:: |, )?", "", found[1]))
    return _short(re.sub(r"[\"']\)+'?$", "", innermost))


def _last_error(output: Sequence[str]) -> str:
    errors = [line for line in output if re.match(r"\s*(?:ERROR|error|cause)\s*:", line)]
    lines = errors or [line for line in output if line.strip()]
    return _short(lines[-1]) if lines else ""


def _short(line: str) -> str:
    text = re.sub(r"^\s*(?:ERROR|error|cause|WARNING)\s*:\s*", "", line).strip().rstrip(".:")
    return text if len(text) <= 300 else text[:299] + "…"
