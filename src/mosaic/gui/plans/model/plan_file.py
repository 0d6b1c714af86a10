"""PlanFile: a plan as it is on disk: read and written within limits, and never over the changes
of somebody else."""

from __future__ import annotations

import contextlib
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mosaic.errors import RequestError
from mosaic.files import atomic_write
from mosaic.foreign.files import read_regular
from mosaic.front.plan_check import MOST_BYTES

_WINDOWS_END = "\r\n"


class Stamp(NamedTuple):
    """By which one sees that a file is another one now."""

    inode: int
    size: int
    modified_ns: int


@dataclass(frozen=True)
class PlanFile:
    path: Path
    text: str  # with plain ends of lines
    stamp: Stamp | None  # None: it is not there any more, or not yet
    ends_as_windows: bool = False


def stamp_of(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def read_plan(path: Path) -> PlanFile:
    """Raises RequestError where it is no text, or more of it than a plan may have."""
    stamp = stamp_of(path)  # before it is read: what comes between is found later
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _unreadable(path, "it is not text in UTF-8") from error
    if "\0" in text:
        raise _unreadable(path, "it is not text: it holds NULs")
    plain = text.replace(_WINDOWS_END, "\n").replace("\r", "\n")
    return PlanFile(path, plain, stamp, _WINDOWS_END in text)


@dataclass(frozen=True)
class Changed:
    """Nothing was written: what is there is not what the person knows of."""

    stamp: Stamp | None


def write_plan(wanted: PlanFile, known: Stamp | None = None) -> PlanFile | Changed:
    """As it is on disk then. Raises RequestError.

    `known`: what stands there as far as the person knows; None: somebody agreed to whatever does.
    """
    if known is not None and (there := stamp_of(wanted.path)) not in (known, None):
        return Changed(there)
    text = wanted.text.replace("\n", _WINDOWS_END) if wanted.ends_as_windows else wanted.text
    path = wanted.path
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _unwritable(path, "it holds half a character") from error
    if len(data) > MOST_BYTES:
        raise _unwritable(path, f"it has more than {MOST_BYTES:,} bytes")
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise _unwritable(path, "it is not a regular file")
        place = path.resolve()  # a link stays a link
        atomic_write(place, data, _mode_of(place))
    except (OSError, RuntimeError) as error:
        raise _unwritable(path, getattr(error, "strerror", None) or str(error)) from error
    return PlanFile(path, wanted.text, stamp_of(path), wanted.ends_as_windows)


def _mode_of(path: Path) -> int:
    """That of the file it takes the place of; a new one is like any other of its owner."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    return 0o666


def _unreadable(path: Path, reason: str) -> RequestError:
    return RequestError(
        f"The file {path.name} cannot be opened: {reason}", hint="choose another file"
    )


def _unwritable(path: Path, reason: str) -> RequestError:
    return RequestError(f"The file {path.name} cannot be saved: {reason}", hint="save it elsewhere")


class PlanDocument:
    """A text that may have a file, and what of it is not saved."""

    def __init__(self) -> None:
        self.file: PlanFile | None = None
        self._saved_text = ""
        self._seen: Stamp | None = None  # what the person knows to be on disk
        self._new_name = "New plan"

    def begin(self, text: str = "", name: str = "") -> None:
        """Without a file; what it begins with is no change."""
        self.file, self._saved_text, self._seen = None, text, None
        self._new_name = name or "New plan"

    def take(self, file: PlanFile) -> None:
        """Opened, or saved."""
        self.file, self._saved_text, self._seen = file, file.text, file.stamp

    def is_changed(self, text: str) -> bool:
        return text != self._saved_text

    def title(self, text: str) -> str:
        name = self.file.path.name if self.file is not None else self._new_name
        return f"{name} · not saved" if self.is_changed(text) else name

    @property
    def path(self) -> Path | None:
        return None if self.file is None else self.file.path

    @property
    def seen(self) -> Stamp | None:
        """What is on disk, as far as the person knows."""
        return self._seen

    def as_saved(self, text: str, path: Path | None = None) -> PlanFile | None:
        """What saving it would write; None where nobody said where to."""
        ends = self.file is not None and self.file.ends_as_windows
        place = path or self.path
        return None if place is None else PlanFile(place, text, None, ends)

    def news(self, stamp: Stamp | None) -> str:
        """What became of the file since it was read, once; empty: nothing, or it was told."""
        if self.file is None or stamp == self._seen:
            return ""
        self._seen = stamp
        if stamp is None:
            return f"{self.file.path.name} is not there any more: saving makes it again"
        return f"{self.file.path.name} was changed by another program: saving overwrites that"
