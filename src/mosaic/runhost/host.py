"""The supervising loop: from a started worker to a written exit.json."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.contracts.run_files import AttemptSpec, ExitRecord, RunFiles
from mosaic.runhost.attempt_files import DISK_RETRY_S, write_exit, write_live
from mosaic.runhost.control import ControlServer, WorkerInput, answer
from mosaic.runhost.linux import machine_memory_mb
from mosaic.runhost.logs import HostLog
from mosaic.runhost.redactor import redact, secret_patterns
from mosaic.runhost.run_processes import Reaper
from mosaic.runhost.shared_memory import unlink_shared_memory
from mosaic.runhost.spawning import HANDLED_SIGNALS, Launch, SpawnedWorker
from mosaic.runhost.supervised_run import SupervisedRun
from mosaic.runhost.worker_output import WorkerOutput


class SignalWakeup:
    """From now on these signals, blocked since the launch, are delivered and merely recorded."""

    def __init__(self, numbers: Sequence[signal.Signals]) -> None:
        self.fd, self._write_end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_end, False)
        # A full pipe loses nothing that matters: a wake-up is pending already.
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, _note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    def received(self) -> set[int]:
        try:
            return set(os.read(self.fd, 65_536))
        except BlockingIOError:
            return set()


def _note(_number: int, _frame: object) -> None:
    """The wake-up descriptor has done the work."""


STDERR_LINES = 20
GROUP_REMOVAL_TRIES = 50


def supervise(launch: Launch) -> int:
    """Returns 0 once exit.json is written, whatever became of the worker."""
    spec = AttemptSpec.from_dict(launch.spec)
    secrets = secret_patterns(spec.secrets.values())
    attempt = RunFiles(Path(spec.run_directory)).attempt(spec.attempt)
    log = HostLog(attempt.host_log, secrets)
    if launch.worker is not None:
        return _Host(spec, launch, launch.worker, secrets, log).run()
    launch.groups.remove()
    log.error("worker.not_started", error=launch.failure)
    record = ExitRecord(
        run_id=spec.run_id,
        attempt=spec.attempt,
        exit_code=None,
        signal=None,
        started_at=launch.started_at,
        finished_at=launch.started_at,
        stop_reason="start_failed",
        error=redact(launch.failure, secrets),
        proof=spec.exit_proof,
    )
    for delay in write_exit(attempt.exit, record):
        time.sleep(delay)
    return 0


class _Host:
    """The life of one worker, as generators that yield how long they can wait for an event."""

    def __init__(
        self,
        spec: AttemptSpec,
        launch: Launch,
        worker: SpawnedWorker,
        secrets: tuple[bytes, ...],
        log: HostLog,
    ) -> None:
        self._spec = spec
        self._launch = launch
        self._log = log
        self._files = RunFiles(Path(spec.run_directory)).attempt(spec.attempt)
        self._selector = selectors.DefaultSelector()
        self._signals = SignalWakeup(HANDLED_SIGNALS)
        self._selector.register(self._signals.fd, selectors.EVENT_READ, self._take_signals)
        self._reaper = Reaper(worker.pid)
        self._input = WorkerInput(worker.stdin, self._selector)
        self._output = WorkerOutput(spec, worker, secrets, self._selector)
        self._run = SupervisedRun(spec, launch, self._reaper, self._input, self._output, log)
        self._server = ControlServer(
            Path(spec.control_socket), self._selector, lambda line: answer(self._run, line)
        )
        self._finished_at = 0.0
        self._error = ""

    def run(self) -> int:
        try:
            self._live(self._whole_life())
        except Exception as error:  # noqa: BLE001 (the root: our own fault must not lose the exit)
            import traceback  # so rarely needed that it should not cost every start

            self._log.error("host.failed", error=str(error), traceback=traceback.format_exc())
            self._error = f"The run host failed: {error}"
            self._run.kill("host_failed")
            self._live(self._ending())
        self._server.close()
        return 0

    def _live(self, life: Iterator[float]) -> None:
        for delay in life:
            for key, _ in self._selector.select(max(0.0, delay)):
                # An earlier callback of this round may have closed what this one is about.
                current = self._selector.get_map().get(key.fd)
                if current is not None and current.data == key.data:
                    key.data()

    def _whole_life(self) -> Iterator[float]:
        self._open_server()
        yield from self._supervise()
        yield from self._ending()

    def _ending(self) -> Iterator[float]:
        yield from self._sweep()
        # Events wait for room on the disk, but not if the run has been deleted.
        while not self._output.drain() and self._files.directory.exists():
            yield DISK_RETRY_S
        self._output.close()
        yield from self._clear_traces()
        yield from write_exit(self._files.exit, self._exit_record())

    def _open_server(self) -> None:
        if not self._spec.control_socket:
            return
        try:
            self._server.open()
        except OSError as error:
            # The run can still be stopped by a signal to this host.
            self._log.error("control_socket.failed", error=str(error))

    def _supervise(self) -> Iterator[float]:
        is_announced = False
        while True:
            # Before reaping: even a worker that has ended already is announced.
            is_announced = is_announced or self._announce()
            self._reaper.reap()
            if self._reaper.leader_is_over:
                self._finished_at = time.time()
                return
            self._output.retry()
            delay = self._run.enforce()
            waits_for_disk = not is_announced or self._output.is_held_up
            yield min(delay, DISK_RETRY_S) if waits_for_disk else delay

    def _announce(self) -> bool:
        try:
            write_live(self._files.live, self._spec, self._launch)
        except OSError:
            return False
        return True

    def _sweep(self) -> Iterator[float]:
        """No process survives the worker: not in another session, not forked twice, not stopped."""
        delay = 0.002
        while self._reaper.reap() and self._run.processes.present():
            self._run.processes.kill_all()
            yield delay
            delay = min(0.1, delay * 1.5)
        self._run.blame_kernel()

    def _clear_traces(self) -> Iterator[float]:
        self._input.close()
        unlink_shared_memory(self._spec.shm_prefixes)
        for _ in range(GROUP_REMOVAL_TRIES):
            if self._launch.groups.remove():
                return
            yield 0.01
        self._log.warning("control_group.left", groups=self._launch.groups.groups)

    def _exit_record(self) -> ExitRecord:
        record = ExitRecord(
            run_id=self._spec.run_id,
            attempt=self._spec.attempt,
            exit_code=self._reaper.exit_code,
            signal=self._reaper.signal,
            started_at=self._launch.started_at,
            finished_at=self._finished_at or time.time(),
            stop_reason=self._run.plan.reason,
            was_killed=self._run.was_killed,
            swept_processes=self._run.swept_processes,
            max_rss_mb=round(max(self._reaper.max_rss_mb, self._run.memory.peak_mb), 1),
            cpu_seconds=round(self._reaper.cpu_seconds, 3),
            error=self._error,
            stderr_tail=self._output.last_lines(STDERR_LINES),
            memory_limit_mb=self._spec.memory_mb,
            oom_kills=self._run.oom_kills,
            machine_oom_kills=self._run.recent_oom_kills,
            machine_memory_mb=machine_memory_mb(),
            proof=self._spec.exit_proof,
        )
        self._log.info(
            "worker.exited",
            exit_code=record.exit_code,
            signal=record.signal,
            stop_reason=record.stop_reason,
            swept_processes=record.swept_processes,
            lost_log_bytes=self._output.lost_log_bytes,
            oversized_lines=self._output.oversized_lines,
        )
        return record

    def _take_signals(self) -> None:
        received = self._signals.received()
        if received & {signal.SIGTERM, signal.SIGINT}:
            self._run.stop("host_terminated")
