"""Reports what the learner does: steps with what is believed and wanted, episodes, and figures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mosaic.worker import Run
from spade_bdi_rl_worker.inner_life import InnerLife
from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.mind_text import mind_texts, with_more
from spade_bdi_rl_worker.statistics import Statistics

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.pursuits import Outcome, Steps
    from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
    from spade_bdi_rl_worker.recorder import EpisodeRecorder
    from spade_bdi_rl_worker.values_file import ValuesFile

METRICS_EVERY = 100  # episodes, at first; later this share of those that were played
_SHARE_OF_PLAYED = 200
_FLAG_ENDS = kernels.TERMINATED | kernels.TRUNCATED


class Telemetry:
    """Called by the thread that plays."""

    def __init__(
        self,
        run: Run[Any],
        runtime: QLearningRuntime,
        life: InnerLife,
        recorder: EpisodeRecorder | None,
        values: ValuesFile,
    ) -> None:
        self._run = run
        self._runtime = runtime
        self._life = life
        self._recorder = recorder
        self._values = values
        self._goal = ""
        self._base: dict[str, Any] = {}
        self._total = 0.0  # of the episode whose steps are being reported
        self._step = 0
        self._metrics_at = METRICS_EVERY  # episodes
        self._rate = (time.perf_counter(), runtime.steps, runtime.episodes)

    def restore(self, total: float) -> None:
        """An episode that was begun before has come to this."""
        self._total = total

    def begin_pursuit(self, goal: str) -> None:
        self._goal = goal
        plans = self._life.plans
        self._base = {
            "goal": goal,
            "plan": plans[-1] if plans else "",
            "intention": " › ".join(plans[-4:]),
        }

    # Steps

    def begin_steps(self) -> None:
        """What follows is reported step by step."""
        runtime = self._runtime
        in_episode = runtime.state is not None
        self._step = runtime.steps
        if not in_episode:
            self._total = 0.0
        if self._recorder is not None:
            self._recorder.begin(runtime.steps, in_episode)

    def report_steps(self, steps: Steps) -> None:
        """Called by the runtime, before it goes on."""
        if self._recorder is not None:
            self._recorder.add(steps)
        run, base, changes = self._run, self._base, self._life.take_changes()
        infos = mind_texts(base, steps.reals[:, kernels.R_CONFIDENCE :])
        # Column by column: a list for each row would keep the garbage collector busy.
        rewards = steps.reals[:, kernels.R_REWARD].tolist()
        columns = steps.integers.T.tolist()
        for episode, index, state, action, _, flags, reward, info in zip(
            *columns, rewards, infos, strict=True
        ):
            if flags & kernels.WAS_FOLLOWING:
                info = with_more(info, {"by_subgoal": True})
            if changes:
                info = with_more(info, changes)
                changes = {}
            terminated = bool(flags & kernels.TERMINATED)
            truncated = bool(flags & kernels.TRUNCATED)
            run.step(
                episode_index=episode,
                step_index=index,
                action=action,
                observation=state,
                reward=reward,
                terminated=terminated,
                truncated=truncated,
                info=info,
            )
            self._total += reward
            self._step += 1
            if flags & _FLAG_ENDS:
                run.episode(
                    episode_index=episode,
                    total_reward=self._total,
                    steps=index + 1,
                    terminated=terminated,
                    truncated=truncated,
                    metadata={"step": self._step, "goal": self._goal},
                )
                self._total = 0.0

    # Episodes

    def report_merged(self, outcome: Outcome) -> None:
        """One row for all that ended."""
        count = outcome.episodes
        if not count:
            return
        metadata = {"step": self._runtime.steps, "goal": self._goal}
        if count > 1:
            metadata["count"] = count
            metadata["lowest_return"] = float(outcome.returns.min())
            metadata["highest_return"] = float(outcome.returns.max())
        terminated = bool(outcome.terminated.any())
        self._run.episode(
            episode_index=self._runtime.episodes - 1,
            total_reward=float(outcome.returns.mean()),
            steps=round(float(outcome.lengths.mean())),
            terminated=terminated,
            truncated=not terminated,
            metadata=metadata,
        )

    # Metrics

    def report_metrics(
        self, td_error: float, statistics: Statistics, confidence: float, *, always: bool = False
    ) -> None:
        """Some hundred sets in all, by the number of episodes and not by time."""
        runtime = self._runtime
        if runtime.episodes < self._metrics_at and not always:
            return
        self._metrics_at = runtime.episodes + max(
            METRICS_EVERY, runtime.episodes // _SHARE_OF_PLAYED
        )
        visited = int((runtime.visits().sum(axis=1) > 0).sum())
        now, (then, steps, episodes) = time.perf_counter(), self._rate
        elapsed = max(now - then, 1e-6)
        self._rate = (now, runtime.steps, runtime.episodes)
        self._run.metrics(
            {
                "bdi/epsilon": runtime.epsilon,
                "bdi/learning_rate": runtime.learning_rate,
                "bdi/td_error": td_error,
                "bdi/confidence": confidence,
                "bdi/success_rate": statistics.success_rate,
                "bdi/states_visited": visited,
                "charts/SPS": (runtime.steps - steps) / elapsed,
                "charts/episodes_per_second": (runtime.episodes - episodes) / elapsed,
            },
            runtime.steps,
        )
        self._values.write_next()
