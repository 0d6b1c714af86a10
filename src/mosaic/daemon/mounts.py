"""On what kind of file system a path lies, as the kernel tells in /proc/self/mounts."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
MEMORY = frozenset({"tmpfs", "ramfs"})
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph"})


def filesystem_type(path: Path, mounts: str | None = None) -> str:
    """The type's name, such as "ext4" or "tmpfs"; empty when it cannot be told."""
    if mounts is None:
        try:
            mounts = MOUNTS.read_text()
        except OSError:
            return ""
    target = path.resolve()
    found, depth = "", -1
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        # The kernel writes space, tab, newline and backslash as octal escapes.
        mount_point = Path(fields[1].encode().decode("unicode_escape"))
        is_deeper = len(mount_point.parts) >= depth
        if is_deeper and (target == mount_point or mount_point in target.parents):
            found, depth = fields[2], len(mount_point.parts)
    return found
