"""The worker's mode `policy_eval`: batches of episodes with summaries, and the exact value."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic.contracts.evaluation_summary import FILE_NAME
from mosaic.contracts.recording_file import EpisodeEnd
from mosaic.files import atomic_write_json, read_json
from mosaic.logs import get_logger
from mosaic.worker import ConfigError, Run, to_json, write_manifest
from mosaic.worker.recording import RecordingFacts, RecordingWriter, recording_path
from spade_bdi_rl_worker.checkpoints import Checkpoint, load_checkpoint, refuse_other_algorithm
from spade_bdi_rl_worker.config import BdiWorkerConfig
from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.learning.pursuits import Outcome, Pursuit, Steps
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import LearningSettings
from spade_bdi_rl_worker.learning.world import World
from spade_bdi_rl_worker.mind_text import mind_texts
from spade_bdi_rl_worker.saving import exact_policy_value
from spade_bdi_rl_worker.values_file import AGENTS_FOLDER, ValuesFile, agents_artifact

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_HISTORY = 1000
_RECORDING_BYTES = 1_000_000_000
_MOST_SEED = 2**31

log = get_logger(__name__)


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated, and how."""

    checkpoint: Checkpoint
    env_id: str
    env_kwargs: dict[str, Any]
    seed: int
    batch_size: int
    episodes: int | None
    repeat: bool
    gamma: float
    epsilon: float

    @property
    def conditions(self) -> dict[str, Any]:
        """What makes two evaluations the same."""
        return {
            "policy_path": str(self.checkpoint.path),
            "algo": self.checkpoint.trained.algo,
            "env_id": self.env_id,
            "seed": self.seed,
            "deterministic": self.epsilon == 0.0,
        }


def plan_evaluation(config: BdiWorkerConfig) -> Evaluation:
    checkpoint = load_checkpoint(Path(config.extras["policy_path"]))
    trained = checkpoint.trained
    refuse_other_algorithm(trained, config.algo, checkpoint.path, "algo")
    seeds = (config.extra("seed_override"), config.own("seed"), trained.seed)
    settings = LearningSettings(**trained.parameters)
    gamma = config.extra("eval_gamma")
    env_id = config.own("env_id") or trained.env_id
    own_kwargs = trained.env_kwargs if env_id == trained.env_id else {}
    return Evaluation(
        checkpoint,
        env_id,
        dict(config.parameters.get("env_kwargs") or own_kwargs),
        next(seed for seed in seeds if seed is not None) % _MOST_SEED,
        config.extra("eval_batch_size"),
        config.extra("eval_episodes"),
        config.extra("eval_repeat"),
        settings.discount if gamma is None else gamma,
        0.0 if config.extra("eval_deterministic") else settings.final_epsilon,
    )


def describe_evaluation(config: BdiWorkerConfig) -> dict[str, Any]:
    plan = plan_evaluation(config)
    make_runtime(plan).world.close()
    return {
        "mode": config.mode,
        **{name: plan.conditions[name] for name in ("algo", "env_id", "seed", "policy_path")},
        "eval_batch_size": plan.batch_size,
        "eval_repeat": plan.repeat,
    }


def make_runtime(plan: Evaluation) -> QLearningRuntime:
    """The tables in the world they are evaluated in, between two episodes."""
    trained = plan.checkpoint.trained
    world = World.make(plan.env_id, plan.env_kwargs, bins=trained.bins)
    try:
        settings = LearningSettings(**{"algorithm": trained.algo, **trained.parameters})
        runtime = QLearningRuntime(world, settings, trained.seed)
        saved = dict(plan.checkpoint.part("learning"))
        place = np.array(saved["place"])
        place[[kernels.IN_EPISODE, kernels.FOLLOWING, kernels.REACHED]] = 0
        place[[kernels.NEXT_ACTION, kernels.TARGET]] = -1
        if not world.grows and saved.get("states") != world.n_states:
            raise ConfigError(
                f"'env_id': the checkpoint knows {saved.get('states')} states, {plan.env_id} has "
                f"{world.n_states}",
                hint="evaluate it where it was trained, or on a map of the same size",
                field="env_id",
            )
        runtime.load_state_dict({**saved, "place": place})
    except BaseException:
        world.close()
        raise
    return runtime


def evaluate(run: Run[BdiWorkerConfig]) -> None:
    plan = plan_evaluation(run.config)
    runtime = make_runtime(plan)
    facts = {name: plan.conditions[name] for name in ("algo", "env_id", "seed", "policy_path")}
    outputs = run.output_directory
    folder = None if outputs is None else outputs / AGENTS_FOLDER
    values = ValuesFile(folder, runtime, run.note)
    values.write()
    write_manifest(run, metadata=facts, agents=agents_artifact(run, values, has_trace=False))
    run.checkpoint_loaded(plan.checkpoint.path, 0)
    player = Player(run, plan, runtime)
    try:
        player.play_batches()
    finally:
        player.close()
        runtime.world.close()


class Player:
    """Plays the episodes: number k, from 0, begins with the seed `seed + k`."""

    def __init__(
        self, run: Run[BdiWorkerConfig], plan: Evaluation, runtime: QLearningRuntime
    ) -> None:
        self._run, self._plan, self._runtime = run, plan, runtime
        self._exact = exact_policy_value(runtime) if plan.epsilon == 0.0 else None
        self._steps = 0
        self._history = _read_history(run.directory)
        path = recording_path(run)
        self._recording = None if path is None else self._open_recording(path)
        self._seen: list[Steps] = []

    def play_batches(self) -> None:
        run, plan = self._run, self._plan
        total = None if plan.repeat else plan.episodes or plan.batch_size
        run.progress(total_episodes=total)
        first = self._next_episode()
        batch = int(self._history[-1]["batch_index"]) + 1 if self._history else 1
        while total is None or first < total:
            size = plan.batch_size if total is None else min(plan.batch_size, total - first)
            started = time.perf_counter()
            played = []
            for number in range(first, first + size):
                if run.should_stop():
                    return
                played.append(self._play(number))
            self._report(batch, first, played, time.perf_counter() - started)
            first, batch = first + size, batch + 1

    def close(self) -> None:
        if self._recording is not None:
            self._recording.close()

    def _play(self, number: int) -> tuple[float, float, int]:
        """Return, discounted return and length of one episode, reported and recorded."""
        run, plan, runtime = self._run, self._plan, self._runtime
        seed = plan.seed + number
        runtime.world.seed(seed)
        start: Any = runtime.world.random.bit_generator.state
        self._seen.clear()
        outcome = runtime.pursue(
            Pursuit("exploit", None, 1, epsilon=plan.epsilon, learns=False),
            on_steps=self._keep,
            should_stop=run.should_stop,
        )
        integers = np.concatenate([steps.integers for steps in self._seen])
        reals = np.concatenate([steps.reals for steps in self._seen])
        self._report_steps(number, integers, reals)
        self._steps += len(integers)
        rewards = reals[:, kernels.R_REWARD]
        if outcome.episodes:
            self._report_episode(number, seed, outcome)
            self._record(number, start, integers, reals, outcome)
        discounts = plan.gamma ** np.arange(len(rewards))
        return float(rewards.sum()), float(rewards @ discounts), len(rewards)

    def _keep(self, steps: Steps) -> None:
        self._seen.append(Steps(steps.integers.copy(), steps.reals.copy()))

    def _report_steps(self, number: int, integers: NDArray[Any], reals: NDArray[Any]) -> None:
        infos = mind_texts({"goal": "exploit"}, reals[:, kernels.R_CONFIDENCE :])
        rewards = reals[:, kernels.R_REWARD].tolist()
        for row, reward, info in zip(integers.tolist(), rewards, infos, strict=True):
            flags = row[kernels.R_FLAGS]
            self._run.step(
                episode_index=number,
                step_index=row[kernels.R_INDEX],
                action=row[kernels.R_ACTION],
                observation=row[kernels.R_STATE],
                reward=reward,
                terminated=bool(flags & kernels.TERMINATED),
                truncated=bool(flags & kernels.TRUNCATED),
                info=info,
            )

    def _report_episode(self, number: int, seed: int, outcome: Outcome) -> None:
        self._run.episode(
            episode_index=number,
            total_reward=float(outcome.returns[0]),
            steps=int(outcome.lengths[0]),
            terminated=bool(outcome.terminated[0]),
            truncated=bool(outcome.truncated[0]),
            episode_seed=seed,
            metadata={"step": self._steps},
        )

    def _open_recording(self, path: Path) -> RecordingWriter:
        facts = RecordingFacts(
            env_id=self._plan.env_id,
            settings=self._runtime.world.describe(),
            slots=1,
            action_dtype="<u2",
            action_shape=(),
            action_bytes=2,
            reward_dtype="<f8",
            exactness="exact",
        )
        return RecordingWriter(path, facts, _RECORDING_BYTES)

    def _record(
        self, number: int, start: Any, integers: NDArray[Any], reals: NDArray[Any], outcome: Outcome
    ) -> None:
        if self._recording is None:
            return
        length = len(integers)
        end = EpisodeEnd(
            0,
            self._steps - length,
            self._steps,
            length,
            float(outcome.returns[0]),
            bool(outcome.terminated[0]),
            bool(outcome.truncated[0]),
        )
        self._recording.write_episode(
            number,
            end,
            {"random_state": start},
            integers[:, kernels.R_ACTION].astype("<u2").tobytes(),
            reals[:, kernels.R_REWARD].astype("<f8").tobytes(),
            reals[:, kernels.R_VALUES :].max(axis=1).astype("<f4").tobytes(),
        )

    def _next_episode(self) -> int:
        """The first that this evaluation has not played yet, in an attempt before this one."""
        last = self._history[-1] if self._history else {}
        if any(last.get(name) != value for name, value in self._plan.conditions.items()):
            return 0
        return int(last["last_seed"]) - self._plan.seed + 1

    def _report(
        self, batch: int, first: int, played: list[tuple[float, float, int]], seconds: float
    ) -> None:
        run, plan = self._run, self._plan
        returns, discounted, lengths = (np.array(column) for column in zip(*played, strict=True))
        summary = {
            **plan.conditions,
            "batch_index": batch,
            "episodes": len(played),
            "avg_return": float(returns.mean()),
            "min_return": float(returns.min()),
            "max_return": float(returns.max()),
            "median_return": float(np.median(returns)),
            "std_return": float(returns.std()),
            "avg_discounted_return": float(discounted.mean()),
            "avg_length": float(lengths.mean()),
            "total_steps": int(lengths.sum()),
            "duration_sec": seconds,
            "first_seed": plan.seed + first,
            "last_seed": plan.seed + first + len(played) - 1,
            "updated_at": time.time(),
        }
        if self._exact is not None:
            summary["exact_value"] = self._exact
            run.metric("eval/exact_value", self._exact, batch)
        for name in ("avg_return", "min_return", "max_return", "std_return", "avg_length"):
            run.metric(f"eval/{name}", summary[name], batch)
        shown = to_json(summary)
        run.heartbeat(evaluation=shown)
        self._history = [*self._history, shown][-MAX_HISTORY:]
        if run.directory is not None:
            try:
                atomic_write_json(
                    run.directory / FILE_NAME, {"latest": shown, "history": self._history}
                )
            except OSError as error:  # the next batch writes all of it again
                log.warning("summary.write_failed", error=error.strerror)
        write_manifest(run, evaluation_path=FILE_NAME, metadata={"evaluation": shown})


def _read_history(directory: Path | None) -> list[Mapping[str, Any]]:
    if directory is None:
        return []
    try:
        content = read_json(directory / FILE_NAME)
        history = [] if content is None else list(content["history"])
        for entry in history:
            int(entry["batch_index"]), int(entry["last_seed"])
    except (ValueError, TypeError, KeyError, OSError) as error:
        log.warning("summary.discarded", error=str(error))
        return []
    return history
