"""Makes tables, lets them grow, and turns them into plain arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.learning.errors import TablesError
from spade_bdi_rl_worker.learning.kernels import Rules, Table
from spade_bdi_rl_worker.learning.settings import LearningSettings

_ALGORITHM_NUMBERS = {
    "q_learning": kernels.Q_LEARNING,
    "sarsa": kernels.SARSA,
    "expected_sarsa": kernels.EXPECTED_SARSA,
    "double_q": kernels.DOUBLE_Q,
    "q_lambda": kernels.Q_LAMBDA,
}


def rules_of(settings: LearningSettings) -> Rules:
    number = _ALGORITHM_NUMBERS[settings.algorithm]
    return Rules(
        number,
        float(settings.learning_rate),
        float(settings.final_learning_rate),
        float(settings.half_visits),
        float(settings.discount),
        float(settings.subgoal_discount),
        float(settings.epsilon),
        float(settings.final_epsilon),
        int(settings.anneal_episodes),
        float(settings.trace_decay),
        kernels.numbers_per_step(number),
    )


def empty_table(rules: Rules, states: int, actions: int, value: float = 0.0) -> Table:
    pairs = states * actions if rules.algorithm == kernels.Q_LAMBDA else 1
    others = (states, actions) if rules.algorithm == kernels.DOUBLE_Q else (1, 1)
    return Table(
        np.full((states, actions), value),
        np.full(others, value),
        np.zeros((states, actions), dtype=np.int64),
        np.zeros((states, actions)),
        np.zeros(pairs),
        np.zeros(pairs, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


def grown(table: Table, rules: Rules, states: int, value: float = 0.0) -> Table:
    """The same with room for more states."""
    larger = empty_table(rules, states, table.values.shape[1], value)
    for old, new in zip(table, larger, strict=True):
        if len(old) > 1 or len(new) == len(old):
            new[: len(old)] = old
    return larger


def used_part(table: Table, states: int) -> dict[str, Any]:
    """Copies, without the room that a growing table keeps."""
    actions = table.values.shape[1]
    return {
        name: (
            array[: states * actions] if name in ("traces", "traced") else
            array if name == "counts" else
            array[:states]
        ).copy()
        for name, array in table._asdict().items()
    }  # fmt: skip


def table_from(saved: Mapping[str, Any], rules: Rules, states: int, actions: int) -> Table:
    """Raises TablesError unless the arrays are those of such a table."""
    wanted = empty_table(rules, states, actions)
    found = {}
    for name, like in wanted._asdict().items():
        array = np.asarray(saved.get(name))
        if array.shape != like.shape or array.dtype != like.dtype:
            raise TablesError(
                f"The saved tables have {name} of the shape {array.shape} and the kind "
                f"{array.dtype}; {like.shape} and {like.dtype} were to be expected",
                hint="they are of another world or another algorithm, or damaged",
            )
        found[name] = array.copy()
    table = Table(**found)
    traced = int(table.counts[kernels.TRACES])
    is_sound = (
        np.isfinite(table.values).all()
        and np.isfinite(table.other).all()
        and np.isfinite(table.error_squares).all()
        and np.isfinite(table.traces).all()
        and (table.counts >= 0).all()
        and (table.visits >= 0).all()
        and traced <= len(table.traced)
        and ((table.traced >= 0) & (table.traced < len(table.traces))).all()
        # What is followed must be listed once each, or the kernels would go beyond the list.
        and len(set(table.traced[:traced].tolist())) == traced
        and np.count_nonzero(table.traces) == np.count_nonzero(table.traces[table.traced[:traced]])
    )
    if not is_sound:
        raise TablesError(
            "The saved tables hold values that no learning comes to (not finite, or negative "
            "counts)",
            hint="take another checkpoint",
        )
    return table
