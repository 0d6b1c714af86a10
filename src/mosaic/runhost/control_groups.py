"""Containment by control groups where the system lets us; every part of it is optional.

A v2 group gives `cgroup.kill`, which no fork can outrun, and its controllers where they are
delegated. Where v2 has no `pids` controller, a v1 `pids` group bounds fork bombs.
"""

# pathlib would delay the worker's start.
# ruff: noqa: PTH102, PTH106, PTH110
from __future__ import annotations

import os


def mount_of(mountinfo: str, filesystem: str, option: str = "") -> tuple[str, str] | None:
    """(mount point, root within the file system) of the first matching line of mountinfo."""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.partition(" ")
        if kind == filesystem and (not option or option in options.split(" ")[-1].split(",")):
            fields = left.split(" ")
            return _unescape(fields[4]), _unescape(fields[3])
    return None


def _unescape(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def own_path(cgroup: str, controller: str = "") -> str | None:
    """Our path in the v2 hierarchy, or in the v1 hierarchy of a controller."""
    for line in cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if (controller in controllers.split(",")) if controller else number == "0":
            return path
    return None


def directory_of(mount: tuple[str, str] | None, path: str | None) -> str | None:
    """Where a group's folder is in our file system, or None when it lies outside the mount."""
    if mount is None or path is None or ".." in path.split("/"):
        return None
    point, root = mount
    if root != "/":
        if path != root and not path.startswith(f"{root}/"):
            return None
        path = path[len(root) :]
    return point + path.rstrip("/")


def group_name(run_id: str, attempt: int) -> str:
    return f"mosaic-{run_id}-{attempt}"


def planned_groups(name: str) -> list[str]:
    """Folders (v2 first, then v1 `pids`) below our own groups; none of them exists yet."""
    try:
        with open("/proc/self/mountinfo") as file:
            mountinfo = file.read()
        with open("/proc/self/cgroup") as file:
            cgroup = file.read()
    except OSError:
        return []
    unified = directory_of(mount_of(mountinfo, "cgroup2"), own_path(cgroup))
    pids = directory_of(mount_of(mountinfo, "cgroup", "pids"), own_path(cgroup, "pids"))
    return [f"{parent}/{name}" for parent in (unified, pids) if parent is not None]


def is_group_path(path: str) -> bool:
    """Whether it lies where only the kernel makes files; anybody can write names into a claim."""
    try:
        with open("/proc/self/mountinfo") as file:
            mountinfo = file.read()
    except OSError:
        return False
    mounts = (mount_of(mountinfo, "cgroup2"), mount_of(mountinfo, "cgroup", "pids"))
    place = os.path.realpath(path)
    return any(mount is not None and place.startswith(f"{mount[0]}/") for mount in mounts)


def available_containment() -> str:
    """How runs can be contained here, found out by trying; for the daemon's health report."""
    probe = ControlGroups.create(planned_groups(f"mosaic-probe-{os.getpid()}"), 1, None)
    can_kill = probe.can_kill
    probe.remove()
    return "cgroup" if can_kill else "subreaper"


def task_allowance(max_processes: int) -> int:
    """`pids.max` counts threads too, and a numerical library starts one per core."""
    return 4 * max_processes + 256


class ControlGroups:
    """The groups of one attempt; with none of them, every method does nothing."""

    def __init__(self, groups: list[str]) -> None:
        self.groups = groups

    @classmethod
    def create(cls, planned: list[str], max_processes: int, memory_mb: int | None) -> ControlGroups:
        groups: list[str] = []
        for group in planned:
            bounded = any(os.path.exists(f"{made}/pids.max") for made in groups)
            if bounded or not _make_group(group):
                continue
            _put(f"{group}/pids.max", str(task_allowance(max_processes)))
            if memory_mb is not None:
                _put(f"{group}/memory.max", str(memory_mb * 1_048_576))
                # All or nothing: a run that lost one of its processes is useless.
                _put(f"{group}/memory.oom.group", "1")
            groups.append(group)
        return cls(groups)

    def join(self) -> None:
        """Move the calling process into every group."""
        for group in self.groups:
            _put(f"{group}/cgroup.procs", "0")

    def keep_joined(self, pid: int) -> None:
        """Forget (and remove) groups our child could not move into."""
        for group in list(self.groups):
            if pid not in group_members(group) and not _has_exited(pid):
                self.groups.remove(group)
                remove_group(group)

    @property
    def can_kill(self) -> bool:
        return any(os.path.exists(f"{group}/cgroup.kill") for group in self.groups)

    def members(self) -> set[int] | None:
        """Every process of the run, or None when no group can say."""
        return group_members(self.groups[0]) if self.groups else None

    def kill(self) -> None:
        for group in self.groups:
            _put(f"{group}/cgroup.kill", "1")

    def refused_forks(self) -> int:
        return sum(_counter(f"{group}/pids.events", "max") for group in self.groups)

    def memory_bytes(self) -> int | None:
        """What the run holds and the kernel could not take back at once, each page counted once;
        None where no group counts it. Cached files are no reason to end a run."""
        for group in self.groups:
            held = _counts(f"{group}/memory.current").get("")
            if held is not None:
                stat = _counts(f"{group}/memory.stat")
                cached = stat.get("inactive_file", 0) + stat.get("active_file", 0)
                return max(0, held - cached)
        return None

    def memory_kills(self) -> int:
        """Processes of the run the kernel killed: at the run's limit, or for lack of any memory."""
        return sum(_counter(f"{group}/memory.events", "oom_kill") for group in self.groups)

    def reached_memory_limit(self) -> bool:
        """Whether it ran out of memory at its own limit; otherwise the machine has none left."""
        return any(_counter(f"{group}/memory.events", "oom") for group in self.groups)

    def remove(self) -> bool:
        """False while a process is still inside one of them."""
        return all([remove_group(group) for group in self.groups])


def group_members(group: str) -> set[int]:
    try:
        with open(f"{group}/cgroup.procs") as file:
            return {int(line) for line in file}
    except OSError:
        return set()


def remove_group(group: str) -> bool:
    """Remove the group and those the worker made below it; false while processes are inside."""
    try:
        for entry in os.scandir(group):
            if entry.is_dir(follow_symlinks=False):
                remove_group(entry.path)
        os.rmdir(group)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _has_exited(pid: int) -> bool:
    """True for an unreaped child that is over: a zombie is no longer listed in its groups."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _make_group(group: str) -> bool:
    try:
        os.mkdir(group, 0o755)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _put(path: str, text: str) -> bool:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, text.encode())
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _counter(path: str, name: str) -> int:
    return _counts(path).get(name, 0)


def _counts(path: str) -> dict[str, int]:
    """The lines `name number` of a file of a group; a number alone has no name."""
    found: dict[str, int] = {}
    try:
        with open(path) as file:
            for line in file:
                name, _, number = line.rpartition(" ")
                found[name] = int(number)
    except (OSError, ValueError):
        return {}
    return found
