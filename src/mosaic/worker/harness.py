"""worker_main: from the command line to the last event, the same for every worker."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import EventType
from mosaic.contracts.manifest import RuntimeSummary
from mosaic.errors import MosaicError, ProgramError, RequestError, WorkerError
from mosaic.logs import JsonLines
from mosaic.worker.analytics import dependency_bundle, other_bundles, write_manifest
from mosaic.worker.assignment import Assignment, read_assignment
from mosaic.worker.command_line import (
    Shortcut,
    command_of,
    module_name,
    parse_arguments,
    shortcut_assignments,
)
from mosaic.worker.config import (
    apply_assignments,
    build_config,
    config_schema,
    config_to_dict,
    load_config_file,
)
from mosaic.worker.control import Control, listen_on_stdin, listen_to_signals
from mosaic.worker.journal import Journal
from mosaic.worker.run import Run
from mosaic.worker.summary import flush_stdout, masked, print_line, print_summary

EXIT_OK, EXIT_WORKER_ERROR, EXIT_INVALID_CONFIG, EXIT_INTERRUPTED = 0, 1, 2, 130
_TRACEBACK_CHARACTERS = 4000
_STATUS = {
    EventType.RUN_COMPLETED: "completed",
    EventType.RUN_CANCELLED: "cancelled",
    EventType.RUN_FAILED: "failed",
}

ConfigType = TypeVar("ConfigType")
Check = Callable[[ConfigType], Mapping[str, Any] | None]


def worker_main(
    capabilities_factory: Callable[[], WorkerCapabilities],
    config_class: type[ConfigType],
    train: Callable[[Run[ConfigType]], None],
    argv: Sequence[str] | None = None,
    *,
    check: Check[ConfigType] | None = None,
    shortcuts: Sequence[Shortcut] = (),
) -> int:
    """Run a worker's command line; returns the exit status of the process.

    `train` gets the run and returns when its work is done or `run.should_stop()` says so.
    `check` raises ConfigError for what the schema cannot say; a dry run calls it too. What it
    returns becomes part of `run_started` and the summary.
    """
    arguments_given = list(sys.argv[1:] if argv is None else argv)
    capabilities = capabilities_factory()
    if not capabilities.config_schema:
        schema = config_schema(config_class)
        capabilities = dataclasses.replace(capabilities, config_schema=schema)
    module = module_name(train)
    arguments = parse_arguments(arguments_given, module, capabilities, shortcuts)
    if arguments.describe:
        print_line(json.dumps(capabilities.to_dict(), indent=2))
        return EXIT_OK
    _show_own_log()
    command = command_of(module, arguments_given)
    launch = _Launch(arguments, capabilities, config_class, train, check, command, shortcuts)
    status = launch.rehearse() if arguments.dry_run else launch.run()
    flush_stdout()
    return status


@dataclass(frozen=True)
class _Outcome:
    """How an attempt ended."""

    kind: EventType
    exit_code: int
    payload: dict[str, Any]


@dataclass(frozen=True)
class _Launch(Generic[ConfigType]):
    """One start of a worker from its command line."""

    arguments: argparse.Namespace
    capabilities: WorkerCapabilities
    config_class: type[ConfigType]
    train: Callable[[Run[ConfigType]], None]
    check: Check[ConfigType] | None
    command: tuple[str, ...]
    shortcuts: Sequence[Shortcut]

    def read_config(self) -> dict[str, Any]:
        data = load_config_file(Path(self.arguments.config)) if self.arguments.config else {}
        assignments = shortcut_assignments(self.arguments, self.shortcuts)
        assignments += self.arguments.assignments
        return apply_assignments(data, assignments, self.capabilities.config_schema)

    def build(self, data: dict[str, Any]) -> tuple[ConfigType, dict[str, Any]]:
        """The valid config, and what the worker's own check found out about it."""
        config = build_config(self.config_class, data)
        findings = None if self.check is None else self.check(config)
        return config, masked(dict(findings or {}))

    def rehearse(self) -> int:
        """The dry run: everything but the run."""
        try:
            with contextlib.redirect_stdout(sys.stderr):
                data = self.read_config()
                config, findings = self.build(data)
                assignment = self._assign(data)
        except MosaicError as error:
            return _report(error)
        shown = masked(config_to_dict(config))
        summary = RuntimeSummary(
            assignment.run_id,
            self.capabilities.worker_type,
            "dry-run",
            self.command,
            shown,
            extras=findings,
        )
        print_summary(summary, self.arguments.emit_summary)
        return EXIT_OK

    def run(self) -> int:
        control = Control()
        restore_signals = listen_to_signals(control)
        try:
            return self._run(control)
        finally:
            restore_signals()

    def _run(self, control: Control) -> int:
        try:
            data, problem = self._read_config_or_problem()
            assignment = self._assign(data)
            journal = Journal(assignment.journal)
        except MosaicError as error:
            return _report(error)
        if assignment.has_control:
            listen_on_stdin(control)
        run: Run[ConfigType] = Run(assignment, self.capabilities, journal, control)
        # Without a journal stdout carries the events, so prints must not get between them.
        is_stdout_taken = journal.path is None
        with (
            contextlib.redirect_stdout(sys.stderr) if is_stdout_taken else contextlib.nullcontext()
        ):
            run.register()
            outcome = self._execute(run, data, problem)
            run.finish(outcome.kind, outcome.payload)
            write_manifest(run, status=_STATUS[outcome.kind], metadata={"steps": run.steps})
            journal.close()
        if self.arguments.emit_summary:
            print_summary(self._summary(run, outcome), as_json=True)
        return outcome.exit_code

    def _read_config_or_problem(self) -> tuple[dict[str, Any], MosaicError | None]:
        """A config nobody can read is reported in the journal, which needs an identity first."""
        try:
            return self.read_config(), None
        except RequestError as error:
            return {}, error

    def _assign(self, data: dict[str, Any]) -> Assignment:
        return read_assignment(
            os.environ,
            self.capabilities.worker_type,
            run_id=self.arguments.run_id,
            run_dir=self.arguments.run_dir,
            config=data,
        )

    def _execute(
        self, run: Run[ConfigType], data: dict[str, Any], problem: MosaicError | None
    ) -> _Outcome:
        try:
            if problem is not None:
                raise problem
            config, findings = self.build(data)
            run.start(config, masked(config_to_dict(config)), findings)
            bundle = dependency_bundle(module_name(self.train), self.capabilities)
            write_manifest(
                run,
                status="running",
                attempt=run.attempt,
                bundle=bundle,
                other_bundles=other_bundles(),
            )
            self.train(run)
        except KeyboardInterrupt:
            payload = {"reason": "sigint", "exit_code": EXIT_INTERRUPTED}
            return _Outcome(EventType.RUN_CANCELLED, EXIT_INTERRUPTED, payload)
        except SystemExit as error:
            return _outcome_of_exit(error)
        except Exception as error:  # noqa: BLE001 (the root of the worker: all else is its failure)
            return _outcome_of_error(error)
        if run.ended_by_request:
            payload = {"reason": run.stop_reason, "exit_code": EXIT_OK}
            return _Outcome(EventType.RUN_CANCELLED, EXIT_OK, payload)
        reason = run.stop_reason if run.is_stopping else ""
        return _Outcome(
            EventType.RUN_COMPLETED, EXIT_OK, {"stop_reason": reason, "exit_code": EXIT_OK}
        )

    def _summary(self, run: Run[ConfigType], outcome: _Outcome) -> RuntimeSummary:
        config = getattr(run, "config", None)
        return RuntimeSummary(
            run_id=run.run_id,
            worker_type=self.capabilities.worker_type,
            status=_STATUS[outcome.kind],
            command=self.command,
            config={} if config is None else masked(config_to_dict(config)),
            steps=run.steps,
            episodes=run.episodes,
            duration_s=round(run.duration_s, 3),
            error=outcome.payload.get("error", ""),
            extras=dict(run.findings),
        )


def _outcome_of_error(error: Exception) -> _Outcome:
    exit_code = _report(error)
    payload = {
        "error": str(error) or type(error).__name__,
        "error_type": type(error).__name__,
        "hint": getattr(error, "hint", ""),
        "traceback": _traceback_text(error),
        "exit_code": exit_code,
    }
    if isinstance(error, MosaicError):
        payload["code"] = error.code
        payload["field"] = error.details.get("field", "")
    return _Outcome(EventType.RUN_FAILED, exit_code, payload)


def _outcome_of_exit(error: SystemExit) -> _Outcome:
    """`sys.exit()` inside the training function; text as its argument means status 1."""
    if error.code in (None, 0):
        return _Outcome(EventType.RUN_COMPLETED, EXIT_OK, {"stop_reason": "", "exit_code": EXIT_OK})
    exit_code = error.code if isinstance(error.code, int) else EXIT_WORKER_ERROR
    text = f"the worker called sys.exit({error.code!r})"
    print(f"error: {text}", file=sys.stderr)
    payload = {"error": text, "error_type": "SystemExit", "hint": "", "exit_code": exit_code}
    return _Outcome(EventType.RUN_FAILED, exit_code, payload)


def _report(error: Exception) -> int:
    """Report the error to people; returns the matching exit status."""
    if isinstance(error, ProgramError):
        return error.exit_code  # the program has said it itself, in the same log
    if not _is_for_the_user(error):
        traceback.print_exception(error)
    if isinstance(error, MosaicError):
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
    return EXIT_INVALID_CONFIG if isinstance(error, RequestError) else EXIT_WORKER_ERROR


def _is_for_the_user(error: Exception) -> bool:
    """A typed error says what to do; a traceback would only hide the sentence."""
    return isinstance(error, MosaicError) and type(error) is not WorkerError


def _traceback_text(error: Exception) -> str:
    """Where it went wrong; for a program that the worker ran, what that program said last."""
    if isinstance(error, ProgramError):
        return error.output[-_TRACEBACK_CHARACTERS:]
    if _is_for_the_user(error):
        return ""
    return "".join(traceback.format_exception(error))[-_TRACEBACK_CHARACTERS:]


def _show_own_log() -> None:
    """Our warnings on stderr; the root logger stays as the worker's libraries expect it."""
    logger = logging.getLogger("mosaic")
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        logger.addHandler(handler)
