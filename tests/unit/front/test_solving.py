"""When a training solved its environment, by its episodes."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.front.solving import may_be_solved, solved_at
from tests.unit.gui.run_samples import record


def episode(index: int, total_reward: float, **changes: Any) -> EpisodeSummary:
    values: dict[str, Any] = {
        **{"run_id": "R", "agent_id": "agent", "worker_id": "w", "seq": index},
        **{"timestamp": 100.0 + index, "episode_index": index, "total_reward": total_reward},
        **{"steps": 10, "terminated": True, "truncated": False},
    }
    return EpisodeSummary(**{**values, **changes})


def test_a_hundred_episodes_decide() -> None:
    poor = [episode(index, 0.0) for index in range(50)]
    good = [episode(50 + index, 500.0) for index in range(100)]
    assert solved_at([*poor, *good[:94]], 475, 100.0) is None
    found = solved_at([*poor, *good], 475, 100.0)
    # 95 of the newest hundred had 500 and five had nothing: the mean is 475.
    assert found is not None and found.step == (50 + 95) * 10
    assert found.text == "solved at step 1,450, after 2 min 24 s"
    assert found.reason == "the mean return of 100 episodes reached 475"


def test_fewer_are_not_enough_and_broken_ones_do_not_count() -> None:
    assert solved_at([episode(index, 500.0) for index in range(99)], 475, None) is None
    broken = [episode(index, 500.0, terminated=False) for index in range(200)]
    assert solved_at(broken, 475, None) is None


def test_the_worker_knows_the_step_better() -> None:
    told = [episode(index, -80.0, metadata={"step": 7 * index}) for index in range(100)]
    found = solved_at(told, -100, None)
    assert found is not None and found.text == "solved at step 693"


def test_only_trainings_are_looked_at() -> None:
    def run(extras: dict[str, Any], algo: str | None = "ppo") -> RunRecord:
        settings = {"extras": extras, **({"algo": algo} if algo else {})}
        progress = Progress(steps=1, episodes=500, mean_return=500.0)
        config = {"metadata": {"worker": {"config": settings}}}
        return record(progress=progress, config=config)

    assert may_be_solved(run({}), 475.0)
    assert not may_be_solved(run({}), None)
    assert not may_be_solved(run({"mode": "policy_eval"}), 475.0)
    assert not may_be_solved(run({}, algo=None), 475.0), "a scripted policy learns nothing"
