"""Runs an upstream script to its end: as a command, below the run's directory, and watched."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.upstream.planning import UpstreamPlan, plan_facts, plan_upstream
from mosaic.fastlane.settings import read_settings
from mosaic.watch.config import ScriptConfig
from mosaic.watch.watching import watch
from mosaic.worker import Run, write_manifest

# Set by this worker for its own algorithms; a script shall compute what it computes without us.
_OWN_VARIABLES = ("OPENBLAS_NUM_THREADS",)
_SLACK_S = 2.0  # file systems keep times more coarsely than clocks


def run_upstream(run: Run[CleanRLWorkerConfig]) -> None:
    plan = plan_upstream(run.config)
    write_manifest(run, metadata=plan_facts(plan))
    if plan.total_steps is not None:
        run.progress(total_steps=plan.total_steps)
    if run.attempt > 1:
        run.note("the script starts from the beginning: it cannot go on from an earlier attempt")
    if plan.folder.root is not None:
        _put_first("PYTHONPATH", plan.folder.root)
    started_at = time.time()
    _, failure = watch(run, script_config(run.config, plan, run.directory))
    for model in new_models(run.directory, started_at):
        step = run.steps if plan.total_steps is None else min(run.steps, plan.total_steps)
        run.checkpoint_saved(model, step, is_final=failure is None and not run.is_stopping)
    if failure is not None:
        raise failure


def script_config(
    config: CleanRLWorkerConfig, plan: UpstreamPlan, directory: Path | None
) -> ScriptConfig:
    live_view = read_settings(os.environ)
    return ScriptConfig(
        command=plan.command,
        # There its `runs` and `videos` land where those of our own algorithms do.
        cwd=None if directory is None else str(directory),
        env_python=plan.python,
        compatibility=config.extra("compatibility"),
        video_mode=live_view.mode,  # type: ignore[arg-type]  # one of the three
        fastlane_slot=live_view.slot,
        fastlane_grid_limit=live_view.grid_limit,
        unset_variables=_OWN_VARIABLES,
    )


def new_models(directory: Path | None, since: float) -> Iterator[Path]:
    """`runs/<env>__<exp>__<seed>__<time>/<exp>.cleanrl_model`, written since then."""
    if directory is None:
        return
    for path in sorted(directory.glob("runs/*/*.cleanrl_model")):
        if path.stat().st_mtime >= since - _SLACK_S:
            yield path


def _put_first(variable: str, folder: Path) -> None:
    parts = [str(folder), os.environ.get(variable, "")]
    os.environ[variable] = os.pathsep.join(part for part in parts if part)
