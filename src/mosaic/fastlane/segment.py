"""Segment: a run's shared memory, a plain file below /dev/shm, read and written by position.

Not mapped: where a mapped file shrinks or memory runs out, the next access kills the process, and
this one is somebody's training. A system call costs a microsecond, a frame a hundred of them.
Not `multiprocessing.shared_memory` either: before Python 3.13 its tracker unlinks a segment when
the first of many processes ends. Here the run host unlinks the name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

from mosaic.fastlane.layout import (
    HEADER,
    LEASE,
    LEASE_OFFSET,
    BrokenSegmentError,
    Geometry,
    Lease,
    pack_header,
    parse_header,
)
from mosaic.private_folder import file_problem

SHARED_MEMORY = Path("/dev/shm")
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LOCK_WAIT_S = 2.0


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
    try:
        fd = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BrokenSegmentError("it is a link") from None
        raise
    try:
        _check_owner(fd)
        if _is_being_made(fd):
            raise FileNotFoundError(f"{path.name} is being made")
    except BaseException:
        os.close(fd)
        raise
    return _checked(fd)


def make_segment(path: Path, geometry: Geometry) -> Segment:
    """The run's segment, created by whichever of its processes comes first."""
    fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
    try:
        _check_owner(fd)
        _lock(fd)  # the others wait until the header is whole
        if os.fstat(fd).st_size == 0:
            _write_header(fd, geometry)
    except BaseException:
        os.close(fd)
        raise
    fcntl.flock(fd, fcntl.LOCK_UN)
    return _checked(fd)


def _write_header(fd: int, geometry: Geometry) -> None:
    os.ftruncate(fd, geometry.total_bytes)  # pages come when they are written
    try:
        os.pwrite(fd, pack_header(geometry), 0)
    except OSError:
        os.ftruncate(fd, 0)  # there may be memory again when the next process comes
        raise


def _check_owner(fd: int) -> None:
    """Whoever else can write it could show anything, and cut it off at any moment."""
    if problem := file_problem(os.fstat(fd)):
        raise BrokenSegmentError(problem)


def _lock(fd: int) -> None:
    """The holder needs microseconds; one that was stopped in the meantime must not block us."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OSError(errno.EBUSY, "another process keeps its segment locked") from None
            time.sleep(0.001)


def _is_being_made(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return os.fstat(fd).st_size == 0


def _checked(fd: int) -> Segment:
    try:
        return Segment(fd, parse_header(os.pread(fd, HEADER.size, 0), os.fstat(fd).st_size))
    except BaseException:
        os.close(fd)
        raise
