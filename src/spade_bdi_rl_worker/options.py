"""The `extras` of a run that are no parameters of an algorithm. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mosaic.worker import EvaluationOptions, option
from spade_bdi_rl_worker.agents.settings import shipped_plan
from spade_bdi_rl_worker.catalogue import MAX_EPISODES

TRAIN, RESUME, EVALUATE = "train", "resume_training", "policy_eval"
FULL, SUMMARY = "full", "summary"
EMBEDDED = "embedded"
# Where the password of an external server is looked for. Never in the config, which is stored.
PASSWORD_VARIABLE = "XMPP_PASSWORD"
_TRAINS = (TRAIN, RESUME)


@dataclass(frozen=True)
class WorkerExtras(EvaluationOptions):
    """None is as if it were not given."""

    mode: Literal["train", "resume_training", "policy_eval"] = option(
        "train", help="what to do with the algorithm"
    )
    algo_params: Mapping[str, Any] = option(dict, help="parameters of the algorithm")
    checkpoint_path: str | None = option(
        None, help="resume_training: the checkpoint to go on from", editor="checkpoint"
    )
    warm_start_path: str | None = option(
        None,
        help="what a checkpoint of a like training has learned",
        editor="checkpoint",
        title="Begin with",
        section="Run",
        placeholder="nothing",
        flag="--warm-start",
        modes=(TRAIN,),
    )
    policy_path: str | None = option(
        None, help="policy_eval: the checkpoint that acts", editor="checkpoint"
    )
    episodes: int | None = option(
        None,
        help="end after this many episodes, if that comes before the steps are used up",
        minimum=1,
        maximum=MAX_EPISODES,
        title="Episodes",
        section="Run",
        placeholder="no limit",
        flag="--episodes",
        modes=_TRAINS,
    )
    telemetry: Literal["full", "summary"] = option(
        "full",
        help="what is reported of the episodes",
        title="Telemetry",
        section="Telemetry",
        order=1,
        flag="--telemetry",
        modes=_TRAINS,
        choice_help={
            "full": "Every step with goal, plan, beliefs and confidence",
            "summary": "Merged episodes, for speed, and now and then one with all its steps",
        },
    )
    sample_every: int = option(
        1000,
        help="summary: every so many episodes one is reported with all its steps; 0: none",
        minimum=0,
        maximum=MAX_EPISODES,
        title="Sample every",
        section="Telemetry",
        order=2,
        unit="episodes",
        modes=_TRAINS,
        shown_when={"telemetry": SUMMARY},
    )
    record_episodes: bool = option(
        True,
        help="record what was done in the episodes whose steps are reported, for replay",
        title="Record episodes",
        section="Telemetry",
        order=3,
        modes=_TRAINS,
    )
    recording_limit_mb: int = option(
        1000,
        help="recording ends when it would become larger",
        minimum=1,
        title="Largest recording",
        section="Telemetry",
        order=4,
        unit="MB",
        modes=_TRAINS,
        shown_when={"record_episodes": True},
    )
    plan: str | None = option(
        None,
        help="a file with the learner's plans in AgentSpeak",
        editor="plan",
        role="learner",
        template=shipped_plan("learner"),
        title="Learner's plans",
        section="Agents",
        order=1,
        placeholder="those that come along",
        flag="--plan",
        modes=_TRAINS,
    )
    coach_plan: str | None = option(
        None,
        help="a file with the coach's plans in AgentSpeak",
        editor="plan",
        role="coach",
        template=shipped_plan("coach"),
        title="Coach's plans",
        section="Agents",
        order=2,
        placeholder="those that come along",
        flag="--coach-plan",
        modes=_TRAINS,
    )
    agents: Sequence[Mapping[str, Any]] | None = option(
        None,
        help='more agents (JSON): [{"name": "scout", "role": "observer", "plan": "scout.asl"}]; '
        "roles: coach, observer",
        title="More agents",
        section="Agents",
        order=3,
        placeholder="none",
        modes=_TRAINS,
    )
    episodes_per_decision: int | None = option(
        None,
        help="how many episodes a plan's decision is for, unless the plan says so itself",
        minimum=1,
        maximum=1_000_000,
        title="Episodes per decision",
        section="Agents",
        order=4,
        placeholder="more as the training goes on",
        modes=_TRAINS,
    )
    server: str = option(
        EMBEDDED,
        help="embedded (one of the run's own), or the host of another",
        title="XMPP server",
        section="XMPP",
        order=1,
        flag="--server",
        modes=_TRAINS,
    )
    server_port: int | None = option(
        None,
        help="of the XMPP server",
        minimum=1,
        maximum=65_535,
        title="Port",
        section="XMPP",
        order=2,
        placeholder="any that is free; 5222 on another host",
        modes=_TRAINS,
    )
    server_domain: str | None = option(
        None,
        help="what another server calls itself, where that is not its host",
        title="Domain",
        section="XMPP",
        order=3,
        placeholder="its host",
        modes=_TRAINS,
    )
    server_user: str | None = option(
        None,
        help="on another server: what comes before the agents' names in those of their accounts; "
        f"their password is in the environment variable {PASSWORD_VARIABLE}",
        title="User prefix",
        section="XMPP",
        order=4,
        placeholder="learner, coach, …",
        modes=_TRAINS,
    )
    server_verify: bool = option(
        True,
        help="check the certificate of another server",
        title="Check certificate",
        section="XMPP",
        order=5,
        modes=_TRAINS,
    )
    server_registers: bool = option(
        False,
        help="the agents make their accounts on another server themselves",
        title="Make accounts",
        section="XMPP",
        order=6,
        modes=_TRAINS,
    )
    checkpoint_interval: float = option(
        30.0,
        help="between two checkpoints; there is always one at the end; 0: only that one",
        minimum=0,
        title="Checkpoint every",
        section="Run",
        unit="s",
        modes=_TRAINS,
    )
    notes: str | None = option(
        None,
        help="your own words, kept with the run",
        editor="long_text",
        section="Run",
        placeholder="",
        flag="--notes",
        modes=_TRAINS,
    )
