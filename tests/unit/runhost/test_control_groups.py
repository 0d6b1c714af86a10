"""Where our control groups are is worked out from two files of /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.runhost.control_groups import (
    ControlGroups,
    directory_of,
    mount_of,
    own_path,
    task_allowance,
)

HYBRID = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:7 - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
"""
UNIFIED = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
CONTAINER = "35 24 0:30 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
MEMBERSHIPS = "8:pids:/batch\n4:cpu,cpuacct:/x\n1:name=systemd:/\n0::/user.slice/a.scope\n"


def test_hybrid_layout_has_both_hierarchies() -> None:
    assert mount_of(HYBRID, "cgroup2") == ("/sys/fs/cgroup/unified", "/")
    assert mount_of(HYBRID, "cgroup", "pids") == ("/sys/fs/cgroup/pids", "/")
    assert mount_of(HYBRID, "cgroup", "cpuacct") == ("/sys/fs/cgroup/cpu,cpuacct", "/")


def test_unified_layout_has_no_v1_pids() -> None:
    assert mount_of(UNIFIED, "cgroup2") == ("/sys/fs/cgroup", "/")
    assert mount_of(UNIFIED, "cgroup", "pids") is None


def test_mount_point_with_a_space_is_decoded() -> None:
    line = "35 24 0:30 / /mnt/my\\040groups rw - cgroup2 cgroup2 rw\n"
    assert mount_of(line, "cgroup2") == ("/mnt/my groups", "/")


def test_own_paths_are_found_per_hierarchy() -> None:
    assert own_path(MEMBERSHIPS) == "/user.slice/a.scope"
    assert own_path(MEMBERSHIPS, "pids") == "/batch"
    assert own_path(MEMBERSHIPS, "cpuacct") == "/x"
    assert own_path(MEMBERSHIPS, "memory") is None
    assert own_path("8:pids:/\n") is None


@pytest.mark.parametrize(
    ("mountinfo", "path", "directory"),
    [
        (UNIFIED, "/", "/sys/fs/cgroup"),
        (UNIFIED, "/a/b", "/sys/fs/cgroup/a/b"),
        (CONTAINER, "/docker/abc", "/sys/fs/cgroup"),
        (CONTAINER, "/docker/abc/sub", "/sys/fs/cgroup/sub"),
        (CONTAINER, "/docker/abcd", None),
        (CONTAINER, "/../elsewhere", None),
        (UNIFIED, None, None),
    ],
)
def test_folder_of_a_group_lies_below_its_mount(
    mountinfo: str, path: str | None, directory: str | None
) -> None:
    assert directory_of(mount_of(mountinfo, "cgroup2"), path) == directory


def test_kernel_limit_leaves_room_for_threads() -> None:
    assert task_allowance(4096) > 4 * 4096


def test_unwritable_hierarchy_means_no_groups_and_no_error(tmp_path: Path) -> None:
    groups = ControlGroups.create([str(tmp_path / "missing" / "group")], 10, 100)
    assert groups.groups == []
    assert groups.members() is None
    assert not groups.can_kill
    groups.join()
    groups.kill()
    assert groups.refused_forks() == 0
    assert groups.remove()


def test_limits_are_written_where_the_controllers_are(tmp_path: Path) -> None:
    group = tmp_path / "group"
    group.mkdir()
    for name in ("pids.max", "memory.max", "memory.oom.group", "cgroup.procs", "cgroup.kill"):
        (group / name).touch()
    (group / "pids.events").write_text("max 3\n")
    (group / "memory.events").write_text("low 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 0\n")
    groups = ControlGroups.create([str(group), str(tmp_path / "v1")], 10, 100)
    assert groups.groups == [str(group)], "v2 bounds processes already; v1 is not needed"
    assert (group / "pids.max").read_text() == str(task_allowance(10))
    assert (group / "memory.max").read_text() == str(100 * 1024 * 1024)
    assert groups.can_kill
    groups.kill()
    assert (group / "cgroup.kill").read_text() == "1"
    assert (groups.refused_forks(), groups.memory_kills()) == (3, 1)
    (group / "cgroup.procs").write_text("12\n34\n")
    assert groups.members() == {12, 34}


def test_v1_bounds_processes_where_v2_cannot(tmp_path: Path) -> None:
    groups = ControlGroups.create([str(tmp_path / "v2"), str(tmp_path / "v1")], 10, None)
    assert groups.groups == [str(tmp_path / "v2"), str(tmp_path / "v1")]
    assert not groups.can_kill
    assert groups.remove()
    assert not list(tmp_path.iterdir())


def test_memory_is_what_the_kernel_could_not_take_back(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("900000000\n")
    (tmp_path / "memory.stat").write_text(
        "anon 300000000\nfile 600000000\ninactive_file 350000000\nactive_file 200000000\n"
    )
    groups = ControlGroups([str(tmp_path / "without the controller"), str(tmp_path)])
    assert groups.memory_bytes() == 350_000_000


def test_no_group_counts_memory_where_the_controller_is_not_ours(tmp_path: Path) -> None:
    assert ControlGroups([str(tmp_path)]).memory_bytes() is None
    assert ControlGroups([]).memory_bytes() is None
