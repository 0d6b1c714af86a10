"""What this machine has to give to runs: CPUs, memory, GPUs, and file systems of which kind.

MOSAIC_CPUS, MOSAIC_MEMORY_MB and MOSAIC_GPUS override what is found, for shared machines.
MOSAIC_GPUS is a number of GPUs, or a list of their indices such as "0,2".
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import ConfigError
from mosaic.logs import get_logger

log = get_logger(__name__)

MEMINFO = Path("/proc/meminfo")
NVIDIA_SMI_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Capacity:
    cpus: int
    memory_mb: int
    gpus: tuple[int, ...] = ()


def machine_capacity(environment: Mapping[str, str] | None = None) -> Capacity:
    variables = os.environ if environment is None else environment
    cpus = _positive(variables, "MOSAIC_CPUS")
    memory_mb = _positive(variables, "MOSAIC_MEMORY_MB")
    chosen = variables.get("MOSAIC_GPUS", "").strip()
    return Capacity(
        cpus=cpus or len(os.sched_getaffinity(0)),
        memory_mb=memory_mb or total_memory_mb(MEMINFO.read_text()),
        gpus=parse_gpus(chosen) if chosen else _visible(find_gpus(), variables),
    )


def _positive(variables: Mapping[str, str], name: str) -> int | None:
    text = variables.get(name, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise ConfigError(f"{name} is {text!r}", hint="write a positive whole number", field=name)
    return int(text)


def total_memory_mb(meminfo: str) -> int:
    for line in meminfo.splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) // 1024
    raise ConfigError("/proc/meminfo does not tell the memory", hint="set MOSAIC_MEMORY_MB")


def parse_gpus(text: str) -> tuple[int, ...]:
    """ "2" means two GPUs, "0,2" means those with the indices 0 and 2, "0" means none."""
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if not pieces or not all(piece.isdecimal() for piece in pieces):
        raise ConfigError(
            f"MOSAIC_GPUS is {text!r}",
            hint='write a number such as "2", or indices such as "0,2"',
            field="MOSAIC_GPUS",
        )
    numbers = [int(piece) for piece in pieces]
    return tuple(sorted(set(numbers))) if "," in text else tuple(range(numbers[0]))


def find_gpus() -> tuple[int, ...]:
    """Indices as nvidia-smi counts them (by PCI bus); none when there is no such program."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        done = subprocess.run(
            [program, "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=NVIDIA_SMI_TIMEOUT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        # A broken driver must not keep the daemon from starting: CPU runs still work.
        log.warning("gpus.undetected", error=str(error))
        return ()
    return tuple(sorted(int(line) for line in done.stdout.split() if line.isdecimal()))


def _visible(gpus: tuple[int, ...], variables: Mapping[str, str]) -> tuple[int, ...]:
    """A daemon that may use only some of the GPUs hands out only those."""
    pieces = variables.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if not all(piece.strip().isdecimal() for piece in pieces):
        return gpus
    wanted = {int(piece) for piece in pieces}
    return tuple(gpu for gpu in gpus if gpu in wanted)


MOUNTS = Path("/proc/self/mounts")
MEMORY = frozenset({"tmpfs", "ramfs"})
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph"})


def filesystem_type(path: Path, mounts: str | None = None) -> str:
    """The type's name, such as "ext4" or "tmpfs"; empty when it is unknown."""
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
