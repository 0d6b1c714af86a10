"""What is played, what is refused, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.fastlane.layout import HUMAN_ACTS, OVER, PAUSED
from mosaic.fastlane.slot_writer import Metrics
from mosaic.front.catalogue import environments
from mosaic.gui.play.model.keys import KeyMap
from mosaic.gui.play.model.plan import (
    Alternative,
    PlayPlan,
    Refusal,
    keys_for,
    plan_play,
    read_facts,
)
from mosaic.gui.play.model.words import (
    FrameRate,
    centre_text,
    end_sentence,
    hud_parts,
    next_speed,
    play_now,
)
from mosaic.gui.state.targets import Mode, PlayTarget, PolicyTarget

PLAYER = WorkerInfo(
    "player", "player", "python", "entry", "", WorkerCapabilities("p", supports_play=True), ()
)
OTHER = WorkerInfo("other", "other", "python", "entry", "", WorkerCapabilities("o"), ())
POLICY = PolicyTarget(Path("/x/model"), "player", "CartPole-v1", "ppo")


def planned(target: PlayTarget, *workers: WorkerInfo) -> PlayPlan | Refusal:
    info = next((item for item in environments() if item.id == target.env_id), None)
    return plan_play(target, workers or (OTHER, PLAYER), info)


def extras(plan: PlayPlan | Refusal) -> dict[str, object]:
    assert isinstance(plan, PlayPlan), plan
    found: dict[str, object] = plan.document["metadata"]["worker"]["config"]["extras"]
    return found


def test_a_person_plays_with_the_worker_that_can() -> None:
    plan = planned(PlayTarget("CartPole-v1", Mode.HUMAN, POLICY))
    assert isinstance(plan, PlayPlan)
    assert plan.document["entry_point"] == "player"
    assert plan.may_act and not plan.is_restarting
    assert "policy_path" not in extras(plan), "a person alone needs no policy"


def test_hybrid_begins_with_the_policy_and_changes_hands() -> None:
    plan = planned(PlayTarget("CartPole-v1", Mode.HYBRID, POLICY))
    assert isinstance(plan, PlayPlan) and plan.can_change_hands
    play = extras(plan)["play"]
    assert isinstance(play, dict) and play["controller"] == "policy" and play["idle"] == [0, 1]


def test_playback_goes_on_by_itself_and_nobody_acts() -> None:
    plan = planned(PlayTarget("HalfCheetah-v5", Mode.AGENT, replace(POLICY, env_id="")))
    assert isinstance(plan, PlayPlan)
    assert plan.is_restarting and not plan.may_act and not plan.can_change_hands


def test_what_cannot_be_played_is_refused_with_a_way_out() -> None:
    cheetah = planned(PlayTarget("HalfCheetah-v5", Mode.HUMAN))
    assert isinstance(cheetah, Refusal)
    assert (
        cheetah.alternative is Alternative.CHOOSE_POLICY
        and cheetah.button == "Watch a policy instead"
    )
    hybrid = planned(PlayTarget("CartPole-v1", Mode.HYBRID))
    assert isinstance(hybrid, Refusal) and hybrid.alternative is Alternative.PLAY_ALONE
    agent = planned(PlayTarget("CartPole-v1", Mode.AGENT))
    assert isinstance(agent, Refusal) and "CartPole-v1" in agent.text
    nobody = planned(PlayTarget("CartPole-v1", Mode.HUMAN), OTHER)
    assert isinstance(nobody, Refusal) and nobody.button == ""
    foreign = planned(PlayTarget("CartPole-v1", Mode.AGENT, replace(POLICY, worker="other")))
    assert isinstance(foreign, Refusal) and "other" in foreign.text
    broken = planned(PlayTarget("CartPole-v1", Mode.HUMAN), replace(PLAYER, error="no python"))
    assert isinstance(broken, Refusal) and broken.text == "no python"


def test_the_session_tells_the_buttons_of_its_game() -> None:
    info = next(item for item in environments() if item.id == "ALE/Pong-v5")
    manifest = {
        "metadata": {
            "play": {
                "action_space": {"type": "discrete", "n": 3},
                "action_meanings": ["NOOP", "UP", "DOWN"],
                "problem": None,
            }
        }
    }
    facts = read_facts(manifest)
    assert facts is not None and facts.problem == ""
    key_map = keys_for("ALE/Pong-v5", info, facts)
    assert isinstance(key_map, KeyMap) and key_map.action({"down"}) == 2
    assert read_facts({}) is None and read_facts({"metadata": {"play": 3}}) is None


def test_numbers_below_the_picture() -> None:
    now = play_now(Metrics(1204, 2, 1.0, 87.5, 29.6, HUMAN_ACTS))
    assert dict(hud_parts(now, 29.6)) == {
        "": "you act",
        "step": "1,204",
        "reward": "1",
        "return": "87.5",
        "episode": "3",
        "fps": "30",
    }
    paused = play_now(Metrics(flags=PAUSED, step_rate_hz=-5))
    assert dict(hud_parts(paused, 12))["fps"] == "–" and paused.rate_hz == 0


def test_words_over_the_picture() -> None:
    plan = planned(PlayTarget("CartPole-v1", Mode.HUMAN))
    assert isinstance(plan, PlayPlan) and isinstance(plan.key_map, KeyMap)
    keys = plan.key_map

    def words(metrics: Metrics, has_focus: bool = True, is_restarting: bool = False) -> str:
        now = play_now(metrics)
        return centre_text(now, keys, "space", has_focus=has_focus, is_restarting=is_restarting)

    over = Metrics(87, 0, 1.0, 87.0, 0.0, OVER | HUMAN_ACTS)
    assert words(over) == "Episode over · return 87 · [R] again"
    assert "next one" in words(over, is_restarting=True)
    assert words(Metrics(flags=PAUSED)) == "Paused · [Space] go on · [.] one step"
    assert words(Metrics(flags=HUMAN_ACTS)) == "Press ← or → to begin"
    assert words(Metrics(flags=HUMAN_ACTS), has_focus=False) == "Click here to play"
    assert words(Metrics(3, flags=HUMAN_ACTS)) == "" and words(Metrics()) == ""


def test_why_a_session_ended() -> None:
    record = RunRecord("01", "play", "player", RunState.TERM, None, 1, 0, 0.0, 0.0)
    assert end_sentence(record) == "The session has ended."
    failure = FailureReason(FailureKind.WORKER_ERROR, "The file is no model", "give another one")
    assert end_sentence(replace(record, failure=failure)) == (
        "The file is no model. Give another one."
    )


def test_speed_and_rate() -> None:
    assert next_speed(1.0, True) == 2.0 and next_speed(8.0, True) == 8.0
    assert next_speed(0.25, False) == 0.25
    rate = FrameRate()
    for count in range(61):
        rate.add(count, count / 30)
    assert round(rate.per_s) == 30
    rate.add(2, 9.0)
    assert rate.per_s == 0.0, "another attempt counts anew"
