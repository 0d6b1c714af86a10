"""What it takes to play what was asked for, or why it is not possible. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.policy_config import HUMAN, POLICY, play_document, play_fields, workers_for_play
from mosaic.gui.play.model.keys import KeyMap, NotPlayable, action_space_text, key_map_of
from mosaic.gui.state.targets import Mode, PlayTarget

# A session whose window is gone ends by itself after this; the window signals more often.
IDLE_LIMIT_S = 120.0
SIGN_OF_LIFE_S = 20.0


class Alternative(StrEnum):
    """What can be done instead."""

    NOTHING = ""
    CHOOSE_POLICY = "choose_policy"
    PLAY_ALONE = "play_alone"


ALTERNATIVE_TEXTS = {
    Alternative.CHOOSE_POLICY: "Watch a policy instead",
    Alternative.PLAY_ALONE: "Play without a policy",
}


@dataclass(frozen=True)
class Refusal:
    title: str
    text: str
    alternative: Alternative = Alternative.NOTHING
    alternative_text: str = ""

    @property
    def button(self) -> str:
        return self.alternative_text or ALTERNATIVE_TEXTS.get(self.alternative, "")


@dataclass(frozen=True)
class PlayFacts:
    """What a session told of itself once its environment and its policy were there."""

    action_space: str = ""
    action_meanings: tuple[str, ...] = ()
    problem: str = ""  # why there are no pictures; empty when there are


@dataclass(frozen=True)
class PlayPlan:
    target: PlayTarget
    document: Mapping[str, Any]
    key_map: KeyMap | NotPlayable
    controller: str
    is_restarting: bool

    @property
    def may_act(self) -> bool:
        """Whether the person can act at all in this session."""
        return self.target.mode is not Mode.AGENT and isinstance(self.key_map, KeyMap)

    @property
    def can_change_hands(self) -> bool:
        return self.may_act and self.target.policy is not None


def plan_play(
    target: PlayTarget, workers: Iterable[WorkerInfo], environment: EnvironmentInfo | None
) -> PlayPlan | Refusal:
    key_map = keys_for(target.env_id, environment)
    if target.policy is None and target.mode is not Mode.HUMAN:
        return _without_policy(target, key_map)
    if target.mode is Mode.HUMAN and isinstance(key_map, NotPlayable):
        return Refusal("Not with a keyboard", key_map.reason, Alternative.CHOOSE_POLICY)
    worker = _worker_of(target, workers)
    if isinstance(worker, Refusal):
        return worker
    is_human = target.mode is Mode.HUMAN
    policy = None if is_human else target.policy
    fields = play_fields(
        HUMAN if is_human else POLICY,
        fps=key_map.fps if isinstance(key_map, KeyMap) and target.mode is not Mode.AGENT else None,
        is_turn_based=isinstance(key_map, KeyMap) and key_map.is_turn_based,
        idle=key_map.idle if isinstance(key_map, KeyMap) else (),
        is_restarting=target.mode is Mode.AGENT,
        idle_limit_s=IDLE_LIMIT_S,
    )
    document = play_document(
        worker,
        target.env_id,
        policy.checkpoint if policy else None,
        target.seed,
        play=fields,
        algo=policy.algo if policy else "",
        parent_run=policy.run.run_id if policy and policy.run else "",
    )
    return PlayPlan(
        target, document, key_map, fields["controller"], is_restarting=target.mode is Mode.AGENT
    )


def keys_for(
    env_id: str, environment: EnvironmentInfo | None, facts: PlayFacts | None = None
) -> KeyMap | NotPlayable:
    """The session itself knows best; before it is there, the catalogue is asked."""
    known = environment.action_space if environment else ""
    return key_map_of(
        env_id,
        environment.family if environment else "",
        (facts.action_space if facts else "") or known,
        facts.action_meanings if facts else (),
    )


def read_facts(manifest: Mapping[str, Any]) -> PlayFacts | None:
    """From a run's manifest; None as long as it does not say."""
    metadata = manifest.get("metadata")
    told = metadata.get("play") if isinstance(metadata, Mapping) else None
    if not isinstance(told, Mapping):
        return None
    meanings = told.get("action_meanings")
    return PlayFacts(
        action_space_text(told.get("action_space")),
        tuple(map(str, meanings)) if isinstance(meanings, list) else (),
        str(told.get("problem") or ""),
    )


def _without_policy(target: PlayTarget, key_map: KeyMap | NotPlayable) -> Refusal:
    if target.mode is Mode.HYBRID and isinstance(key_map, KeyMap):
        return Refusal(
            "Hybrid needs a policy",
            "Choose a trained one under Use trained: it plays, and you take over when you like.",
            Alternative.PLAY_ALONE,
        )
    return Refusal(
        "Which policy shall play?",
        f"Choose one that was trained on {target.env_id}: under Use trained, or a run's"
        " Checkpoints.",
        Alternative.CHOOSE_POLICY,
        "Choose a policy",
    )


def _worker_of(target: PlayTarget, workers: Iterable[WorkerInfo]) -> str | Refusal:
    """The name of the one that plays."""
    able = workers_for_play(workers)
    if target.policy is not None and target.mode is not Mode.HUMAN:
        able = [worker for worker in able if worker.name == target.policy.worker]
        if not able:
            return Refusal(
                "This policy cannot be played",
                f"Its worker, {target.policy.worker}, does not play in real time or is not here.",
            )
    if not able:
        return Refusal(
            "No worker to play with",
            "None of the installed workers lets a person play. See the roster for what is missing.",
        )
    best = able[0]
    if best.error:
        return Refusal(f"{best.name} cannot be used", best.error)
    return best.name
