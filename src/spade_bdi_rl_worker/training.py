"""One training: a world, tables that learn in it, and the team of agents that decides."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.learner import Mode
from mosaic.errors import CheckpointError
from mosaic.worker import ConfigError, Run, write_manifest
from mosaic.worker.recording import recording_path
from spade_bdi_rl_worker.agents.team import Team, TeamReport
from spade_bdi_rl_worker.commands import Commands
from spade_bdi_rl_worker.config import BdiWorkerConfig
from spade_bdi_rl_worker.hands import Limits, WorldHands
from spade_bdi_rl_worker.inner_life import LEARNER, InnerLife
from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.memory import with_memory
from spade_bdi_rl_worker.options import FULL
from spade_bdi_rl_worker.planning import TrainingPlan, plan_training
from spade_bdi_rl_worker.recorder import EpisodeRecorder
from spade_bdi_rl_worker.saving import Saver
from spade_bdi_rl_worker.targets import Targets
from spade_bdi_rl_worker.team_settings import decides_batches, named_fields, team_settings
from spade_bdi_rl_worker.telemetry import Telemetry
from spade_bdi_rl_worker.trace_file import TraceFile
from spade_bdi_rl_worker.values_file import AGENTS_FOLDER, ValuesFile, agents_artifact

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.world import World

_SERVER_FOLDER = "xmpp"  # below the run's folder; goes with the training
_LOOK_S = 0.05

WorkerRun = Run[BdiWorkerConfig]


def train(run: WorkerRun) -> None:
    plan = plan_training(run.config, run.directory, run.attempt)
    write_manifest(run, notes=run.config.extras.get("notes"), metadata=plan.facts())
    world = plan.make_world()
    try:
        with _server_folder(run) as folder:
            Training(run, plan, world, folder).go()
    finally:
        world.close()


@contextlib.contextmanager
def _server_folder(run: WorkerRun) -> Iterator[Path]:
    """What the embedded server keeps: a certificate and accounts that nobody needs afterwards."""
    if run.directory is None:
        with tempfile.TemporaryDirectory(prefix="bdi-") as name:
            yield Path(name)
        return
    folder = run.directory / _SERVER_FOLDER
    shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was killed
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Training:
    """Puts the parts together; `go` returns when the run is over."""

    def __init__(self, run: WorkerRun, plan: TrainingPlan, world: World, folder: Path) -> None:
        config = run.config
        self._run, self._plan, self._world = run, plan, world
        self._attending = threading.Lock()
        self._is_over = threading.Event()
        outputs = run.output_directory
        agents = None if outputs is None else outputs / AGENTS_FOLDER
        settings = team_settings(config, folder)
        if plan.checkpoint is not None:
            settings = with_memory(settings, plan.checkpoint.part("memory"))
        self._file = TraceFile(agents)
        self._life = InnerLife(self._file, run.note, settings.roles)
        self._runtime = QLearningRuntime(world, plan.settings(), plan.trained.seed)
        is_back = self._restore_tables()
        is_full = config.extra("telemetry") == FULL
        self._recorder = self._make_recorder()
        self._values = ValuesFile(agents, self._runtime, run.note, is_full=is_full)
        self._telemetry = Telemetry(run, self._runtime, self._life, self._recorder, self._values)
        self._targets = Targets(world)  # of what people say; the hands have their own
        self._hands = WorldHands(
            self._runtime,
            self._telemetry,
            self._limits(),
            is_full=is_full,
            sample_every=config.extra("sample_every"),
            decides_batches=decides_batches(config, settings),
            attend=self._attend,
            settle=self._life.settle,
            after_chunk=self._after_chunk,
        )
        self._team = Team(
            settings,
            self._hands,
            self._life.trace_of(LEARNER),
            companion_trace=self._life.trace_of,
            on_restart=self._life.forget,
        )
        self._saver = Saver(
            run,
            self._runtime,
            lambda: self._hands,
            plan.trained,
            config.extra("checkpoint_interval"),
            self._life.memory,
        )
        if plan.checkpoint is not None:
            self._restore_hands(plan.checkpoint.part("hands"), is_back)

    def go(self) -> None:
        run = self._run
        self._announce()
        self._name_files()
        self._values.write()
        self._runtime.prepare()
        watcher = threading.Thread(target=self._watch, name="stop-watch", daemon=True)
        commands = Commands(self._carry_out, run.answer)
        run.control.on_command = commands.put
        watcher.start()
        try:
            with named_fields():
                report = self._team.run()
        finally:
            self._is_over.set()
            watcher.join()
            run.control.on_command = None
            commands.close()
            self._finish()
        self._tell(report)
        run.should_stop()  # so that the run knows by whose wish it ended

    # Beginning

    def _restore_tables(self) -> bool:
        plan = self._plan
        if plan.checkpoint is not None:
            is_back = self._runtime.load_state_dict(plan.checkpoint.part("learning"))
            self._run.checkpoint_loaded(plan.checkpoint.path, self._runtime.steps)
            if not is_back:
                self._run.note("the episode that was under way could not be brought back")
            return is_back
        if plan.warm_start is not None:
            self._runtime.warm_start(plan.warm_start.part("learning"))
        return True

    def _restore_hands(self, saved: Any, is_back: bool) -> None:
        assert self._plan.checkpoint is not None
        try:
            self._hands.load_state_dict(saved)
        except (LookupError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"The checkpoint {self._plan.checkpoint.path.name} does not say what the learner "
                f"believed: {error}",
                hint="begin a training with its tables (--warm-start)",
            ) from error
        if is_back and self._runtime.state is not None:
            sums = self._plan.checkpoint.part("learning")["sums"]
            self._telemetry.restore(float(sums[kernels.RETURN]))

    def _limits(self) -> Limits:
        steps = self._plan.trained.total_timesteps
        budget = self._run.assignment.max_steps
        return Limits(
            steps if budget is None else min(steps, budget), self._run.config.extra("episodes")
        )

    def _make_recorder(self) -> EpisodeRecorder | None:
        path, config = recording_path(self._run), self._run.config
        if path is None or not config.extra("record_episodes"):
            return None
        return EpisodeRecorder(
            path,
            self._world,
            config.extra("recording_limit_mb"),
            is_resumed=self._plan.checkpoint is not None,
        )

    def _announce(self) -> None:
        run, runtime = self._run, self._runtime
        run.progress(
            steps=runtime.steps,
            episodes=runtime.episodes,
            total_steps=self._plan.trained.total_timesteps,
            total_episodes=run.config.extra("episodes"),
        )
        if run.config.mode == Mode.TRAIN.value and self._hands.is_done:
            raise ConfigError(
                "'total_timesteps': the training has reached its end", field="total_timesteps"
            )

    # While it goes on

    def _attend(self) -> bool:
        """Whether to stop; waits here while the run is paused."""
        with self._attending:
            return self._run.should_stop()

    def _after_chunk(self) -> None:
        runtime = self._runtime
        self._run.progress(steps=runtime.steps, episodes=runtime.episodes)
        if self._saver.save_if_due():
            self._values.write()

    def _name_files(self) -> None:
        write_manifest(self._run, agents=agents_artifact(self._run, self._values, has_trace=True))

    def _carry_out(self, command: dict[str, Any]) -> Mapping[str, Any]:
        """In the thread of commands. A place that is nowhere is refused before agents go there."""
        target = command.get("target")
        if command.get("command") == "goal" and isinstance(target, str) and target.strip():
            try:
                self._targets.state_of(target)
            except LookupError as error:
                return {"ok": False, "text": str(error.args[0])}
        return self._team.handle(command)

    def _watch(self) -> None:
        """A learner that only waits for messages must hear of a stop and of a pause, too."""
        while not self._is_over.wait(_LOOK_S):
            self._file.flush_if_due()
            if self._run.control.stop_reason:
                self._team.stop()
                return
            if self._run.control.is_paused and not self._hands.is_playing:
                self._attend()

    # Ending

    def _finish(self) -> None:
        runtime = self._runtime
        self._run.progress(steps=runtime.steps, episodes=runtime.episodes)
        if self._recorder is not None:
            if why := self._recorder.why_ended:
                self._run.note(f"episodes are not recorded any more: {why}")
            self._recorder.close()
        self._file.close()
        self._values.write()
        self._name_files()
        self._saver.save(is_final=True)

    def _tell(self, report: TeamReport) -> None:
        run = self._run
        if report.final_words:
            run.note(f"the learner's plan ended the training: {report.final_words[:500]}")
        facts = {
            "decisions": report.pursuits,
            "server_restarts": report.server_restarts,
            "reconnects": report.reconnects,
            "refused_messages": dict(report.refused_messages),
        }
        write_manifest(run, metadata={"agents": facts, "final_words": report.final_words})
