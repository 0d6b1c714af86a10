"""Archives as files: written under their name when complete, and read in chunks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from mosaic.errors import RequestError, StoreError
from mosaic.files import sync_directory, write_all
from mosaic.wire.generated import trainer_pb2 as pb


class ArchiveFile:
    """Use it with `with`; whatever goes wrong inside leaves no file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
        if os.path.lexists(path):
            raise RequestError(
                f"{path} exists already", hint="choose another name, or remove it", path=str(path)
            )
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd = os.open(self._temporary, flags, 0o600)
        except OSError as error:
            raise RequestError(
                f"{path} cannot be written: {error.strerror}",
                hint="choose another folder with --out",
                path=str(path),
            ) from error

    def __enter__(self) -> ArchiveFile:
        return self

    def write(self, data: bytes) -> None:
        with self._write_errors():
            write_all(self._fd, data)
        self.size += len(data)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                with self._write_errors():
                    os.fsync(self._fd)
                    # Unlike a rename, this cannot replace what appeared there meanwhile.
                    os.link(self._temporary, self.path)
                    sync_directory(self.path.parent)
        finally:
            os.close(self._fd)
            with contextlib.suppress(OSError):
                self._temporary.unlink()

    @contextlib.contextmanager
    def _write_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written: {error.strerror}",
                hint="free some space, or choose another folder with --out",
            ) from error


CHUNK = 256 * 1024


def opened_archive(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        said = getattr(error, "strerror", None) or error
        raise RequestError(f"{path} cannot be read: {said}", path=str(path)) from error


def chunks_of(file: BinaryIO, max_bytes: int) -> Iterator[pb.ArchiveChunk]:
    """The first says how much there is, so that a stream that is cut off is noticed."""
    total = file.seek(0, 2)
    file.seek(0)
    data = file.read(CHUNK)
    yield pb.ArchiveChunk(data=data, total_bytes=total, max_unpacked_bytes=max_bytes)
    while data := file.read(CHUNK):
        yield pb.ArchiveChunk(data=data)
