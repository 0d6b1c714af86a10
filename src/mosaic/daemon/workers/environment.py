"""The variables a worker gets: chosen ones of the daemon's, the run's own, and the contract's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from mosaic.contracts.run_config import RESERVED_PREFIX
from mosaic.contracts.secrets import SecrecyRules, is_reference, is_secret_name, listed_names

PASS_VARIABLE = "MOSAIC_PASS_ENV"
_ALLOWED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|LD_LIBRARY_PATH|SSL_CERT_\w+"
    r"|\w+_proxy|\w+_PROXY|CUDA_\w+|NVIDIA_\w+|MUJOCO_GL|PYOPENGL_PLATFORM|SDL_VIDEODRIVER"
    r"|QT_QPA_PLATFORM|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|VIRTUAL_ENV",
    re.ASCII,
)
_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def inherited_environment(daemon_environment: Mapping[str, str]) -> dict[str, str]:
    """What a worker may see of the daemon's own variables; never a secret, never MOSAIC's own."""
    rules = SecrecyRules.of(daemon_environment)
    listed = listed_names(daemon_environment.get(PASS_VARIABLE, ""))
    return {
        name: value
        for name, value in daemon_environment.items()
        if (name in listed or _ALLOWED.fullmatch(name))
        and not rules.is_surely_secret(name, value)
        and not name.startswith(RESERVED_PREFIX)
    }


def passed_secrets(daemon_environment: Mapping[str, str]) -> dict[str, str]:
    """The daemon's secrets that a worker gets, to be treated as such: those listed in
    MOSAIC_PASS_ENV, and inherited ones with a password in them, such as the URL of a proxy."""
    rules = SecrecyRules.of(daemon_environment)
    listed = listed_names(daemon_environment.get(PASS_VARIABLE, ""))
    return {
        name: value
        for name, value in daemon_environment.items()
        if (name in listed or (_ALLOWED.fullmatch(name) and not is_secret_name(name)))
        and value
        and rules.is_surely_secret(name, value)
        and not name.startswith(RESERVED_PREFIX)
    }


def joined_path(*folders: str) -> str:
    """For PYTHONPATH; an empty piece would mean the current directory."""
    return os.pathsep.join(folder for folder in folders if folder)


def build_environment(
    *,
    daemon_environment: Mapping[str, str],
    run_environment: Mapping[str, str],
    path_dirs: Iterable[str],
    cpus: int,
    gpu_slots: Iterable[int],
    contract: Mapping[str, str],
) -> dict[str, str]:
    """All the worker sees besides its secrets. Later groups win over earlier ones."""
    own = {name: value for name, value in run_environment.items() if not is_reference(name, value)}
    return {
        **inherited_environment(daemon_environment),
        **dict.fromkeys(_THREAD_COUNTS, str(cpus)),
        "PYTHONUNBUFFERED": "1",
        # GPUs are counted as nvidia-smi counts them, which CUDA does not do by itself.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        **own,
        "PYTHONPATH": joined_path(*path_dirs, own.get("PYTHONPATH", "")),
        # Also when the run names other GPUs: those belong to other runs.
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpu_slots)),
        **contract,
    }
