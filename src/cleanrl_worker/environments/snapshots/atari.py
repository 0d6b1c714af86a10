"""AtariSnapshots: the state of the emulator, its random numbers included, as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cleanrl_worker.environments.snapshots.snapshots import DirectSnapshots

# Its random numbers are written as text: so much may the length of a state vary.
_RANDOM_DIGITS = 10_000


class AtariSnapshots(DirectSnapshots):
    method = "atari"

    def _take_core(self) -> dict[str, Any]:
        emulator = self._env.unwrapped.ale
        state = emulator.cloneState(include_rng=True).serialize()
        return {"emulator": np.frombuffer(state, dtype=np.uint8)}

    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        import ale_py

        emulator = self._env.unwrapped.ale
        saved = core["emulator"]
        usual = len(emulator.cloneState(include_rng=True).serialize())
        is_state = isinstance(saved, np.ndarray) and saved.dtype == np.uint8 and saved.ndim == 1
        if not is_state or abs(len(saved) - usual) > _RANDOM_DIGITS:
            raise ValueError("not a state of this game")
        try:
            emulator.restoreState(ale_py.ALEState(saved.tobytes()))
        except (RuntimeError, SystemError, MemoryError) as error:  # as its C++ exceptions arrive
            raise ValueError("not a state of this game") from error
