"""AtariSnapshots: the state of the emulator, its random numbers included, as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cleanrl_worker.environments.snapshots.snapshots import DirectSnapshots


class AtariSnapshots(DirectSnapshots):
    method = "atari"

    def _take_core(self) -> dict[str, Any]:
        emulator = self._env.unwrapped.ale
        state = emulator.cloneState(include_rng=True).serialize()
        return {"emulator": np.frombuffer(state, dtype=np.uint8)}

    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        import ale_py

        try:
            state = ale_py.ALEState(np.asarray(core["emulator"], dtype=np.uint8).tobytes())
            self._env.unwrapped.ale.restoreState(state)
        except (RuntimeError, SystemError) as error:  # what its C++ exceptions arrive as
            raise ValueError("not a state of this game") from error
