"""SharedArrays: what a step of all environments takes and gives, in memory processes share.

The memory has no name: it is gone with the last process that has it, however that one ended.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from cleanrl_worker.environments.batch import Array

_ALIGNMENT = 64  # a cache line each, so that processes do not slow each other down


class SharedArrays:
    actions: Array
    observations: Array
    finals: Array
    rewards: Array
    terminated: Array
    truncated: Array

    def __init__(self, descriptor: int, num_envs: int, observations: Any, actions: Any) -> None:
        """`observations` and `actions` are (shape, dtype) of one environment."""
        layout = {
            "actions": actions,
            "observations": observations,
            "finals": observations,
            "rewards": ((), np.float32),
            "terminated": ((), np.bool_),
            "truncated": ((), np.bool_),
        }
        offsets: dict[str, int] = {}
        size = 0
        for name, (shape, dtype) in layout.items():
            offsets[name] = size
            length = int(np.prod((num_envs, *shape))) * np.dtype(dtype).itemsize
            size += -(-length // _ALIGNMENT) * _ALIGNMENT
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, size)
        for name, (shape, dtype) in layout.items():
            array: Array = np.ndarray((num_envs, *shape), dtype, memory, offsets[name])
            setattr(self, name, array)
