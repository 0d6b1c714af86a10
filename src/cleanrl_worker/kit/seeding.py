"""What a training starts from: seeds, threads and the device."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import numpy as np
import torch

from cleanrl_worker.arguments import Arguments
from mosaic.errors import ConfigError


def seed_everything(seed: int, deterministic: bool) -> None:
    """Seed the global generators; `Session.rng` and the environments have their own."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # libraries still draw from it
    torch.manual_seed(seed % 2**63)
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cudnn.benchmark = not deterministic


def choose_threads(arguments: Arguments, default: int) -> int:
    """Let torch use the threads asked for, else `default`, within the CPUs this process may use.

    One thread too many is costly: each operation ends by waiting for the one without a core.
    """
    threads = arguments.threads or max(1, min(default, available_cpus(os.environ)))
    torch.set_num_threads(threads)
    # Adam's mean gradient of a dead unit shrinks for ever; below 1e-38 each step takes twice as
    # long. Threads started from now on inherit this.
    torch.set_flush_denormal(True)
    return threads


def available_cpus(environment: Mapping[str, str]) -> int:
    """OMP_NUM_THREADS, by which the daemon and most clusters say it, else the process's cores."""
    told = environment.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() else len(os.sched_getaffinity(0))


def choose_device(arguments: Arguments) -> torch.device:
    """Raises ConfigError when a GPU is asked for and there is none: CPU speed would surprise."""
    if not arguments.cuda:
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda")
    built = torch.version.cuda is not None
    hint = "see `nvidia-smi`" if built else "this torch was built without CUDA"
    raise ConfigError(
        "'cuda': there is no usable GPU on this machine",
        hint=f"{hint}; without cuda the training runs on the CPU",
        field="cuda",
    )
