"""How much one look at growing files may read."""

from __future__ import annotations


class ByteBudget:
    """Without a number there is no end to it. `is_used_up` says whether anybody was turned away."""

    def __init__(self, max_bytes: int | None) -> None:
        self._left = max_bytes
        self.is_used_up = False

    def has_room(self) -> bool:
        if self._left is not None and self._left <= 0:
            self.is_used_up = True
        return not self.is_used_up

    def use(self, count: int) -> None:
        if self._left is not None:
            self._left -= count
