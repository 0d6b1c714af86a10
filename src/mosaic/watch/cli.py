"""The script worker's program: `python -m mosaic.watch.cli --config FILE`."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.errors import ProgramError
from mosaic.watch import get_worker_metadata
from mosaic.watch.artifact_list import ArtifactList
from mosaic.watch.bridge import Bridge, bridge_pipe
from mosaic.watch.command import resolve_command, search_path, working_folder
from mosaic.watch.config import ScriptConfig
from mosaic.watch.ending import failure_of, how_it_ended
from mosaic.watch.environment import script_environment
from mosaic.watch.import_folders import import_folders
from mosaic.watch.recorder import Recorder
from mosaic.watch.script_process import ScriptProcess
from mosaic.watch.stopping import StopLadder
from mosaic.worker import Run, worker_main, write_manifest

_POLL_S = 0.1
_LINES_KEPT = 20
_STDERR = 2


def check(config: ScriptConfig) -> dict[str, Any]:
    folder = working_folder(config.cwd)
    return {"argv": list(_argv(config, folder)), "cwd": str(folder)}


def watch(run: Run[ScriptConfig]) -> tuple[int, ProgramError | None]:
    """Run the command to its end; its status as subprocess has it, and the failure if it is one."""
    config = run.config
    folder = working_folder(config.cwd)
    argv = _argv(config, folder)
    recorder = Recorder(run)
    artifacts = ArtifactList(run, folder)
    with import_folders(run.directory) as folders, bridge_pipe(run.run_id) as pipe:
        environment = script_environment(
            os.environ, config, bridge=str(pipe), import_folders=folders
        )
        bridge = Bridge(pipe, recorder.take, recorder.tick)
        try:
            # Without a journal our standard output carries the events.
            stdout = _STDERR if run.assignment.journal is None else None
            script = ScriptProcess(argv, folder, environment, stdout)
            try:
                _accompany(run, script, bridge, recorder, artifacts)
            finally:
                status = script.end()
        finally:
            bridge.close()
    recorder.finish()
    _tell_the_rest(run, bridge, recorder)
    artifacts.refresh(recorder.folders, recorder.last_step)
    if run.is_stopping:
        # What it did when it was told to end is no failure.
        run.note(f"the script {how_it_ended(status)} after it was told to stop")
        return status, None
    return status, failure_of(status, config.command, script.last_lines(_LINES_KEPT))


def _accompany(
    run: Run[ScriptConfig],
    script: ScriptProcess,
    bridge: Bridge,
    recorder: Recorder,
    artifacts: ArtifactList,
) -> None:
    """Until the script is over: pass on what is asked of it, look at what it writes."""
    ladder: StopLadder | None = None
    while not script.is_over(_POLL_S):
        if ladder is None and run.control.needs_attention and _has_to_stop(run, script, bridge):
            ladder = StopLadder(time.monotonic())
        if ladder is not None:
            for number in ladder.due(time.monotonic(), run.control.stop_grace_s):
                script.signal(number, signal.SIGCONT)
        else:
            artifacts.refresh_when_due(list(recorder.folders), recorder.last_step)


def _has_to_stop(run: Run[ScriptConfig], script: ScriptProcess, bridge: Bridge) -> bool:
    """While the run is paused the script stands still, and what it said before waits."""
    if not run.control.is_paused:
        return run.should_stop()
    script.signal(signal.SIGSTOP)
    with bridge.silenced():
        is_stopping = run.should_stop()
    if not is_stopping:  # otherwise it wakes up to the signal that ends it
        script.signal(signal.SIGCONT)
    return is_stopping


def _tell_the_rest(run: Run[ScriptConfig], bridge: Bridge, recorder: Recorder) -> None:
    if bridge.garbage:
        run.note(f"{bridge.garbage} lines on the bridge were no messages and were left out")
    if recorder.dropped:
        run.note(f"{recorder.dropped} metrics and notes beyond the limit were left out")
    if recorder.headlines:
        write_manifest(run, metadata={"headlines": recorder.headlines})


def _argv(config: ScriptConfig, folder: Path) -> tuple[str, ...]:
    path = search_path(os.environ.get("PATH", os.defpath), config.env_python)
    return resolve_command(config.command, folder=folder, path=path, env_python=config.env_python)


def main(argv: Sequence[str] | None = None) -> int:
    killed_by = 0

    def train(run: Run[ScriptConfig]) -> None:
        nonlocal killed_by
        status, failure = watch(run)
        if failure is not None:
            killed_by = max(0, -status)
            raise failure

    exit_code = worker_main(get_worker_metadata, ScriptConfig, train, argv, check=check)
    if killed_by:
        _die_of(killed_by)
    return exit_code


def _die_of(number: int) -> None:
    """End as the script did, so that whoever waits for this process sees the same signal."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the script's own is the one to look at
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    sys.exit(main())
