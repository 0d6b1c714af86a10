"""Recordings of a made-up environment, for tests of replay: it counts, and can be told to fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording, EpisodeStart, Moment


def recording_of(rewards: list[float] | int = 5, **changes: Any) -> EpisodeRecording:
    """Of `CountingEnvironment`: action k is k, its reward is seed + k."""
    values = [100.0 + k for k in range(rewards)] if isinstance(rewards, int) else rewards
    steps = len(values)
    episode = EpisodeSummary(
        run_id="RUN",
        agent_id="agent",
        worker_id="worker",
        seq=7,
        timestamp=1.5,
        episode_index=3,
        total_reward=sum(values),
        steps=steps,
        terminated=True,
        truncated=False,
        episode_seed=100,
    )
    recording = EpisodeRecording(
        run_id="RUN",
        episode=episode,
        attempt=1,
        env_id="Counting-v0",
        maker="tests.replay_samples:CountingEnvironment",
        python="python",
        settings={"length": steps},
        start={"seed": 100},
        actions_json=tuple(range(steps)),
        rewards=tuple(values),
    )
    return replace(recording, **changes)


class CountingEnvironment:
    """Ends after settings["length"] steps, and notes down what is done to it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._length = settings["length"]
        self.begun = 0
        self.taken: list[Any] = []
        self.drawn = 0
        self.is_closed = False

    def begin(self, start: EpisodeStart) -> Any:
        self.begun += 1
        self._seed = start.details["seed"]
        self.taken = list(start.lead_actions)
        self._lead = len(self.taken)
        return [self._seed]

    def step(self, action: Any) -> Moment:
        self.taken.append(action)
        done = len(self.taken) - self._lead == self._length
        return Moment([len(self.taken)], self._seed + action, done, False)

    def picture(self) -> Any:
        import numpy

        self.drawn += 1
        return numpy.full((2, 3, 3), len(self.taken), numpy.uint8)

    def close(self) -> None:
        self.is_closed = True
