"""How the policy of each algorithm is brought back from its file. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cleanrl_worker.registry import find_algorithm

_BUILDERS = "cleanrl_worker.evaluation.agent_builders"


@dataclass(frozen=True)
class EvalEntry:
    # "module:function", called with the two spaces and the algorithm's arguments.
    agent: str
    # Which network of the file acts; the others (critics, say) only serve learning.
    payload_index: int = 0
    # The argument that says whether the policy knows normalised observations only.
    normalizer_argument: str | None = None
    frame_stack: int = 4
    is_recurrent: bool = False


_ACTOR_CRITIC = EvalEntry(f"{_BUILDERS}:actor_critic", normalizer_argument="normalize_observations")
_DQN = EvalEntry(f"{_BUILDERS}:q_network")
_C51 = EvalEntry(f"{_BUILDERS}:c51_network")

EVAL_REGISTRY: Mapping[str, EvalEntry] = {
    "ppo": _ACTOR_CRITIC,
    "ppo_continuous_action": _ACTOR_CRITIC,
    "ppo_atari": _ACTOR_CRITIC,
    "ppo_atari_lstm": EvalEntry(f"{_BUILDERS}:lstm_agent", frame_stack=1, is_recurrent=True),
    "rpo_continuous_action": _ACTOR_CRITIC,
    "pqn": EvalEntry(f"{_BUILDERS}:pqn_network"),
    "dqn": _DQN,
    "dqn_atari": _DQN,
    "c51": _C51,
    "c51_atari": _C51,
    "ddpg_continuous_action": EvalEntry(f"{_BUILDERS}:ddpg_actor"),
    "td3_continuous_action": EvalEntry(f"{_BUILDERS}:td3_actor"),
    "sac_continuous_action": EvalEntry(f"{_BUILDERS}:soft_actor"),
    "sac_atari": EvalEntry(f"{_BUILDERS}:discrete_soft_actor"),
}


def find_entry(algo: str) -> EvalEntry:
    """Raises ConfigError with the nearest names when there is no such algorithm."""
    return EVAL_REGISTRY[find_algorithm(algo).name]
