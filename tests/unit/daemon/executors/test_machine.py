"""What the machine has, how that is overridden, and which file system a path is on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.daemon.executors import machine
from mosaic.daemon.executors.machine import (
    Capacity,
    filesystem_type,
    machine_capacity,
    parse_gpus,
    total_memory_mb,
)
from mosaic.errors import ConfigError


def test_variables_override_what_is_found() -> None:
    variables = {"MOSAIC_CPUS": "3", "MOSAIC_MEMORY_MB": "2048", "MOSAIC_GPUS": "2"}
    assert machine_capacity(variables) == Capacity(3, 2048, (0, 1))


def test_without_variables_the_machine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_gpus", lambda: (0, 1, 2))
    capacity = machine_capacity({})
    assert capacity.cpus == len(os.sched_getaffinity(0))
    assert capacity.memory_mb > 100
    assert capacity.gpus == (0, 1, 2)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [("1", (1,)), ("2,0", (0, 2)), ("", (0, 1, 2)), ("GPU-4f1b", (0, 1, 2)), ("7", ())],
)
def test_a_daemon_confined_to_some_gpus_hands_out_only_those(
    monkeypatch: pytest.MonkeyPatch, visible: str, expected: tuple[int, ...]
) -> None:
    monkeypatch.setattr(machine, "find_gpus", lambda: (0, 1, 2))
    assert machine_capacity({"CUDA_VISIBLE_DEVICES": visible}).gpus == expected


@pytest.mark.parametrize(
    ("text", "gpus"), [("0", ()), ("2", (0, 1)), ("0,2", (0, 2)), ("3,", (3,)), (" 1 , 1 ", (1,))]
)
def test_gpus_are_a_number_or_indices(text: str, gpus: tuple[int, ...]) -> None:
    assert parse_gpus(text) == gpus


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MOSAIC_CPUS", "many"),
        ("MOSAIC_CPUS", "0"),
        ("MOSAIC_MEMORY_MB", "-1"),
        ("MOSAIC_GPUS", "x"),
    ],
)
def test_nonsense_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        machine_capacity({"MOSAIC_GPUS": "0", name: value})


def test_memory_is_read_from_meminfo() -> None:
    assert total_memory_mb("MemTotal:       16384000 kB\nMemFree: 1 kB\n") == 16000


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
