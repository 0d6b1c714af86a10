"""FlatRAdam: torch's RAdam over FlatParameters, by the kernel of Adam.

RAdam (Liu 2020) is Adam whose rate is held back while its mean square rests on few gradients, and
which for the first few ignores that mean square altogether.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from cleanrl_worker.kit.flat_adam import BETA_1, BETA_2, FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters

EPSILON = 1e-8
_LONGEST_MEMORY = 2.0 / (1.0 - BETA_2) - 1.0


class FlatRAdam(FlatAdam):
    def __init__(self, flat: FlatParameters, learning_rate: float) -> None:
        super().__init__(flat, learning_rate, EPSILON)
        self.learning_rate = learning_rate
        self._steps = 0

    def step(self) -> None:
        self._steps += 1
        rectification = variance_rectification(self._steps)
        if rectification is None:
            self._step_without_variance()
            return
        self.set_learning_rate(self.learning_rate * rectification)
        # Adam adds it to the root of the corrected mean square, RAdam to that of the plain one.
        self.epsilon = EPSILON / math.sqrt(1.0 - BETA_2**self._steps)
        super().step()

    def _step_without_variance(self) -> None:
        self.step_count.add_(1)
        self.exp_avg.lerp_(self.gradient, 1.0 - BETA_1)
        self.exp_avg_sq.mul_(BETA_2).addcmul_(self.gradient, self.gradient, value=1.0 - BETA_2)
        self.values.add_(self.exp_avg, alpha=-self.learning_rate / (1.0 - BETA_1**self._steps))

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        super().load_state_dict(state)
        self._steps = int(state["step"])


def variance_rectification(step: int) -> float | None:
    """How far the mean square can be trusted; None in the first steps, when it cannot at all."""
    decay = BETA_2**step
    memory = _LONGEST_MEMORY - 2.0 * step * decay / (1.0 - decay)
    if memory <= 5.0:
        return None
    seen = (memory - 4.0) * (memory - 2.0) / memory
    whole = (_LONGEST_MEMORY - 4.0) * (_LONGEST_MEMORY - 2.0) / _LONGEST_MEMORY
    return math.sqrt(seen / whole)
