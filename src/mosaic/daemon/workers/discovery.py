"""Asks workers to describe themselves, each in its own interpreter and within a time limit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.daemon.workers.environment import inherited_environment, joined_path
from mosaic.daemon.workers.interpreters import check_python, run_probe
from mosaic.errors import MosaicError

DISCOVERY_MODULE = "mosaic.worker.discovery"
# The discovery program itself gives every single worker half a minute.
DISCOVERY_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Announcement:
    """Workers that one source (the installed packages, or one manifest) speaks of."""

    source: str
    fingerprint: str
    python: str
    workers: tuple[tuple[str, str], ...]  # (name, "package:function")
    path_dirs: tuple[str, ...] = ()
    sdk_dir: str = ""
    # Why they cannot even be asked.
    problem: str = ""


class _NoAnswerError(Exception):
    """The discovery program did not answer; the message says why."""


def describe(announcement: Announcement) -> list[WorkerEntry]:
    """One entry per worker announced, with an error where the worker did not answer."""
    if announcement.problem:
        return [
            _broken(announcement, name, announcement.problem) for name, _ in announcement.workers
        ]
    if not announcement.workers:
        return []
    try:
        answers = _ask(announcement)
    except _NoAnswerError as error:
        return [_broken(announcement, name, str(error)) for name, _ in announcement.workers]
    return [
        _entry(announcement, name, answers[name])
        if name in answers
        else _broken(announcement, name, "it was not found")
        for name, _ in announcement.workers
    ]


def _ask(announcement: Announcement) -> dict[str, Mapping[str, Any]]:
    command = [announcement.python, "-m", DISCOVERY_MODULE]
    for folder in announcement.path_dirs:
        command += ["--path", folder]
    for name, entry_point in announcement.workers:
        command += ["--worker", f"{name}={entry_point}"]
    environment = inherited_environment(os.environ)
    environment["PYTHONPATH"] = joined_path(*announcement.path_dirs, announcement.sdk_dir)
    environment["PYTHONSAFEPATH"] = "1"  # not whatever is in the folder the daemon was started in
    try:
        answer = run_probe(command, environment, DISCOVERY_TIMEOUT_S)
    except OSError as error:
        raise _NoAnswerError(
            f"{announcement.python} cannot be started: {error.strerror}"
        ) from error
    if answer.returncode is None:
        raise _NoAnswerError(f"no answer within {DISCOVERY_TIMEOUT_S:.0f} s")
    if answer.returncode != 0:
        raise _NoAnswerError(_explained(announcement, answer.complaint))
    return {str(item["name"]): item for item in _parse(answer.stdout)}


def _explained(announcement: Announcement, complaint: str) -> str:
    """An interpreter that is too old fails in odd ways; say that instead."""
    try:
        check_python(announcement.python)
    except MosaicError as error:
        return str(error)
    return complaint


def _parse(text: str) -> list[Mapping[str, Any]]:
    """The JSON list it printed, which may follow whatever the workers themselves printed."""
    for candidate in (text, *reversed(text.splitlines())):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(value, list) and all(isinstance(x, dict) and "name" in x for x in value):
            return value
    raise _NoAnswerError("its answer is not the list of workers that was expected")


def _entry(announcement: Announcement, name: str, data: Mapping[str, Any]) -> WorkerEntry:
    try:
        capabilities = data.get("capabilities")
        return WorkerEntry(
            name=name,
            module=str(data.get("module") or ""),
            python=announcement.python,
            path_dirs=announcement.path_dirs,
            source=announcement.source,
            capabilities=WorkerCapabilities.from_dict(capabilities) if capabilities else None,
            error=str(data.get("error") or ""),
            readiness=tuple(map(CheckResult.from_dict, data.get("readiness") or ())),
        )
    except (MosaicError, TypeError, KeyError, AttributeError) as error:
        return _broken(announcement, name, f"its description is invalid: {error}")


def _broken(announcement: Announcement, name: str, problem: str) -> WorkerEntry:
    return WorkerEntry(
        name=name,
        module="",
        python=announcement.python,
        path_dirs=announcement.path_dirs,
        source=announcement.source,
        error=problem,
    )
