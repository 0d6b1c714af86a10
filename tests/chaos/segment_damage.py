"""What can happen to the file that a live run and its viewers share."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from mosaic.fastlane.layout import (
    FRAME,
    HEADER,
    LEASE,
    LEASE_OFFSET,
    MAX_FRAME_BYTES,
    MAX_SLOTS,
    SEQUENCE,
    STATE,
    Geometry,
    pack_header,
)

HUGE = 2**40  # bytes, of a file without any
CHANCE = random.Random(5)

Damage = Callable[[Path, Path], None]  # the segment, and a file of somebody else's


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write(path: Path, content: bytes, offset: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def random_bytes_everywhere(path: Path, foreign: Path) -> None:
    size = path.stat().st_size
    for _ in range(200):
        write(path, CHANCE.randbytes(64), CHANCE.randrange(size - 64))
    write(path, CHANCE.randbytes(256))


def random_bytes_behind_the_header(path: Path, foreign: Path) -> None:
    write(path, CHANCE.randbytes(path.stat().st_size - 256), 256)


def a_lease_for_ever(path: Path, foreign: Path) -> None:
    write(path, LEASE.pack(2**64 - 1, 0, 2**64 - 1, 2**64 - 1), LEASE_OFFSET)


def another_version(path: Path, foreign: Path) -> None:
    write(path, (2**40).to_bytes(8, "little"), 8)


def cut_to_nothing(path: Path, foreign: Path) -> None:
    os.truncate(path, 0)


def cut_in_half(path: Path, foreign: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_within_the_header(path: Path, foreign: Path) -> None:
    os.truncate(path, HEADER.size - 3)


def grown_to_a_terabyte(path: Path, foreign: Path) -> None:
    os.truncate(path, HUGE)


def frames_of_absurd_sizes(path: Path, foreign: Path) -> None:
    """Every number agrees with every other; only, the tiles would need terabytes."""
    path.unlink()
    geometry = Geometry(MAX_SLOTS, MAX_FRAME_BYTES)
    path.touch(0o600)
    os.truncate(path, geometry.total_bytes)
    write(path, pack_header(geometry))
    long = MAX_FRAME_BYTES // 3
    for slot in range(MAX_SLOTS):
        state = STATE.pack(1, 1, 1, 0.0, float("nan"), float("inf"), 1, 2**64 - 1, os.getpid(), 1)
        write(path, SEQUENCE.pack(2) + state, geometry.state_offset(slot))
        size = (long, 1) if slot % 2 else (1, long)
        write(path, SEQUENCE.pack(2) + FRAME.pack(1, *size), geometry.frame_offset(slot, 1))


def a_folder(path: Path, foreign: Path) -> None:
    remove(path)
    path.mkdir()
    (path / "file").write_bytes(b"in the way")


def a_pipe(path: Path, foreign: Path) -> None:
    remove(path)
    os.mkfifo(path)


def a_link_to_a_foreign_file(path: Path, foreign: Path) -> None:
    remove(path)
    path.symlink_to(foreign)


def a_link_to_a_device(path: Path, foreign: Path) -> None:
    remove(path)
    path.symlink_to("/dev/zero")


def a_link_to_nothing(path: Path, foreign: Path) -> None:
    remove(path)
    path.symlink_to(foreign.with_name("missing"))


def nobody_may_read_it(path: Path, foreign: Path) -> None:
    path.chmod(0)


def gone(path: Path, foreign: Path) -> None:
    remove(path)


# Of a segment that is in use.
TO_A_SEGMENT: tuple[Damage, ...] = (
    random_bytes_everywhere,
    random_bytes_behind_the_header,
    a_lease_for_ever,
    another_version,
    cut_to_nothing,
    cut_in_half,
    cut_within_the_header,
    grown_to_a_terabyte,
    frames_of_absurd_sizes,
    a_folder,
    a_pipe,
    a_link_to_a_foreign_file,
    a_link_to_a_device,
    a_link_to_nothing,
    nobody_may_read_it,
    gone,
)
# In the way of a run that has none yet.
IN_THE_WAY: tuple[Damage, ...] = (
    a_folder,
    a_pipe,
    a_link_to_a_foreign_file,
    a_link_to_a_device,
)
