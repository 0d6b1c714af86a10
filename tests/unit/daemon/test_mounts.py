"""Which file system a path is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.daemon.executors.machine import filesystem_type

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
server:/export /mnt/my\\040share nfs4 rw 0 0
tmpfs /run/user tmpfs rw 0 0
/dev/sdb1 /run/user/1000/disk xfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/dev/shm/x", "tmpfs"),
        ("/dev/shm", "tmpfs"),
        ("/dev/shmem", "ext4"),
        ("/home/me", "ext4"),
        ("/mnt/my share/home", "nfs4"),
        ("/run/user/1000/disk/x", "xfs"),
        ("/run/user/1000", "tmpfs"),
    ],
)
def test_the_deepest_mount_counts(path: str, kind: str) -> None:
    assert filesystem_type(Path(path), MOUNTS) == kind


def test_a_later_mount_hides_an_earlier_one() -> None:
    mounts = "a /data ext4 rw 0 0\nb /data nfs rw 0 0\n"
    assert filesystem_type(Path("/data/x"), mounts) == "nfs"


def test_the_unknown_is_empty() -> None:
    assert filesystem_type(Path("/data"), "nonsense\n") == ""
