"""What the panel says before somebody plays: the keys, or why there are none."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.gui.state.key_maps import KeyMap, NotPlayable
from mosaic.gui.state.launch_form import Problem
from mosaic.gui.state.launch_state import LaunchState
from mosaic.gui.state.play_plan import keys_for
from mosaic.gui.state.targets import Mode
from mosaic.gui.state.workbench_state import Connection


class KeyRow(NamedTuple):
    keys: str
    text: str


def key_rows(launch: LaunchState) -> tuple[list[KeyRow], str]:
    """The rows of the key map, and a note on it."""
    found = _keys(launch)
    if isinstance(found, NotPlayable):
        return [], ""  # `play_problem` says why
    rows = [KeyRow("  ".join(item.signs), item.text) for item in found.bindings]
    note = found.note or ("" if rows else "The keys are shown when the game has started")
    return rows, note


def play_problem(launch: LaunchState) -> Problem | None:
    """Why nobody can play now."""
    state = launch.state
    if state.connection is not Connection.ONLINE:
        return Problem("The daemon is not connected")
    if not state.env_id:
        return Problem("Choose an environment", "env_id")
    found = _keys(launch)
    if isinstance(found, NotPlayable):
        return Problem(found.reason, "env_id")
    if state.mode is Mode.HYBRID:
        policy = launch.play_policy
        if policy is None:
            return Problem("Choose a policy that plays with you", "policy")
        if policy.env_id and policy.env_id != state.env_id:
            return Problem(f"This policy was trained in {policy.env_id}", "policy")
    return None


def _keys(launch: LaunchState) -> KeyMap | NotPlayable:
    state = launch.state
    return keys_for(state.env_id, state.environment(state.env_id))
