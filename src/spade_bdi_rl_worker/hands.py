"""The hands of the learner: what its plans pursue is played here, by tables and in a thread.

How many episodes are played at once depends on episodes and steps done, never on time: a run that
is repeated, or resumed, learns the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from spade_bdi_rl_worker.agents.protocols import Belief, PursuitRefusedError, PursuitReport
from spade_bdi_rl_worker.statistics import Statistics
from spade_bdi_rl_worker.targets import Success, Targets

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
    from spade_bdi_rl_worker.telemetry import Telemetry

# Episodes for which a decision is made, unless somebody says so.
FIRST_BATCH, LARGEST_BATCH = 50, 5_000
FIRST_FULL_BATCH, LARGEST_FULL_BATCH = 1, 100
_SHARE_OF_DONE = 20  # a batch is at most this part of what was done before
_CHUNK_STEPS = 100_000  # about; between two looks at the clock of the checkpoints
_CHUNK_EPISODES = 5_000
_UNKNOWN_LENGTH = 1_000  # steps of an episode, before one is over
_MOST_LOOKED_AT = 64  # states, for the confidence


@dataclass
class Batch:
    """What was decided to be pursued, and how much of it is done."""

    kind: str
    target: str
    episodes: int
    played: int = 0
    reached: int = 0
    total: float = 0.0

    def is_like(self, kind: str, target: str) -> bool:
        return (self.kind, self.target) == (kind, target)


@dataclass(frozen=True)
class Limits:
    """Where the run ends."""

    steps: int
    episodes: int | None = None


class WorldHands:
    """Keeps to `agents.protocols.Hands`. `attend` says whether the run has to stop; it may block
    while the run is paused. `settle` waits until the agents have nothing more to say.
    """

    def __init__(
        self,
        runtime: QLearningRuntime,
        telemetry: Telemetry,
        limits: Limits,
        *,
        is_full: bool,
        sample_every: int,
        decides_batches: bool,
        attend: Callable[[], bool],
        settle: Callable[[], None] = lambda: None,
        after_chunk: Callable[[], None] = lambda: None,
    ) -> None:
        self.statistics = Statistics()
        self.is_playing = False
        self._runtime = runtime
        self._telemetry = telemetry
        self._limits = limits
        self._is_full = is_full
        self._sample_every = sample_every
        self._decides_batches = decides_batches
        self._attend = attend
        self._settle = settle
        self._after_chunk = after_chunk
        self._targets = Targets(runtime.world)
        self._success = Success(runtime.world)
        self._interrupted = threading.Event()
        self._is_stopped = False
        self._batch: Batch | None = None
        self._is_restored = False
        self._last_goal = ""
        self._shows_next = True  # the next whole episode is reported with its steps
        self._beliefs: dict[str, Belief] = {}
        self._form_beliefs()

    # What agents call

    def pursue(self, kind: str, target: str, episodes: int) -> PursuitReport:
        if self.is_over:
            return PursuitReport(0, is_over=True)
        state = self._state_of(kind, target)
        self._settle()
        batch = self._begin_batch(kind, target, episodes)
        self._interrupted.clear()
        self.is_playing = True
        try:
            self._play(batch, state)
        finally:
            self.is_playing = False
        report = PursuitReport(
            batch.played,
            batch.reached,
            batch.total / batch.played if batch.played else 0.0,
            was_interrupted=batch.played < batch.episodes,
            is_over=self.is_over,
        )
        if not self.is_over:  # else it is kept, for a run that goes on from here
            self._batch = None
            self._form_beliefs()
        return report

    def interrupt(self) -> None:
        self._interrupted.set()

    def beliefs(self) -> dict[str, Belief]:
        return dict(self._beliefs)

    # Playing

    @property
    def is_over(self) -> bool:
        return self._is_stopped or self.is_done

    @property
    def is_done(self) -> bool:
        """The budget is used up."""
        limits, runtime = self._limits, self._runtime
        return runtime.steps >= limits.steps or (
            limits.episodes is not None and runtime.episodes >= limits.episodes
        )

    def _state_of(self, kind: str, target: str) -> int | None:
        if kind != "subgoal":
            return None
        try:
            return self._targets.state_of(target)
        except LookupError as error:
            raise PursuitRefusedError(str(error.args[0])) from error

    def _begin_batch(self, kind: str, target: str, episodes: int) -> Batch:
        """A new one, or the rest of one that was under way when a checkpoint was saved."""
        found = self._batch if self._is_restored else None
        self._is_restored = False
        if found is None or not found.is_like(kind, target) or found.played >= episodes:
            found = Batch(kind, target, episodes)
        goal = f"{kind} {target}".strip()
        self._shows_next = self._shows_next or goal != self._last_goal
        self._last_goal = goal
        self._telemetry.begin_pursuit(goal)
        self._batch = found
        return found

    def _play(self, batch: Batch, state: int | None) -> None:
        from spade_bdi_rl_worker.learning.pursuits import Pursuit, PursuitKind

        kind: PursuitKind = batch.kind  # type: ignore[assignment]
        runtime, telemetry = self._runtime, self._telemetry
        while batch.played < batch.episodes and not self.is_over:
            if self._interrupted.is_set():
                return
            count, is_reported = self._chunk(batch.episodes - batch.played)
            if is_reported:
                telemetry.begin_steps()
            outcome = runtime.pursue(
                Pursuit(kind, state, count),
                on_steps=telemetry.report_steps if is_reported else None,
                should_stop=self._should_stop,
            )
            if not is_reported:
                telemetry.report_merged(outcome)
            batch.played += outcome.episodes
            batch.reached += int(outcome.reached.sum())
            batch.total += float(outcome.returns.sum())
            self.statistics.add(
                outcome.returns, self._success.of(outcome.returns, outcome.terminated)
            )
            telemetry.report_metrics(outcome.td_error, self.statistics, self.confidence)
            self._after_chunk()
            if self._attend():
                self._is_stopped = True

    def _should_stop(self) -> bool:
        if self._interrupted.is_set() or self._runtime.steps >= self._limits.steps:
            return True
        if self._attend():
            self._is_stopped = True
        return self._is_stopped

    def _chunk(self, wanted: int) -> tuple[int, bool]:
        """How many episodes are played at once, and whether all their steps are reported."""
        runtime = self._runtime
        most = min(wanted, _CHUNK_EPISODES, max(1, _CHUNK_STEPS // self._usual_length))
        left = self._limits.steps - runtime.steps
        most = min(most, max(1, left // self._longest))
        if self._limits.episodes is not None:
            most = min(most, self._limits.episodes - runtime.episodes)
        if self._is_full:
            return most, True
        is_between = runtime.state is None
        if is_between and (self._shows_next or self._is_sample(runtime.episodes)):
            self._shows_next = False
            return 1, True
        if self._shows_next:
            return 1, False  # the rest of the one that is under way
        if self._sample_every:
            most = min(most, self._sample_every - runtime.episodes % self._sample_every)
        return most, False

    def _is_sample(self, episode: int) -> bool:
        return bool(self._sample_every) and episode % self._sample_every == 0

    @property
    def _usual_length(self) -> int:
        episodes, steps = self._runtime.episodes, self._runtime.steps
        return max(1, steps // episodes) if episodes else self._longest

    @property
    def _longest(self) -> int:
        """Steps that an episode may take, where somebody knows; else more than is usual."""
        limit = self._runtime.world.limit
        if limit is not None:
            return limit
        episodes, steps = self._runtime.episodes, self._runtime.steps
        return 10 * (steps // episodes + 1) if episodes else _UNKNOWN_LENGTH

    # What is believed

    @property
    def confidence(self) -> float:
        """How sure the values are of the states that it met most, each as often as it met it."""
        visits = self._runtime.visits().sum(axis=1)
        states = visits.argsort(kind="stable")[::-1][:_MOST_LOOKED_AT].tolist()
        weights = [int(visits[state]) for state in states]
        total = sum(weights)
        if not total:
            return 0.0
        known = (
            weight * self._runtime.confidence(state)
            for state, weight in zip(states, weights, strict=True)
            if weight
        )
        return sum(known) / total

    def _form_beliefs(self) -> None:
        statistics = self.statistics
        self._beliefs = {
            "episodes": self._runtime.episodes,
            "success_rate": statistics.success_rate,
            "mean_return": statistics.mean_return,
            "confidence": self.confidence,
            "stagnating": statistics.is_stagnating,
        }
        if self._decides_batches:
            self._beliefs["batch"] = batch_after(self._runtime.episodes, self._is_full)

    # Keeping

    def state_dict(self) -> dict[str, Any]:
        return {
            "statistics": self.statistics.state_dict(),
            "beliefs": dict(self._beliefs),
            "batch": None if self._batch is None else asdict(self._batch),
            "last_goal": self._last_goal,
            "shows_next": self._shows_next,
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Raises LookupError, TypeError or ValueError for what is not such a state."""
        self.statistics.load_state_dict(saved["statistics"])
        self._beliefs = dict(saved["beliefs"])
        self._batch = None if saved["batch"] is None else Batch(**saved["batch"])
        self._is_restored = self._batch is not None
        self._last_goal = str(saved["last_goal"])
        self._shows_next = bool(saved["shows_next"])


def batch_after(episodes: int, is_full: bool) -> int:
    """How many episodes the next decision is for: few at first, when every one changes much."""
    first, largest = (
        (FIRST_FULL_BATCH, LARGEST_FULL_BATCH) if is_full else (FIRST_BATCH, LARGEST_BATCH)
    )
    return max(first, min(largest, episodes // _SHARE_OF_DONE))
