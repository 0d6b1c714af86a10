"""Hypothesis strategies for journal lines no worker should ever write."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from tests import journal_lines as lines

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)

_field_names = st.sampled_from(
    [
        *("type", "seq", "timestamp", "run_id", "agent_id", "worker_id", "episode_index"),
        *("step_index", "action", "observation", "reward", "terminated", "truncated", "info"),
        *("render_hint", "episode_seed", "total_reward", "steps", "metadata", "name", "value"),
        *("step", "payload", "schema_version", "protocol", "capabilities", "attempt", "pid"),
    ]
)

# Events with one to three fields replaced by whatever JSON can hold.
damaged_events = st.builds(
    lambda base, changes: json.dumps({**json.loads(base), **changes}).encode(),
    st.sampled_from(
        [
            *(lines.step(1), lines.episode(1), lines.metric(1), lines.registered()),
            lines.lifecycle("heartbeat", 1, steps=4),
            lines.lifecycle("run_started", 1, total_steps=4, env_id="CartPole-v1"),
        ]
    ),
    st.dictionaries(_field_names, json_values, min_size=1, max_size=3),
)

strange_lines = (
    st.binary(max_size=200) | json_values.map(json.dumps).map(str.encode) | damaged_events
)
