"""Segment: a run's shared memory, a plain file below /dev/shm, read and written by position.

Not mapped: where a mapped file shrinks or memory runs out, the next access kills the process, and
this one is somebody's training. A system call costs a microsecond, a frame a hundred of them.
Not `multiprocessing.shared_memory` either: before Python 3.13 its tracker unlinks a segment when
the first of many processes ends. Here the run host unlinks the name.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from mosaic.fastlane.layout import (
    HEADER,
    LEASE,
    LEASE_OFFSET,
    BrokenSegmentError,
    Geometry,
    Lease,
    believed,
    pack_header,
)

SHARED_MEMORY = Path("/dev/shm")
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


def segment_path(run_id: str, folder: Path = SHARED_MEMORY) -> Path:
    return folder / f"mosaic.fastlane.{run_id}"


class Segment:
    def __init__(self, fd: int, geometry: Geometry) -> None:
        """Takes the descriptor over."""
        self.fd, self.geometry = fd, geometry

    @property
    def inode(self) -> int:
        return os.fstat(self.fd).st_ino

    def read(self, offset: int, size: int) -> bytes:
        """Raises BrokenSegmentError when the file has shrunk."""
        data = os.pread(self.fd, size, offset)
        if len(data) < size:
            raise BrokenSegmentError("it has been cut off")
        return data

    def lease(self) -> Lease:
        return Lease(*LEASE.unpack(self.read(LEASE_OFFSET, LEASE.size)))

    def set_lease(self, lease: Lease) -> None:
        os.pwrite(self.fd, LEASE.pack(*lease), LEASE_OFFSET)

    def close(self) -> None:
        os.close(self.fd)


def open_segment(path: Path) -> Segment:
    """For whoever reads. Raises FileNotFoundError, other OSErrors or BrokenSegmentError."""
    fd = os.open(path, _FLAGS)
    if _is_being_made(fd):
        os.close(fd)
        raise FileNotFoundError(f"{path.name} is being made")
    return _checked(fd)


def make_segment(path: Path, geometry: Geometry) -> Segment:
    """The run's segment, created by whichever of its processes comes first."""
    fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)  # the others wait until the header is whole
    try:
        if os.fstat(fd).st_size == 0:
            os.ftruncate(fd, geometry.total_bytes)  # pages come when they are written
            os.pwrite(fd, pack_header(geometry), 0)
    except BaseException:
        os.close(fd)
        raise
    fcntl.flock(fd, fcntl.LOCK_UN)
    return _checked(fd)


def _is_being_made(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return os.fstat(fd).st_size == 0


def _checked(fd: int) -> Segment:
    try:
        return Segment(fd, believed(os.pread(fd, HEADER.size, 0), os.fstat(fd).st_size))
    except BaseException:
        os.close(fd)
        raise
