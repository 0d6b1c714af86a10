"""The state of a batch, taken apart into states of batches of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def slot_states(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One per environment; each can be loaded by a batch of the same kind with one environment."""
    if "environments" in state:
        return [{"environments": [saved], "video_episodes": 0} for saved in state["environments"]]
    # Stepped natively: every entry has one row per environment.
    return [
        {name: rows[index : index + 1] for name, rows in state.items()}
        for index in range(len(state["states"]))
    ]
